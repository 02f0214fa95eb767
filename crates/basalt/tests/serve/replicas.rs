//! Several servers on one database: equal keys, jobs that one runs, restarts without failures.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::support::{Basalt, TempFolder, basalt, free_port};

const SECRET: &str = "a secret for the replicas of a test, long enough";
const SECRET_KEY: &str = "sb_secret_0123456789abcdefghijkl";
/// The number of users that were created.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// A database, and the settings that its replicas share.
struct Shared {
    database: Basalt,
    folder: TempFolder,
}

impl Shared {
    fn new() -> Self {
        Self { database: Basalt::serve(&["--ephemeral"]), folder: TempFolder::new() }
    }

    /// Writes a configuration with these keys; returns its path.
    fn write_config(&self, name: &str, publishable_key: &str, rest: &str) -> String {
        let text = format!(
            "[auth]\njwt_secret = \"{SECRET}\"\npublishable_key = \"{publishable_key}\"\nsecret_key = \"{SECRET_KEY}\"\n{rest}"
        );
        self.folder.write(name, &text)
    }

    /// Starts a replica; its number names its data folder.
    fn start(&self, config: &str, number: usize, port: u16) -> Basalt {
        let (data, port) = (self.folder.path(&format!("data{number}")), port.to_string());
        Basalt::serve(&["--config", config, "--data", &data, "--port", &port, "--database-url", &self.url()])
    }

    fn url(&self) -> String {
        self.database.text("database_url")
    }

    async fn holder(&self) -> Option<Uuid> {
        let mut db = PgConnection::connect(&self.url()).await.expect("connected");
        let sql = "SELECT holder FROM basalt.leases WHERE name = 'cleanup' AND expires_at > clock_timestamp()";
        sqlx::query_scalar(sql).fetch_optional(&mut db).await.expect("the lease")
    }
}

const KEY: &str = "sb_publishable_0123456789abcdefghijkl";
const PLAIN: &str = "external_url = \"http://127.0.0.1:9\"\n";

#[test]
fn server_with_other_keys_is_refused_while_a_replica_runs() {
    let shared = Shared::new();
    let same = shared.write_config("same.toml", KEY, PLAIN);
    let other = shared.write_config("other.toml", "sb_publishable_another89abcdefghijkl0", PLAIN);
    let first = shared.start(&same, 1, 0);
    let second = shared.start(&same, 2, 0);

    let start = |config: &str| {
        let data = shared.folder.path("data3");
        let arguments = ["serve", "--config", config, "--data", &data, "--port", "0", "--database-url", &shared.url()];
        basalt().args(arguments).output().expect("the program starts")
    };
    let refused = start(&other);
    let log = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(log.contains("a different value of auth.publishable_key:"), "{log}");
    assert!(!log.contains("sb_publishable_another"), "keys are never logged: {log}");

    for server in [first, second] {
        server.signal(Signal::TERM);
        assert!(server.wait_for_exit());
    }
    // Without a live replica other keys may be used.
    let changed = shared.start(&other, 3, 0);
    let allowed =
        shared.write_config("allowed.toml", KEY, &format!("{PLAIN}[basalt.replicas]\nallow_differences = true\n"));
    let differing = shared.start(&allowed, 4, 0);
    drop((changed, differing));
}

