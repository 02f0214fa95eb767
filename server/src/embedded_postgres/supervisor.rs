//! Keeps PostgreSQL running: a thread of its own starts it, waits for its end and starts it again, until we stop it.
//! The child's life is tied to that thread (see [`super::guard`]), which is why it must not be a worker of a runtime.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::account::Account;
use super::binaries::Binaries;
use super::cluster::Cluster;
use super::postmaster::{self, PATIENCE, Postmaster, STEP};
use super::{StartError, guard};

/// The first and the longest pause before PostgreSQL is started again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A log larger than this is started anew when we start.
const LARGEST_LOG: u64 = 8 * 1024 * 1024;

/// Settings that differ from PostgreSQL's own: private, small, quick to start, and safe against a crash.
const SETTINGS: [(&str, &str); 20] = [
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("max_connections", "100"),
    ("shared_buffers", "64MB"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_wal_size", "256MB"),
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("log_line_prefix", "%m [%p] "),
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
    // An error's text can quote a value, an address say, and so can its detail and its statement: errors are for whoever
    // sent the statement, and the log is told what concerns the server alone.
    ("log_min_messages", "log"),
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
    ("log_statement", "none"),
    ("log_parameter_max_length", "0"),
    ("log_parameter_max_length_on_error", "0"),
    ("cluster_name", "basalt"),
];

/// For a database that is thrown away.
const CARELESS: [(&str, &str); 3] = [("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")];

/// What to run.
pub struct Plan {
    /// The programs.
    pub binaries: Binaries,
    /// The files.
    pub cluster: Cluster,
    /// Who it runs as; none: as we do.
    pub account: Option<Account>,
    /// Whether a crash of the machine may lose everything.
    pub ephemeral: bool,
}

/// The handle of the thread.
#[derive(Debug)]
pub struct Supervisor {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    child: Option<Pid>,
    stopping: bool,
    /// The outcome of the first start.
    first: Option<Result<(), String>>,
    ended: bool,
}

impl Supervisor {
    /// Starts PostgreSQL and returns when it takes connections; fails when the first start fails.
    pub fn start(plan: Plan) -> Result<Self, StartError> {
        let shared = Arc::new(Shared::default());
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || {
                supervise(&plan, &inside);
                inside.change(|state| state.ended = true);
            })
            .map_err(StartError::io("starting a thread"))?;
        let supervisor = Self { shared, thread: Mutex::new(Some(thread)) };
        match supervisor.shared.wait(|state| state.first.take()) {
            Ok(()) => Ok(supervisor),
            Err(text) => Err(StartError::Failed(text)),
        }
    }

    /// A fast shutdown; after [`PATIENCE`] an immediate one.
    pub fn stop(&self) {
        for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
            self.shared.change(|state| {
                state.stopping = true;
                if let Some(pid) = state.child {
                    postmaster::signal_to(pid, signal);
                }
            });
            if self.shared.ended_within(PATIENCE) {
                break;
            }
        }
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }

    fn wait<T>(&self, mut until: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(value) = until(&mut state) {
                return value;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ended_within(&self, limit: Duration) -> bool {
        let state = self.state();
        let (state, _) =
            self.changed.wait_timeout_while(state, limit, |state| !state.ended).unwrap_or_else(PoisonError::into_inner);
        state.ended
    }

    /// A pause that a stop cuts short.
    fn pause(&self, length: Duration) {
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, length, |state| !state.stopping));
    }
}

/// Runs until we are stopped, or until the very first start fails.
fn supervise(plan: &Plan, shared: &Shared) {
    let mut pause = SHORTEST_PAUSE;
    let mut ever_ready = false;
    loop {
        let outcome = run_once(plan, shared);
        if shared.state().stopping && ever_ready {
            return;
        }
        match outcome {
            Ended::AfterReady if shared.state().stopping => return,
            Ended::AfterReady => {
                ever_ready = true;
                pause = SHORTEST_PAUSE;
                tracing::error!("PostgreSQL ended by itself; starting it again");
            }
            Ended::Failed(reason) if ever_ready => {
                tracing::error!(reason, "PostgreSQL does not start; trying again");
            }
            Ended::Failed(reason) => {
                shared.change(|state| state.first = Some(Err(reason)));
                return;
            }
        }
        shared.pause(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How one run of PostgreSQL ended.
enum Ended {
    AfterReady,
    Failed(String),
}

fn run_once(plan: &Plan, shared: &Shared) -> Ended {
    let (mut child, log_start) = match shared.change(|state| launch(plan, state)) {
        Ok(launched) => launched,
        Err(reason) => return Ended::Failed(reason),
    };
    let ready = wait_until_ready(plan, &mut child);
    if ready {
        shared.change(|state| state.first = Some(Ok(())));
    }
    let status = child.wait();
    shared.change(|state| state.child = None);
    if ready {
        return Ended::AfterReady;
    }
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    Ended::Failed(format!(
        "PostgreSQL does not start ({status}): {}",
        last_lines(plan, log_start).unwrap_or_else(|| format!("see {}", plan.cluster.log.display()))
    ))
}

/// Starts the process while the state is held, so that a stop either prevents it or sees it.
fn launch(plan: &Plan, state: &mut State) -> Result<(Child, u64), String> {
    if state.stopping {
        return Err("we are stopping".to_owned());
    }
    let (log, log_start) =
        open_log(plan).map_err(|error| format!("opening {}: {error}", plan.cluster.log.display()))?;
    let again = log.try_clone().map_err(|error| error.to_string())?;
    let mut command =
        guard::guarded(&plan.binaries.program("postgres"), plan.account.as_ref()).map_err(|error| error.to_string())?;
    command.arg("-D").arg(&plan.cluster.pgdata).arg("-k").arg(&plan.cluster.sockets).args(["-p", "5432"]);
    let careless = if plan.ephemeral { &CARELESS[..] } else { &[] };
    for (name, value) in SETTINGS.iter().chain(careless) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(again)
        .spawn()
        .map_err(|error| format!("starting PostgreSQL: {error}"))?;
    state.child = Some(Pid::from_child(&child));
    Ok((child, log_start))
}

/// Recovery after a crash may take minutes, so only the end of the process ends this.
fn wait_until_ready(plan: &Plan, child: &mut Child) -> bool {
    let started = Instant::now();
    let mut told = false;
    loop {
        if Postmaster::read(&plan.cluster.pgdata).is_some_and(|postmaster| postmaster.is_ready_as(child.id())) {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        if !told && started.elapsed() > Duration::from_secs(5) {
            told = true;
            tracing::info!(log = %plan.cluster.log.display(), "PostgreSQL is still starting, recovering from a crash perhaps");
        }
        sleep(STEP);
    }
}

fn open_log(plan: &Plan) -> std::io::Result<(File, u64)> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&plan.cluster.log)?;
    if file.metadata()?.len() > LARGEST_LOG {
        file.set_len(0)?;
    }
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// What PostgreSQL said since `start`: the complaints, else the last line.
fn last_lines(plan: &Plan, start: u64) -> Option<String> {
    let mut file = File::open(&plan.cluster.log).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut text = String::new();
    file.take(64 * 1024).read_to_string(&mut text).ok()?;
    let complaints: Vec<&str> = text
        .lines()
        .filter(|line| ["FATAL:", "PANIC:", "HINT:", guard::COMMAND].iter().any(|mark| line.contains(mark)))
        .collect();
    if complaints.is_empty() { text.lines().last().map(str::to_owned) } else { Some(complaints.join(" | ")) }
}
