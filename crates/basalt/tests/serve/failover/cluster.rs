//! Two PostgreSQL servers with streaming replication: a primary and a hot standby.
//!
//! The primary waits for its standby.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use platform::testing::postgres::{
    create_cluster, create_folder, give_to_postgres, postgres_command, run_as_postgres, wait_until_ready,
};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::support::free_port;

/// A PostgreSQL server on 127.0.0.1 that stops with the test.
pub(super) struct Node {
    data: PathBuf,
    pub(super) port: u16,
    process: Option<Child>,
}

impl Node {
    fn new(data: PathBuf) -> Self {
        Self { data, port: free_port(), process: None }
    }

    /// Starts the server with these settings, and waits until it accepts connections.
    pub(super) fn start(&mut self, settings: &[&str]) {
        let mut command = postgres_command("postgres");
        command.arg("-D").arg(&self.data).args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-k", ""]);
        command.args(["-c", "fsync=off", "-c", "shared_buffers=32MB"]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("PostgreSQL starts");
        self.process = Some(child);
        wait_until_ready(&self.data);
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
        let mut command = postgres_command("pg_ctl");
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
        let folder = Folder(create_folder(name));
        let mut primary = Node::new(folder.0.join("first"));
        let mut standby = Node::new(folder.0.join("second"));
        create_cluster(&primary.data);
        let copied = run_as_postgres("cp").arg("-a").arg(&primary.data).arg(&standby.data).status();
        assert!(copied.expect("cp starts").success());
        let signal = standby.data.join("standby.signal");
        fs::write(&signal, "").expect("written");
        give_to_postgres(&signal);
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
