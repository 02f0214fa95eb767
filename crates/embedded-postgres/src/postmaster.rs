//! Reading of PostgreSQL's `postmaster.pid`, and signals to the process named there.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::start_error::StartError;

/// Polling interval while waiting for a file or process.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time limit of a clean shutdown before open work is dropped.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The relevant lines of the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Postmaster {
    pid: i32,
    is_ready: bool,
}

impl Postmaster {
    /// Reads the file in this data folder; `None` if it is missing or partially written.
    pub(crate) fn read(pgdata: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(pgdata.join("postmaster.pid")).ok()?)
    }

    /// Line 1 is the process id, line 8 its state.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok().filter(|pid| *pid > 0)?;
        Some(Self { pid, is_ready: lines.nth(6).is_some_and(|state| state.trim() == "ready") })
    }

    /// Returns whether the process `pid` accepts connections.
    pub(crate) fn is_ready_with_pid(&self, pid: u32) -> bool {
        self.is_ready && u32::try_from(self.pid) == Ok(pid)
    }
}

/// Ends a server that an earlier process left running on this folder, and removes a stale pid file.
/// The caller holds the folder's lock, so no other Basalt uses that server.
pub(crate) fn end_leftover(pgdata: &Path) -> Result<(), StartError> {
    let Some(left) = Postmaster::read(pgdata) else { return Ok(()) };
    let Some(pid) = Pid::from_raw(left.pid) else { return Ok(()) };
    if !is_server_on(pid, pgdata) {
        // The process id may have been reused, which would keep PostgreSQL from starting. PostgreSQL also detects
        // survivors of a crash by its shared memory, so the file can be removed.
        let file = pgdata.join("postmaster.pid");
        return fs::remove_file(&file).map_err(StartError::io(format!("removing {}", file.display())));
    }
    for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
        send_signal(pid, signal);
        let since = Instant::now();
        while since.elapsed() < SHUTDOWN_TIMEOUT {
            if !is_server_on(pid, pgdata) {
                return Ok(());
            }
            sleep(POLL_INTERVAL);
        }
    }
    Err(StartError::Failed(format!(
        "a PostgreSQL left behind on {} (process {}) does not end; end it and start again",
        pgdata.display(),
        left.pid
    )))
}

/// Sends a signal; that the process may have ended meanwhile is not an error.
pub(crate) fn send_signal(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

/// Returns whether a process runs PostgreSQL on this folder.
/// The working directory of a server is its data folder.
fn is_server_on(pid: Pid, pgdata: &Path) -> bool {
    match fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())) {
        Ok(folder) => fs::canonicalize(pgdata).is_ok_and(|pgdata| pgdata == folder),
        // Without /proc any living process counts: refusing to start is safer than starting twice.
        Err(_) => !Path::new("/proc/self").exists() && test_kill_process(pid).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_ready_by_eighth_line_and_pid() {
        let text = "4242\n/data\n1700000000\n5432\n/run\n\n  123  456\nready   \n";
        let postmaster = Postmaster::parse(text).expect("readable");
        assert!(postmaster.is_ready_with_pid(4242));
        assert!(!postmaster.is_ready_with_pid(4243));
        let starting = Postmaster::parse(&text.replace("ready", "starting")).expect("readable");
        assert!(!starting.is_ready_with_pid(4242));
    }

    #[test]
    fn partial_file_is_ignored() {
        assert_eq!(Postmaster::parse(""), None);
        assert_eq!(Postmaster::parse("x\n"), None);
        assert_eq!(Postmaster::parse("-5\n"), None);
        assert!(!Postmaster::parse("7").expect("a process").is_ready_with_pid(7));
    }
}
