//! Keeps PostgreSQL running: a dedicated thread starts it and restarts it after a failure.
//! The child's life is tied to that thread (see [`crate::guard`]), so the thread must not be a worker of a runtime.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::{Cluster, SOCKET_PORT};
use crate::command::guarded_command;
use crate::guard::GUARD_ARGUMENT;
use crate::postmaster::{self, POLL_INTERVAL, Postmaster, SHUTDOWN_TIMEOUT};
use crate::start_error::StartError;

/// The first and the longest pause before PostgreSQL is restarted.
const MIN_RESTART_DELAY: Duration = Duration::from_millis(50);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(5);
/// PostgreSQL's message when it can listen on none of its addresses, of which there is one.
const PORT_TAKEN: &str = "could not create any TCP/IP sockets";
/// A log larger than this is truncated at startup.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// Settings other than PostgreSQL's defaults, for a private, small, quick and crash-safe server.
const SETTINGS: [(&str, &str); 22] = [
    ("unix_socket_permissions", "0700"),
    ("max_connections", "100"),
    ("shared_buffers", "64MB"),
    // As in Supabase: changes can be read from the log. A reader, a backup or an archive keeps at most this much log.
    ("wal_level", "logical"),
    ("max_wal_senders", "5"),
    ("max_slot_wal_keep_size", "10GB"),
    ("max_wal_size", "256MB"),
    ("jit", "off"),
    // As with pg_stat_statements, which Supabase loads: plans name the identifier of their statement.
    ("compute_query_id", "on"),
    // Functions of extensions are used without their schema, as in Supabase.
    ("search_path", "\"$user\", public, extensions"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("log_line_prefix", "%m [%p] "),
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
    // An error's message, detail and statement can quote a value such as an address. Errors are reported to the client
    // of the statement, and the log contains only messages about the server.
    ("log_min_messages", "log"),
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
    ("log_statement", "none"),
    ("log_parameter_max_length", "0"),
    ("log_parameter_max_length_on_error", "0"),
    ("cluster_name", "basalt"),
];

/// Settings of an ephemeral database, which may have many worlds.
const EPHEMERAL_SETTINGS: [(&str, &str); 11] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "400"),
    // The tables of locks are as large as with 100 connections and PostgreSQL's defaults, instead of four times that.
    ("max_locks_per_transaction", "16"),
    ("max_pred_locks_per_transaction", "16"),
    ("max_pred_locks_per_relation", "32"),
    ("max_logical_replication_workers", "0"),
    // Its data is small, and in the operating system's cache.
    ("shared_buffers", "16MB"),
    // A worker visits each database in turn: with hundreds of them, the default would keep three workers busy.
    ("autovacuum_max_workers", "1"),
    ("autovacuum_naptime", "10min"),
];

/// The server to run.
pub(crate) struct ServerPlan {
    /// The programs.
    pub binaries: Binaries,
    /// The files.
    pub cluster: Cluster,
    /// The account that it runs as; `None` for the account of this process.
    pub account: Option<Account>,
    /// Whether a crash of the machine may lose all data.
    pub ephemeral: bool,
    /// The port on 127.0.0.1, in addition to the socket.
    pub port: Option<u16>,
}

/// The handle of the thread.
#[derive(Debug)]
pub(crate) struct Supervisor {
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
    is_stopping: bool,
    /// The outcome of the first start.
    first_start: Option<Result<(), StartError>>,
    has_ended: bool,
}

impl Supervisor {
    /// Starts PostgreSQL and returns when it accepts connections; fails if the first start fails.
    pub(crate) fn start(plan: ServerPlan) -> Result<Self, StartError> {
        let shared = Arc::new(Shared::default());
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || {
                supervise(&plan, &inside);
                inside.update(|state| state.has_ended = true);
            })
            .map_err(StartError::io("starting a thread"))?;
        let supervisor = Self { shared, thread: Mutex::new(Some(thread)) };
        supervisor.shared.wait(|state| state.first_start.take()).map(|()| supervisor)
    }

    /// Requests a fast shutdown; after [`SHUTDOWN_TIMEOUT`] an immediate one.
    pub(crate) fn stop(&self) {
        for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
            self.shared.update(|state| {
                state.is_stopping = true;
                if let Some(pid) = state.child {
                    postmaster::send_signal(pid, signal);
                }
            });
            if self.shared.wait_for_end(SHUTDOWN_TIMEOUT) {
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

    fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
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

    fn wait_for_end(&self, limit: Duration) -> bool {
        let state = self.state();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, limit, |state| !state.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.has_ended
    }

    /// Waits; returns early on a stop.
    fn pause(&self, length: Duration) {
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, length, |state| !state.is_stopping));
    }
}

