//! Two PostgreSQL servers with streaming replication: a primary and a hot standby.
//!
//! The primary waits for its standby.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use platform::testing::find_postgres;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::support::free_port;

/// A PostgreSQL server on 127.0.0.1 that stops with the test.
pub(super) struct Node {
    binaries: PathBuf,
    data: PathBuf,
    pub(super) port: u16,
    process: Option<Child>,
}

impl Node {
    fn new(binaries: &Path, data: PathBuf) -> Self {
        Self { binaries: binaries.to_owned(), data, port: free_port(), process: None }
    }

    /// Starts the server with these settings, and waits until it accepts connections.
    pub(super) fn start(&mut self, settings: &[&str]) {
        let mut command = as_postgres(Command::new(self.binaries.join("postgres")));
        command.arg("-D").arg(&self.data).args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-k", ""]);
        command.args(["-c", "fsync=off", "-c", "shared_buffers=32MB"]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("PostgreSQL starts");
        self.process = Some(child);
        let started_at = Instant::now();
        loop {
            let state = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
            if state.lines().nth(7).is_some_and(|line| matches!(line.trim(), "ready" | "standby")) {
                return;
            }
            assert!(started_at.elapsed() < Duration::from_secs(20), "PostgreSQL was not ready in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The connection of a superuser; it may write while the database is set to read-only.
    pub(super) fn options(&self) -> PgConnectOptions {
        let server = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(self.port);
        server.username("postgres").database("postgres").options([("default_transaction_read_only", "off")])
    }

    /// Returns the first column of the first row.
    pub(super) async fn query(&self, sql: &str) -> Option<String> {
        let mut connection = PgConnection::connect_with(&self.options()).await.ok()?;
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.ok()
    }

    /// Executes a statement.
    pub(super) async fn execute(&self, sql: &str) {
        let mut connection = PgConnection::connect_with(&self.options()).await.expect("connected");
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.expect("the SQL is right");
    }

    pub(super) async fn wait_until(&self, sql: &str) {
        let started_at = Instant::now();
        while self.query(sql).await.as_deref() != Some("true") {
            assert!(started_at.elapsed() < Duration::from_secs(20), "{sql}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends the server at once, as a power failure does.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = kill_process(Pid::from_child(&process), Signal::QUIT);
            let _ = process.wait();
        }
    }

    /// Makes a standby the primary.
    pub(super) fn promote(&self) {
        let mut command = as_postgres(Command::new(self.binaries.join("pg_ctl")));
        let status = command.args(["promote", "-W", "-D"]).arg(&self.data).stdout(Stdio::null()).status();
        assert!(status.expect("pg_ctl starts").success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A primary, its standby, and the folder of both.
pub(super) struct Cluster {
    pub(super) primary: Node,
    pub(super) standby: Node,
    _folder: Folder,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Cluster {
    /// Starts both. A commit is acknowledged once the standby has it.
    pub(super) async fn start(name: &str) -> Self {
        let binaries = find_postgres().expect("tests need PostgreSQL 15 or newer");
        let folder = Folder(std::env::temp_dir().join(format!("basalt-{name}-{}", std::process::id())));
        fs::create_dir_all(&folder.0).expect("a folder");
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).expect("the folder is ours");
        if let Some((uid, gid)) = postgres_user() {
            chown(&folder.0, Some(uid), Some(gid)).expect("root may give folders away");
        }
        let mut primary = Node::new(&binaries, folder.0.join("first"));
        let mut standby = Node::new(&binaries, folder.0.join("second"));
        let mut initdb = as_postgres(Command::new(binaries.join("initdb")));
        initdb.args(["--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres", "--auth=trust", "-D"]);
        run(initdb.arg(&primary.data));
        run(as_postgres(Command::new("cp")).arg("-a").arg(&primary.data).arg(&standby.data));
        run(as_postgres(Command::new("touch")).arg(standby.data.join("standby.signal")));
        primary.start(&["wal_level=replica", "synchronous_standby_names=*"]);
        let source =
            format!("primary_conninfo=host=127.0.0.1 port={} user=postgres application_name=second", primary.port);
        standby.start(&[&source, "wal_retrieve_retry_interval=100ms"]);
        primary.wait_until("SELECT (count(*) = 1)::text FROM pg_stat_replication WHERE sync_state = 'sync'").await;
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(primary.options());
        platform::store::migrate::create_roles(&pool, "secret").await.expect("roles");
        pool.close().await;
        Self { primary, standby, _folder: folder }
    }

    /// The URL of both servers.
    pub(super) fn url(&self) -> String {
        let (first, second) = (self.primary.port, self.standby.port);
        format!(
            "postgres://supabase_auth_admin@127.0.0.1:{first},127.0.0.1:{second}/postgres?target_session_attrs=read-write"
        )
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs the command as an unprivileged user if the tests run as root, which PostgreSQL refuses.
fn as_postgres(mut command: Command) -> Command {
    if let Some((uid, gid)) = postgres_user() {
        command.gid(gid).uid(uid);
    }
    command.current_dir("/");
    command
}

fn postgres_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = users.lines().find_map(|line| {
        let mut fields = line.strip_prefix("postgres:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    ids.or(Some((65534, 65534)))
}
