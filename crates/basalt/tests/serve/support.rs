//! A running binary and requests to it.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use sqlx::{Connection, PgConnection};

/// The number of indexes that a server creates in the background.
const USER_INDEXES: i64 = 4;

static NEXT_FOLDER: AtomicUsize = AtomicUsize::new(0);

/// The binary under test: of this build, or `BASALT_BINARY` to measure a release build.
pub(crate) fn binary() -> OsString {
    std::env::var_os("BASALT_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_basalt").into())
}

/// Returns a command for the binary under test, without variables that would change its behaviour.
pub(crate) fn basalt() -> Command {
    let mut command = Command::new(binary());
    command.env_remove("DATABASE_URL").env_remove("RUST_LOG").current_dir(std::env::temp_dir());
    command
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    run_with(arguments, &[])
}

/// The same, with environment variables.
pub(crate) fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    basalt().args(arguments).envs(variables.iter().copied()).output().expect("the program starts")
}

/// A folder that is removed at the end of the test.
pub(crate) struct TempFolder(pub PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Self {
        let number = NEXT_FOLDER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("basalt-e2e-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub(crate) struct Basalt {
    child: Child,
    /// The line of JSON that it printed.
    pub announcement: Value,
    /// An HTTP client.
    pub client: Client,
    /// What it has logged.
    log: Arc<Mutex<String>>,
}

impl Basalt {
    /// Starts `basalt serve --json` with these arguments, on a free port unless they name one.
    pub(crate) fn serve(arguments: &[&str]) -> Self {
        Self::serve_with(arguments, &[])
    }

    /// The same, with environment variables.
    pub(crate) fn serve_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start(basalt().envs(variables.iter().copied()), arguments)
    }

    /// The same, with a modified command.
    pub(crate) fn start(command: &mut Command, arguments: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "--json"])
            .args(if arguments.contains(&"--port") { &[][..] } else { &["--port", "0"] })
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("readable");
        let reported = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut log = String::new();
            let _ = child.stderr.take().expect("piped").read_to_string(&mut log);
            panic!("basalt serve ended before it was ready: {log}")
        });
        let (lines, log) =
            (BufReader::new(child.stderr.take().expect("piped")).lines(), Arc::<Mutex<String>>::default());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut log = kept.lock().unwrap_or_else(PoisonError::into_inner);
                log.push_str(&line);
                log.push('\n');
            }
        });
        let client = Client::builder().no_proxy().build().expect("a client");
        Self { child, announcement: reported, client, log }
    }

    /// Returns what the server has logged since it was ready.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.announcement[name].as_str().unwrap_or_else(|| panic!("no {name}")).to_owned()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.text("url"))
    }

    /// Sends a request to the auth API with the public key; returns status and JSON body.
    pub(crate) async fn auth(&self, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = self.url(&format!("/auth/v1{path}"));
        let request = match body {
            None => self.client.get(url),
            Some(body) => self.client.post(url).json(&body),
        };
        let answer = request.header("apikey", self.text("publishable_key")).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// Connects to the database when the server has created its indexes of users.
    ///
    /// A statement that changes the table waits for an index that is being created, and the index for the snapshot of
    /// the statement: PostgreSQL ends one of both.
    pub(crate) async fn connect_after_indexes(&self) -> PgConnection {
        let mut database = PgConnection::connect(&self.text("database_url")).await.expect("connected");
        let valid = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                     WHERE i.indrelid = 'auth.users'::regclass AND i.indisvalid AND c.relname LIKE 'idx\\_users\\_%'";
        let started = Instant::now();
        while sqlx::query_scalar::<_, i64>(valid).fetch_one(&mut database).await.expect("a number") < USER_INDEXES {
            assert!(started.elapsed() < Duration::from_mins(2), "the indexes of users are missing");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        database
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it lives");
    }

    /// Waits for the end; returns the exit status.
    pub(crate) fn exit_status(&mut self) -> Option<i32> {
        self.child.wait().expect("a status").code()
    }

    /// Waits for the end of the process; returns whether it was successful.
    pub(crate) fn wait_for_exit(mut self) -> bool {
        self.child.wait().expect("a status").success()
    }
}

impl Drop for Basalt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `basalt gotrue` on the database of another server, with its log.
pub(crate) struct Gotrue {
    child: Child,
    pub url: String,
    log: Arc<Mutex<String>>,
}

impl Gotrue {
    pub(crate) fn start(database: &Basalt, variables: &[(&str, &str)]) -> Self {
        let common = [
            ("GOTRUE_DB_DRIVER", "postgres".to_owned()),
            ("DATABASE_URL", database.text("database_url")),
            ("GOTRUE_SITE_URL", "http://localhost:3000".to_owned()),
            ("API_EXTERNAL_URL", "http://localhost:9999".to_owned()),
            ("GOTRUE_JWT_SECRET", database.text("jwt_secret")),
            ("GOTRUE_API_HOST", "127.0.0.1".to_owned()),
            ("GOTRUE_MAILER_AUTOCONFIRM", "true".to_owned()),
            ("PORT", "0".to_owned()),
        ];
        let mut command = basalt();
        command.arg("gotrue").envs(common).envs(variables.iter().copied());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (kept, stderr) = (Arc::clone(&log), child.stderr.take().expect("piped"));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut server = Self { child, url: String::new(), log };
        eventually("the address is logged", || {
            let log = server.text();
            let address = log.lines().find_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                let is_api = line["message"] == "serving the auth API";
                is_api.then(|| line["address"].as_str().map(str::to_owned)).flatten()
            });
            server.url = address.map(|address| format!("http://{address}")).unwrap_or_default();
            !server.url.is_empty()
        });
        server
    }

    pub(crate) fn text(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Gotrue {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the process id of PostgreSQL on the data folder.
pub(crate) fn postgres_pid(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postgres/cluster/postmaster.pid")).ok()?;
    Pid::from_raw(text.lines().next()?.parse().ok()?)
}

/// Returns whether the process runs; a zombie process does not.
pub(crate) fn is_alive(pid: Pid) -> bool {
    let has_proc = Path::new("/proc/self/cwd").exists();
    if has_proc { fs::read_link(format!("/proc/{pid}/cwd")).is_ok() } else { test_kill_process(pid).is_ok() }
}

/// Polls until the condition holds, for ten seconds at most.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