/// Runs until stopped, or until the first start fails.
fn supervise(plan: &ServerPlan, shared: &Shared) {
    let mut pause = MIN_RESTART_DELAY;
    let mut ever_ready = false;
    loop {
        let outcome = run_once(plan, shared);
        if shared.state().is_stopping && ever_ready {
            return;
        }
        match outcome {
            RunOutcome::EndedAfterReady if shared.state().is_stopping => return,
            RunOutcome::EndedAfterReady => {
                ever_ready = true;
                pause = MIN_RESTART_DELAY;
                tracing::error!("PostgreSQL ended unexpectedly, restarting it");
            }
            RunOutcome::Failed(error) if ever_ready => {
                tracing::error!(reason = %error, "PostgreSQL does not start, retrying");
            }
            RunOutcome::Failed(error) => {
                shared.update(|state| state.first_start = Some(Err(error)));
                return;
            }
        }
        shared.pause(pause);
        pause = (pause * 2).min(MAX_RESTART_DELAY);
    }
}

/// The end of one run of PostgreSQL.
enum RunOutcome {
    EndedAfterReady,
    Failed(StartError),
}

fn run_once(plan: &ServerPlan, shared: &Shared) -> RunOutcome {
    let (mut child, log_start) = match shared.update(|state| launch(plan, state)) {
        Ok(launched) => launched,
        Err(reason) => return RunOutcome::Failed(StartError::Failed(reason)),
    };
    let ready = wait_until_ready(plan, &mut child);
    if ready {
        shared.update(|state| state.first_start = Some(Ok(())));
    }
    let status = child.wait();
    shared.update(|state| state.child = None);
    if ready {
        return RunOutcome::EndedAfterReady;
    }
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let output = last_lines(plan, log_start).unwrap_or_else(|| format!("see {}", plan.cluster.log.display()));
    RunOutcome::Failed(match plan.port {
        Some(port) if output.contains(PORT_TAKEN) => StartError::PortTaken(port),
        _ => StartError::Failed(format!("PostgreSQL does not start ({status}): {output}")),
    })
}

/// Starts the process while the state is locked, so that a stop either prevents it or sees it.
fn launch(plan: &ServerPlan, state: &mut State) -> Result<(Child, u64), String> {
    if state.is_stopping {
        return Err("we are stopping".to_owned());
    }
    let (log, log_start) =
        open_log(plan).map_err(|error| format!("opening {}: {error}", plan.cluster.log.display()))?;
    let again = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = guarded_command(&plan.binaries.program("postgres"), plan.account.as_ref())
        .map_err(|error| error.to_string())?;
    command.arg("-D").arg(&plan.cluster.pgdata).arg("-k").arg(&plan.cluster.socket_folder);
    command.arg("-c").arg(joined("hba_file=", &plan.cluster.access));
    command.args(["-p", &plan.port.unwrap_or(SOCKET_PORT).to_string()]);
    command.args(["-c", if plan.port.is_some() { "listen_addresses=127.0.0.1" } else { "listen_addresses=" }]);
    let careless = if plan.ephemeral { &EPHEMERAL_SETTINGS[..] } else { &[] };
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

/// Returns a setting whose value is a path.
fn joined(setting: &str, path: &Path) -> OsString {
    let mut text = OsString::from(setting);
    text.push(path);
    text
}

/// Waits without a time limit: recovery after a crash may take minutes.
fn wait_until_ready(plan: &ServerPlan, child: &mut Child) -> bool {
    let started = Instant::now();
    let mut reported = false;
    loop {
        if Postmaster::read(&plan.cluster.pgdata).is_some_and(|postmaster| postmaster.is_ready_with_pid(child.id())) {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        if !reported && started.elapsed() > Duration::from_secs(5) {
            reported = true;
            tracing::info!(log = %plan.cluster.log.display(), "PostgreSQL is still starting, maybe recovering");
        }
        sleep(POLL_INTERVAL);
    }
}

fn open_log(plan: &ServerPlan) -> std::io::Result<(File, u64)> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&plan.cluster.log)?;
    if file.metadata()?.len() > MAX_LOG_BYTES {
        file.set_len(0)?;
    }
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Returns the output of PostgreSQL since `start`: error lines, else the last line.
fn last_lines(plan: &ServerPlan, start: u64) -> Option<String> {
    let mut file = File::open(&plan.cluster.log).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut text = String::new();
    file.take(64 * 1024).read_to_string(&mut text).ok()?;
    let complaints: Vec<&str> = text
        .lines()
        .filter(|line| ["FATAL:", "PANIC:", "HINT:", GUARD_ARGUMENT].iter().any(|mark| line.contains(mark)))
        .collect();
    if complaints.is_empty() { text.lines().last().map(str::to_owned) } else { Some(complaints.join(" | ")) }
}
