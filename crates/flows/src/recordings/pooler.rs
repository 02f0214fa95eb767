//! pgbouncer in transaction mode between the servers under test and their database.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::cluster::{Cluster, as_account, give};
use super::network::free_port;
use crate::FlowError;

/// How long a start may take.
const START: Duration = Duration::from_secs(10);

/// A running pgbouncer, which ends when dropped.
#[derive(Debug)]
pub(super) struct Pooler {
    pub port: u16,
    folder: PathBuf,
    process: Child,
}

impl Pooler {
    /// Starts pgbouncer in front of a cluster, which every client uses by this role.
    pub(super) fn start(parent: &Path, cluster: &Cluster, search: &OsStr, role: &str) -> Result<Self, FlowError> {
        let hint = "install pgbouncer (Debian: apt install pgbouncer, macOS: brew install pgbouncer)";
        let failed = |error: std::io::Error| FlowError::new(format!("pgbouncer: {error}"), hint);
        let mut folders: Vec<PathBuf> = std::env::split_paths(search).collect();
        folders.push("/usr/sbin".into());
        let program = folders.into_iter().map(|folder| folder.join("pgbouncer")).find(|program| program.exists());
        let program = program.ok_or_else(|| FlowError::new("pgbouncer is missing", hint))?;
        let folder = parent.join(format!("basalt-pgbouncer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let port = free_port()?;
        // Few connections, so that each is used by many clients; everything else has its default.
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user={role} password=root\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 5\n",
            cluster.port
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, settings).map_err(failed)?;
        give(&folder, cluster.account()).and_then(|()| give(&file, cluster.account())).map_err(failed)?;
        let process = as_account(Command::new(program), cluster.account())
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let pooler = Self { port, folder, process };
        let started = Instant::now();
        while started.elapsed() < START {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(pooler);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(FlowError::new("pgbouncer did not start", hint))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
