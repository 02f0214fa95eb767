//! A temporary PostgreSQL server per test process that also listens on a port, by TLS, too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use platform::testing::postgres::{PostgresServer, create_folder, give_to_postgres};
use tokio_postgres::{Client, NoTls};

/// A running server.
pub(crate) struct Cluster {
    server: PostgresServer,
    pub(crate) port: u16,
}

/// The server of this process.
pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start("data-api"))
}

impl Cluster {
    /// Starts a server, which has this name in the process.
    pub(crate) fn start(name: &str) -> Self {
        let folder = create_folder(name);
        make_certificate(&folder);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = [
            &format!("port={port}"),
            "listen_addresses=127.0.0.1",
            "timezone=UTC",
            "autovacuum=off",
            "jit=off",
            "max_parallel_workers_per_gather=0",
            "ssl=on",
            &format!("ssl_cert_file={}/server.crt", folder.display()),
            &format!("ssl_key_file={}/server.key", folder.display()),
        ];
        Self { server: PostgresServer::start(folder.clone(), &settings), port }
    }

    /// The folder of its socket and of its certificate `server.crt`.
    pub(crate) fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// A connection of the superuser.
    pub(crate) async fn connect(&self, database: &str) -> Client {
        let uri = self.uri("postgres", database);
        let (client, connection) = tokio_postgres::connect(&uri, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// A connection string over the socket.
    pub(crate) fn uri(&self, user: &str, database: &str) -> String {
        format!("host={} port={} user={user} dbname={database}", self.folder().display(), self.port)
    }

    /// A new database, a copy of the template.
    pub(crate) async fn create_database(&self, template: &str) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let client = self.connect("postgres").await;
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await.unwrap();
        name
    }
}

/// A certificate for `localhost` that it signed itself.
fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(folder.join("server.crt"))
        .output()
        .expect("tests need openssl");
    assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    fs::set_permissions(folder.join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
    for name in ["server.crt", "server.key"] {
        give_to_postgres(&folder.join(name));
    }
}