#[tokio::test]
async fn another_replica_takes_over_the_cleanup_of_a_killed_one() {
    let shared = Shared::new();
    let config =
        shared.write_config("config.toml", KEY, &format!("{PLAIN}[auth.email]\nenable_confirmations = false\n"));
    let mut servers = vec![shared.start(&config, 1, 0), shared.start(&config, 2, 0)];
    // A write to one replica makes it the holder; a write to the other does not.
    write(&servers[0]).await;
    let started = Instant::now();
    let first = loop {
        if let Some(holder) = shared.holder().await {
            break holder;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "a replica holds the lease");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    for _ in 0..3 {
        write(&servers[1]).await;
        write(&servers[0]).await;
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        assert_eq!(shared.holder().await, Some(first));
    }

    servers[0].signal(Signal::KILL);
    drop(servers.remove(0));
    let killed = Instant::now();
    loop {
        write(&servers[0]).await;
        match shared.holder().await {
            Some(holder) if holder != first => break,
            _ => assert!(killed.elapsed() < Duration::from_secs(20), "the other replica takes over"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Creates a user.
async fn write(server: &Basalt) {
    let status = create_user(&server.client, &server.url("")).await.expect("an answer");
    assert_eq!(status, 200);
}

async fn create_user(client: &Client, url: &str) -> reqwest::Result<u16> {
    let number = USERS.fetch_add(1, Ordering::Relaxed);
    let email = format!("user{number}-{}@example.com", std::process::id());
    let body = json!({ "email": email, "email_confirm": true });
    let request = client.post(format!("{url}/auth/v1/admin/users")).header("apikey", SECRET_KEY).json(&body);
    Ok(request.send().await?.status().as_u16())
}

/// `HAProxy` in front of the replicas, with health checks and connections that stay open.
struct Haproxy {
    child: Child,
    client: Client,
    statistics: String,
}

impl Haproxy {
    fn start(folder: &TempFolder, port: u16, replicas: &[u16]) -> Self {
        let servers: Vec<String> = (replicas.iter().enumerate())
            .map(|(number, port)| format!("    server r{number} 127.0.0.1:{port} check\n"))
            .collect();
        let servers = servers.concat();
        let statistics = free_port();
        let text = format!(
            "defaults\n    mode http\n    timeout connect 2s\n    timeout client 30s\n    timeout server 30s\n\
             \x20   timeout check 10s\n    option redispatch\n    retries 3\n    option httpchk GET /readyz\n    http-reuse always\n\
             frontend all\n    bind 127.0.0.1:{port}\n    default_backend replicas\n\
             frontend statistics\n    bind 127.0.0.1:{statistics}\n    stats enable\n    stats uri /\n\
             backend replicas\n    default-server inter 100ms fall 1 rise 1\n{servers}"
        );
        let config = folder.write("haproxy.cfg", &text);
        let child = Command::new("haproxy")
            .args(["-db", "-f", &config])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("HAProxy is installed: tools/need.sh haproxy");
        let client = Client::builder().no_proxy().build().expect("a client");
        Self { child, client, statistics: format!("http://127.0.0.1:{statistics}/;csv") }
    }

    /// Waits until health checks have found all servers ready.
    async fn wait_until_all_are_up(&self, replicas: usize) {
        let started = Instant::now();
        loop {
            let text = match self.client.get(&self.statistics).send().await {
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            let is_up =
                |line: &&str| line.starts_with("replicas,r") && line.contains(",UP,") && line.contains(",L7OK,");
            if text.lines().filter(is_up).count() == replicas {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "all replicas are up: {text}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_behind_a_proxy_fail_no_request() {
    let shared = Shared::new();
    let config = shared.write_config("config.toml", KEY, &format!("{PLAIN}[basalt.shutdown]\ndrain = \"2s\"\n"));
    let ports = [free_port(), free_port()];
    let mut replicas = [shared.start(&config, 0, ports[0]), shared.start(&config, 1, ports[1])].map(Some);
    let port = free_port();
    let proxy = Haproxy::start(&shared.folder, port, &ports);
    proxy.wait_until_all_are_up(2).await;
    let url = format!("http://127.0.0.1:{port}");
    let client = Client::builder().no_proxy().build().expect("a client");
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            tokio::spawn(async move {
                let mut failures = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    match create_user(&client, &url).await {
                        Ok(200) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        other => failures.push(format!("{other:?}")),
                    }
                }
                failures
            })
        })
        .collect();
    for number in [0, 1, 0, 1] {
        let before = answered.load(Ordering::Relaxed);
        let stopping = replicas[number].take().expect("it runs");
        stopping.signal(Signal::TERM);
        assert!(tokio::task::block_in_place(|| stopping.wait_for_exit()));
        replicas[number] = Some(tokio::task::block_in_place(|| shared.start(&config, number, ports[number])));
        proxy.wait_until_all_are_up(2).await;
        assert!(answered.load(Ordering::Relaxed) > before);
    }
    is_over.store(true, Ordering::Relaxed);
    let mut failures = Vec::new();
    for client in clients {
        failures.extend(client.await.expect("a client"));
    }
    let answered = answered.load(Ordering::Relaxed);
    assert!(
        failures.is_empty() && answered > 100,
        "{} failed, {answered} answered: {:?}",
        failures.len(),
        failures.first()
    );
}
