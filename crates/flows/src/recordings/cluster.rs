//! A temporary PostgreSQL for one run: a new cluster on a free loopback port.
//!
//! It is not run as root, and deleted afterwards.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::network::free_port;
use crate::FlowError;

/// How long a start may take.
const START: Duration = Duration::from_secs(30);
/// What a cluster that is deleted at the end does not need: durability, replicas, maintenance. Plans and times are those of the
/// recordings.
const SETTINGS: [&str; 12] = [
    "listen_addresses=127.0.0.1",
    "max_connections=400",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "autovacuum=off",
    "checkpoint_timeout=1d",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    "timezone=UTC",
];

/// A running cluster, which is deleted when dropped.
#[derive(Debug)]
pub(super) struct Cluster {
    pub port: u16,
    folder: PathBuf,
    process: Child,
    account: Option<Account>,
}

/// The account that runs the server if this process is root, which PostgreSQL refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Cluster {
    /// Creates and starts a cluster in a folder; `programs` is the folder of `initdb` and `postgres`.
    pub(super) fn start(parent: &Path, programs: &Path) -> Result<Self, FlowError> {
        let account = unprivileged_account();
        let folder = parent.join(format!("basalt-recordings-{}", std::process::id()));
        let failed = |what: &str, error: String| {
            FlowError::new(format!("{what}: {error}"), "check PG_BIN_DIR and the folder for temporary files")
        };
        std::fs::create_dir_all(&folder).map_err(|error| failed("the folder of the cluster", error.to_string()))?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))
            .map_err(|error| failed("the folder of the cluster", error.to_string()))?;
        give(&folder, account).map_err(|error| failed("the folder of the cluster", error.to_string()))?;
        let data = folder.join("data");
        let made = as_account(Command::new(programs.join("initdb")), account)
            .args(["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .output()
            .map_err(|error| failed("initdb", error.to_string()))?;
        if !made.status.success() {
            return Err(failed("initdb", String::from_utf8_lossy(&made.stderr).trim().to_owned()));
        }
        let port = free_port()?;
        let log = std::fs::File::create(folder.join("log")).map_err(|error| failed("the log", error.to_string()))?;
        let process = as_account(Command::new(programs.join("postgres")), account)
            .args(["-p", &port.to_string()])
            .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(|error| failed("postgres", error.to_string()))?;
        let cluster = Self { port, folder, process, account };
        cluster.wait().map(|()| cluster)
    }

    fn wait(&self) -> Result<(), FlowError> {
        let started = Instant::now();
        while started.elapsed() < START {
            let state = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if state.contains("ready") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(FlowError::new(
            format!("PostgreSQL did not start: {}", log.trim()),
            "free memory and ports, or set PG_BIN_DIR",
        ))
    }

    /// Returns the URL of a database for its superuser.
    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the account of the server.
    pub(super) fn account(&self) -> Option<Account> {
        self.account
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(process) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::INT);
        }
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Gives a file or folder to an account.
pub(super) fn give(path: &Path, account: Option<Account>) -> std::io::Result<()> {
    account.map_or(Ok(()), |account| chown(path, Some(account.user), Some(account.group)))
}

/// Runs a command as an account.
pub(super) fn as_account(mut command: Command, account: Option<Account>) -> Command {
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    command.current_dir("/");
    command
}

/// Returns an account without privileges if this process is root.
fn unprivileged_account() -> Option<Account> {
    if std::fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Account { user: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    };
    find("postgres").or_else(|| find("nobody"))
}
