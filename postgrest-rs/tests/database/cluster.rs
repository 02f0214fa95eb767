//! A temporary PostgreSQL server per test process, which stops when the process ends.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

/// Starts the server and stops it when the standard input closes, which happens however the test process ends.
const GUARD: &str = r#"
"$1/postgres" -D "$2/data" -c listen_addresses=127.0.0.1 -c port="$3" -k "$2" -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c max_connections=300 -c timezone=UTC -c autovacuum=off -c jit=off \
    -c max_parallel_workers_per_gather=0 -c ssl=on -c ssl_cert_file="$2/server.crt" -c ssl_key_file="$2/server.key" \
    >"$2/log" 2>&1 &
cat >/dev/null
# A restart makes it another process than the one that was started here.
server=$(head -n 1 "$2/data/postmaster.pid")
kill -INT "$server"
while kill -0 "$server" 2>/dev/null; do sleep 0.05; done
rm -rf "$2"
"#;

/// A running server.
pub(crate) struct Cluster {
    /// The folder of its socket and of its certificate `server.crt`.
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    _guard: Child,
}

/// The server of this process.
pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start("shared"))
}

impl Cluster {
    /// Starts a server, which has this name in the process.
    pub(crate) fn start(name: &str) -> Self {
        let binaries = find_binaries().expect("tests need PostgreSQL 15 or newer: set PG_BIN_DIR or install it");
        let folder = std::env::temp_dir().join(format!("basalt-data-api-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        make_certificate(&folder);
        let user = unprivileged_user();
        if let Some((uid, gid)) = user {
            for path in [folder.clone(), folder.join("server.crt"), folder.join("server.key")] {
                chown(&path, Some(uid), Some(gid)).unwrap();
            }
        }
        let command = |program: &Path| {
            let mut command = Command::new(program);
            if let Some((uid, gid)) = user {
                command.gid(gid).uid(uid);
            }
            command.current_dir("/");
            command
        };
        let made = command(&binaries.join("initdb"))
            .args(["--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres", "--auth=trust", "-D"])
            .arg(folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let guard = command(Path::new("sh"))
            .args(["-c", GUARD, "guard"])
            .arg(&binaries)
            .arg(&folder)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let cluster = Self { folder, port, _guard: guard };
        cluster.wait();
        cluster
    }

    fn wait(&self) {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(30) {
            let state = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if state.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("PostgreSQL was not ready: {}", fs::read_to_string(self.folder.join("log")).unwrap_or_default());
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
        format!("host={} port={} user={user} dbname={database}", self.folder.display(), self.port)
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
}

/// The user that runs PostgreSQL if the tests run as root, which PostgreSQL refuses.
pub(crate) fn unprivileged_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut ids = line.unwrap_or("nobody:x:65534:65534").split(':').skip(2).filter_map(|id| id.parse().ok());
    ids.next().zip(ids.next())
}

/// The folder with `initdb` and `postgres`.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where the binaries are")]
pub(crate) fn find_binaries() -> Option<PathBuf> {
    let has_both = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    if let Some(folder) = std::env::var("PG_BIN_DIR").ok().map(PathBuf::from).filter(has_both) {
        return Some(folder);
    }
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    installed.map(|entry| entry.path().join("bin")).filter(has_both).max()
}
