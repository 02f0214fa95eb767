//! Rate limits that several processes share, and what applies without the store.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::support::{Basalt, TempFolder, basalt, eventually, free_port};

/// The processes that share a limit.
const PROCESSES: usize = 4;
/// The limit: requests in five minutes.
const LIMIT: u16 = 200;
/// A wait that a busy machine does not exceed.
const PATIENT: &str = "timeout = \"5s\"";
/// The concurrent requests to each process.
const LANES: usize = 2;
/// As many requests to each process.
const EACH: usize = LIMIT as usize;

/// A Redis server that ends with this value.
pub(super) struct Redis {
    child: Child,
    pub port: u16,
}

impl Redis {
    pub(super) fn start(port: u16, options: &[&str]) -> Self {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]);
        let child = command.args(options).current_dir(std::env::temp_dir()).stdout(Stdio::null()).spawn();
        let child = child.expect("redis-server starts: tools/need.sh redis installs it");
        eventually("redis-server answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, port }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The database of one server, used by the others.
struct Installation {
    _folder: TempFolder,
    servers: Vec<Basalt>,
}

impl Installation {
    fn start(processes: usize, limits: &str) -> Self {
        let folder = TempFolder::new();
        let text = format!(
            "[auth]\njwt_secret = \"a secret that all processes of the test have\"\n\
             publishable_key = \"sb_publishable_0123456789abcdefghijkl\"\nsecret_key = \"sb_secret_0123456789abcdefghijkl\"\n\
             external_url = \"http://127.0.0.1:9\"\n[auth.rate_limit]\n\
             token_verifications = {LIMIT}\n[basalt.limits]\n{limits}\n"
        );
        let file = folder.write("config.toml", &text);
        let first = Basalt::serve(&["--ephemeral", "--config", &file]);
        let database = first.text("database_url");
        let mut servers = vec![first];
        for number in 1..processes {
            let data = folder.path(&format!("data{number}"));
            let arguments = ["--config", &file, "--data", &data, "--database-url", &database];
            servers.push(Basalt::start(&mut basalt(), &arguments));
        }
        Self { _folder: folder, servers }
    }

    /// Waits until every server uses the store again.
    ///
    /// Five requests in a row are not refused then, more than the limit of the server itself has gained meanwhile.
    async fn wait_for_store(&self) {
        for server in &self.servers {
            let (started, mut allowed) = (Instant::now(), 0);
            while allowed < 5 {
                allowed = if matches!(verify(server).await, 429 | 503) { 0 } else { allowed + 1 };
                assert!(started.elapsed() < Duration::from_secs(10), "the store is used again");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Sends requests to all servers at once; returns their statuses and the longest duration.
    async fn send(&self, each: usize) -> (Vec<u16>, Duration) {
        let lanes = self.servers.iter().flat_map(|server| (0..LANES).map(move |lane| (server, lane)));
        let sending = lanes.map(|(server, lane)| async move {
            let (mut statuses, mut longest) = (Vec::new(), Duration::ZERO);
            for _ in (lane..each).step_by(LANES) {
                let started = Instant::now();
                statuses.push(verify(server).await);
                longest = longest.max(started.elapsed());
            }
            (statuses, longest)
        });
        let done = futures::future::join_all(sending).await;
        let longest = done.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
        (done.into_iter().flat_map(|(statuses, _)| statuses).collect(), longest)
    }
}

/// Sends a request that counts by the network alone; its code is refused.
async fn verify(server: &Basalt) -> u16 {
    let body = json!({"type": "signup", "token_hash": "0000"});
    server.auth("/verify", Some(body)).await.0
}

fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|found| **found == status).count()
}

fn count_allowed(statuses: &[u16]) -> usize {
    statuses.len() - count(statuses, 429)
}

/// Asserts that all processes together allowed the limit, with a tolerance of 5 %.
async fn assert_one_limit(limits: &str) {
    // A database that is too busy for a connection must not leave the limit to the processes.
    let installation = Installation::start(PROCESSES, &format!("{limits}\non_failure = \"closed\""));
    let started = Instant::now();
    let (statuses, _) = installation.send(EACH).await;
    let refilled = started.elapsed().as_secs_f64() * f64::from(LIMIT) / 300.0;
    let allowed = u16::try_from(count(&statuses, 403)).expect("few");
    let answered = u16::try_from(count_allowed(&statuses)).expect("few");
    let most = (f64::from(LIMIT) + refilled) * 1.05;
    let least = f64::from(LIMIT) * 0.95;
    assert!(f64::from(allowed) <= most && f64::from(answered) >= least, "{allowed} to {answered} of {least} to {most}");
}

#[tokio::test]
async fn four_processes_enforce_one_limit_with_redis() {
    let redis = Redis::start(free_port(), &[]);
    assert_one_limit(&format!("url = \"{}\"\n{PATIENT}", redis.url())).await;
}

#[tokio::test]
async fn four_processes_enforce_one_limit_with_postgres() {
    assert_one_limit(&format!("url = \"postgres\"\n{PATIENT}")).await;
}

#[tokio::test]
async fn processes_without_a_store_count_by_themselves() {
    let installation = Installation::start(2, "");
    let (statuses, _) = installation.send(EACH + 50).await;
    let allowed = count_allowed(&statuses);
    assert!(allowed >= 2 * EACH, "{allowed}");
}

#[tokio::test]
async fn server_with_password_and_database_is_used() {
    let redis = Redis::start(free_port(), &["--requirepass", "p@ss/word"]);
    let url = format!("redis://:p%40ss%2Fword@127.0.0.1:{}/3", redis.port);
    let installation = Installation::start(1, &format!("url = \"{url}\"\non_failure = \"closed\"\n{PATIENT}"));
    let (statuses, _) = installation.send(8).await;
    assert_eq!(count(&statuses, 503), 0, "{statuses:?}");
    let arguments = ["-p", &redis.port.to_string(), "-n", "3", "-a", "p@ss/word", "keys", "*"];
    let output = Command::new("redis-cli").args(arguments).output().expect("redis-cli runs");
    let keys = String::from_utf8_lossy(&output.stdout).into_owned();
    let has_bucket = keys.lines().any(|key| key.starts_with("{basalt}:bucket:"));
    assert!(has_bucket && !keys.contains("127.0.0.1"), "{keys}");
}

#[tokio::test]
async fn wrong_passwords_are_counted_together_and_right_ones_are_free() {
    let redis = Redis::start(free_port(), &[]);
    let installation = Installation::start(2, &format!("url = \"{}\"\n{PATIENT}", redis.url()));
    let body = |password: &str| Some(json!({"email": "ann@example.com", "password": password}));
    let [one, other] = &installation.servers[..] else { panic!("two servers") };
    assert_eq!(one.auth("/signup", body("correct horse")).await.0, 200);
    for _ in 0..5 {
        for server in [one, other] {
            assert_eq!(server.auth("/token?grant_type=password", body("correct horse")).await.0, 200);
        }
    }
    let mut statuses = Vec::new();
    for _ in 0..7 {
        for server in [one, other] {
            statuses.push(server.auth("/token?grant_type=password", body("wrong")).await.0);
        }
    }
    // One network has a third of 30 attempts.
    assert_eq!((count(&statuses, 400), count(&statuses, 429)), (10, 4), "{statuses:?}");
}

#[tokio::test]
async fn killed_store_leaves_limits_to_each_process_if_open() {
    let redis = Redis::start(free_port(), &[]);
    let port = redis.port;
    let installation = Installation::start(2, &format!("url = \"{}\"\ntimeout = \"500ms\"", redis.url()));
    let (statuses, _) = installation.send(8).await;
    assert_eq!(count(&statuses, 429), 0);
    drop(redis);
    let (statuses, longest) = installation.send(EACH + 50).await;
    let allowed = count_allowed(&statuses);
    assert_eq!(count(&statuses, 503), 0);
    assert!((2 * EACH..2 * EACH + 50).contains(&allowed), "each counts by itself: {allowed}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    let _redis = Redis::start(port, &[]);
    installation.wait_for_store().await;
    let (statuses, _) = installation.send(8).await;
    assert_eq!(count(&statuses, 429), 0, "the new store has counted nothing: {statuses:?}");
}

#[tokio::test]
async fn frozen_store_refuses_if_closed_and_recovers() {
    let redis = Redis::start(free_port(), &[]);
    let limits = format!("url = \"{}\"\non_failure = \"closed\"\ntimeout = \"500ms\"", redis.url());
    let installation = Installation::start(2, &limits);
    assert_eq!(count(&installation.send(8).await.0, 503), 0);
    redis.signal(Signal::STOP);
    let (first, longest) = installation.send(8).await;
    assert_eq!(count(&first, 503), first.len(), "{first:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    // The pause after a failure spares further requests the wait.
    let started = Instant::now();
    let (statuses, _) = installation.send(80).await;
    assert_eq!(count(&statuses, 503), statuses.len());
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    redis.signal(Signal::CONT);
    installation.wait_for_store().await;
    assert_eq!(count(&installation.send(8).await.0, 503), 0);
}
