//! What PostgreSQL writes about itself into `postmaster.pid`, and signals to the process named there.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::StartError;

/// How often a file or process is looked at while we wait for it.
pub const STEP: Duration = Duration::from_millis(5);
/// How long an orderly shutdown may take before open work is dropped.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The lines of the file that matter.
#[derive(Debug, PartialEq, Eq)]
pub struct Postmaster {
    pid: i32,
    ready: bool,
}

impl Postmaster {
    /// What the file in this data folder says; none when it is not there or half written.
    pub fn read(pgdata: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(pgdata.join("postmaster.pid")).ok()?)
    }

    /// Line 1 is the process, line 8 its state.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok().filter(|pid| *pid > 0)?;
        Some(Self { pid, ready: lines.nth(6).is_some_and(|state| state.trim() == "ready") })
    }

    /// Whether the process `pid` is the one that takes connections.
    pub fn is_ready_as(&self, pid: u32) -> bool {
        self.ready && u32::try_from(self.pid) == Ok(pid)
    }
}

/// Ends a server that an earlier Basalt left behind on this folder, and clears the trace of one that is gone.
/// The caller holds the folder's lock, so whatever still runs there is nobody's.
pub fn end_leftover(pgdata: &Path) -> Result<(), StartError> {
    let Some(left) = Postmaster::read(pgdata) else { return Ok(()) };
    let Some(pid) = Pid::from_raw(left.pid) else { return Ok(()) };
    if !is_server_of(pid, pgdata) {
        // The number may belong to another process by now, which would keep PostgreSQL from starting. It finds survivors
        // of a crash by its shared memory as well, so nothing is lost with the file.
        let file = pgdata.join("postmaster.pid");
        return fs::remove_file(&file).map_err(StartError::io(format!("removing {}", file.display())));
    }
    for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
        signal_to(pid, signal);
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if !is_server_of(pid, pgdata) {
                return Ok(());
            }
            sleep(STEP);
        }
    }
    Err(StartError::Failed(format!(
        "a PostgreSQL left behind on {} (process {}) does not end; end it and start again",
        pgdata.display(),
        left.pid
    )))
}

/// Sends a signal; that the process may have ended meanwhile is no failure.
pub fn signal_to(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

/// Whether that process runs PostgreSQL on this folder: a server works inside its data folder.
fn is_server_of(pid: Pid, pgdata: &Path) -> bool {
    match fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())) {
        Ok(folder) => fs::canonicalize(pgdata).is_ok_and(|pgdata| pgdata == folder),
        // Without /proc any living process counts: better to refuse than to start twice.
        Err(_) => !Path::new("/proc/self").exists() && test_kill_process(pid).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_when_the_eighth_line_says_so_and_the_process_is_ours() {
        let text = "4242\n/data\n1700000000\n5432\n/run\n\n  123  456\nready   \n";
        let postmaster = Postmaster::parse(text).expect("readable");
        assert!(postmaster.is_ready_as(4242));
        assert!(!postmaster.is_ready_as(4243));
        let starting = Postmaster::parse(&text.replace("ready", "starting")).expect("readable");
        assert!(!starting.is_ready_as(4242));
    }

    #[test]
    fn a_half_written_file_says_nothing() {
        assert_eq!(Postmaster::parse(""), None);
        assert_eq!(Postmaster::parse("x\n"), None);
        assert_eq!(Postmaster::parse("-5\n"), None);
        assert!(!Postmaster::parse("7").expect("a process").is_ready_as(7));
    }
}
