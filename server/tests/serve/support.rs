//! A running binary, and small questions to it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// The program under test, with nothing of our environment that would change what it does.
pub fn basalt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    command.env_remove("DATABASE_URL").env_remove("RUST_LOG").current_dir(std::env::temp_dir());
    command
}

/// A port that nobody listens at.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    basalt().args(arguments).output().expect("the program starts")
}

/// A folder that is removed at the end of the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("basalt-e2e-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that is ready.
pub struct Basalt {
    child: Child,
    /// The line it printed.
    pub told: Value,
    /// Asks it over HTTP.
    pub client: Client,
}

impl Basalt {
    /// `basalt serve --json` and these arguments; at any port that is free unless they name one.
    pub fn serve(arguments: &[&str]) -> Self {
        Self::serve_with(arguments, &[])
    }

    /// The same with variables.
    pub fn serve_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start(basalt().envs(variables.iter().copied()), arguments)
    }

    /// The same by a command that may have been changed.
    pub fn start(command: &mut Command, arguments: &[&str]) -> Self {
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
        let told = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut log = String::new();
            let _ = child.stderr.take().expect("piped").read_to_string(&mut log);
            panic!("basalt serve ended before it was ready: {log}")
        });
        // What it says from now on is nobody's to read, and must not fill the pipe.
        let mut log = child.stderr.take().expect("piped");
        std::thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
        let client = Client::builder().no_proxy().build().expect("a client");
        Self { child, told, client }
    }

    pub fn text(&self, name: &str) -> String {
        self.told[name].as_str().unwrap_or_else(|| panic!("no {name}")).to_owned()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.text("url"))
    }

    /// A status and JSON body from the auth API, asked with the public key.
    pub async fn auth(&self, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = self.url(&format!("/auth/v1{path}"));
        let request = match body {
            None => self.client.get(url),
            Some(body) => self.client.post(url).json(&body),
        };
        let answer = request.header("apikey", self.text("publishable_key")).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it lives");
    }

    /// Waits for the end; true when it was an orderly one.
    pub fn ends(mut self) -> bool {
        self.child.wait().expect("a status").success()
    }
}

impl Drop for Basalt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process of PostgreSQL that works on the data folder.
pub fn postgres_of(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postgres/cluster/postmaster.pid")).ok()?;
    Pid::from_raw(text.lines().next()?.parse().ok()?)
}

/// Whether the process runs; one that has ended and that nobody has taken note of does not.
pub fn is_alive(pid: Pid) -> bool {
    let has_proc = Path::new("/proc/self/cwd").exists();
    if has_proc { fs::read_link(format!("/proc/{pid}/cwd")).is_ok() } else { test_kill_process(pid).is_ok() }
}

/// Looks until it is so, for ten seconds at most.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
