//! Stores of rate limits with TLS, in a cluster, with wrong credentials, and slow ones.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;

use super::shared_limits::Redis;
use super::support::{Basalt, TempFolder, basalt, eventually, free_port, run};

/// The limit of the tests: requests in five minutes.
const LIMIT: usize = 20;
/// More requests than the limit, fewer than with a second limit.
const REQUESTS: usize = 30;

/// Writes a configuration with this store.
fn configure(folder: &TempFolder, store: &str) -> String {
    let text = format!("[auth.rate_limit]\ntoken_verifications = {LIMIT}\n[basalt.limits]\n{store}\n");
    folder.write("config.toml", &text)
}

/// Starts a server with this store.
fn serve(folder: &TempFolder, store: &str, variables: &[(&str, &str)]) -> Basalt {
    Basalt::serve_with(&["--ephemeral", "--config", &configure(folder, store)], variables)
}

/// Runs a server that is expected not to start; returns its log.
fn refuse(store: &str) -> String {
    let folder = TempFolder::new();
    let Output { status, stderr, .. } =
        run(&["serve", "--ephemeral", "--port", "0", "--config", &configure(&folder, store)]);
    let log = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!status.success(), "{log}");
    assert!(log.contains("[basalt.limits] url"), "{log}");
    log
}

/// Sends requests that are limited by the network alone; returns the statuses.
async fn verify(server: &Basalt, requests: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..requests {
        statuses.push(server.auth("/verify", Some(json!({"type": "signup", "token_hash": "0000"}))).await.0);
    }
    statuses
}

fn count_refused(statuses: &[u16]) -> usize {
    statuses.iter().filter(|status| **status == 429).count()
}

/// Runs `redis-cli` and returns its output.
fn cli(port: u16, arguments: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(arguments).output();
    String::from_utf8_lossy(&output.expect("redis-cli runs").stdout).trim().to_owned()
}

/// Writes a self-signed certificate for 127.0.0.1; returns the paths of certificate and key.
fn write_certificate(folder: &Path) -> (String, String) {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let generated = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    std::fs::write(&certificate, generated.cert.pem()).expect("written");
    std::fs::write(&key, generated.signing_key.serialize_pem()).expect("written");
    (certificate.display().to_string(), key.display().to_string())
}

#[tokio::test]
async fn store_with_tls_counts_and_an_untrusted_one_is_refused_at_the_start() {
    let folder = TempFolder::new();
    let (certificate, key) = write_certificate(&folder.0);
    let (plain, encrypted) = (free_port(), free_port().to_string());
    let options = ["--tls-port", &encrypted, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let options = [&options[..], &["--tls-ca-cert-file", &certificate, "--tls-auth-clients", "no"]].concat();
    let redis = Redis::start(plain, &options);
    let store = format!("url = \"rediss://127.0.0.1:{encrypted}/0\"\non_failure = \"closed\"\ntimeout = \"5s\"");
    let server = serve(&folder, &store, &[("SSL_CERT_FILE", &certificate)]);
    let statuses = verify(&server, REQUESTS).await;
    assert!(count_refused(&statuses) >= REQUESTS - LIMIT - 2, "{statuses:?}");
    assert!(!statuses.contains(&503), "{statuses:?}");
    assert!(cli(redis.port, &["keys", "*"]).contains("{basalt}:bucket:"));

    let log = refuse(&store);
    assert!(log.contains("certificate") && log.contains("UnknownIssuer"), "{log}");
}

#[test]
fn store_without_tls_at_a_port_configured_with_tls_is_refused_at_the_start() {
    for options in [&[][..], &["--requirepass", "right"]] {
        let redis = Redis::start(free_port(), options);
        let log = refuse(&format!("url = \"rediss://127.0.0.1:{}/0\"", redis.port));
        assert!(log.contains("answers without TLS at this port: use redis://"), "{log}");
    }
}

#[tokio::test]
async fn wrong_credentials_and_missing_permissions_are_refused_at_the_start() {
    let redis = Redis::start(free_port(), &["--requirepass", "right"]);
    let port = redis.port;
    let url = |user: &str| format!("url = \"redis://{user}127.0.0.1:{port}/0\"");
    assert!(refuse(&url(":wrong@")).contains("WRONGPASS"));
    assert!(refuse(&url("")).contains("NOAUTH"));
    assert!(refuse(&format!("url = \"redis://:right@127.0.0.1:{port}/99\"")).contains("DB index is out of range"));
    // Redis repeats the arguments of commands that it does not know.
    let without = Redis::start(free_port(), &["--rename-command", "AUTH", ""]);
    let log = refuse(&format!("url = \"redis://ann:hunter2@127.0.0.1:{}/0\"", without.port));
    assert!(log.contains("unknown command") && !log.contains("hunter2"), "{log}");
    let reader = ["-a", "right", "acl", "setuser", "reader", "on", ">secret", "~*", "+@read", "+@connection"];
    assert_eq!(cli(port, &reader), "OK");
    let log = refuse(&url("reader:secret@"));
    assert!(log.contains("NOPERM") && !log.contains("secret"), "{log}");
}

#[test]
fn server_of_another_protocol_is_refused_at_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert!(refuse(&format!("url = \"redis://127.0.0.1:{port}\"")).contains("malformed reply"));
}

#[tokio::test]
async fn every_counter_expires() {
    let redis = Redis::start(free_port(), &[]);
    let folder = TempFolder::new();
    let server = serve(&folder, &format!("url = \"{}\"\ntimeout = \"5s\"", redis.url()), &[]);
    verify(&server, 2).await;
    let body = |password: &str| Some(json!({"email": "ann@example.com", "password": password}));
    server.auth("/signup", body("correct horse")).await;
    for password in ["correct horse", "wrong"] {
        server.auth("/token?grant_type=password", body(password)).await;
    }
    server.auth("/recover", Some(json!({"email": "ann@example.com"}))).await;
    let keys = cli(redis.port, &["keys", "*"]);
    assert!(keys.lines().count() > 4, "{keys}");
    for key in keys.lines() {
        let left: i64 = cli(redis.port, &["ttl", key]).parse().expect("a number");
        // -2: it has expired meanwhile; -1: it never expires.
        assert!(left == -2 || (0..=40 * 86_400).contains(&left), "{key} expires in {left} s");
    }
}

/// A node of a cluster.
struct Node {
    redis: Redis,
    port: u16,
    bus: String,
    _folder: TempFolder,
}

impl Node {
    fn start() -> Self {
        let (port, bus, folder) = (free_port(), free_port().to_string(), TempFolder::new());
        let file = folder.path("nodes.conf");
        let options = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-config-file", &file];
        Self { redis: Redis::start(port, &options), port, bus, _folder: folder }
    }

    fn id(&self) -> String {
        cli(self.port, &["cluster", "myid"])
    }
}

/// Starts two nodes of a cluster, of which the second one has the slot of all counters.
///
/// Returns them and the slot.
fn start_cluster() -> (Node, Node, String) {
    let (first, second) = (Node::start(), Node::start());
    let slot = cli(first.port, &["cluster", "keyslot", "{basalt}"]);
    let number: u32 = slot.parse().expect("a slot");
    for (start, end) in [(1, number - 1), (number + 1, 16383)] {
        assert_eq!(cli(first.port, &["cluster", "addslotsrange", &start.to_string(), &end.to_string()]), "OK");
    }
    // With a second slot it stays a master when the first one has moved.
    assert_eq!(cli(second.port, &["cluster", "addslots", "0", &slot]), "OK");
    assert_eq!(cli(second.port, &["config", "set", "cluster-require-full-coverage", "no"]), "OK");
    let meet = ["cluster", "meet", "127.0.0.1", &second.port.to_string(), &second.bus];
    assert_eq!(cli(first.port, &meet), "OK");
    let is_ready = |port| cli(port, &["cluster", "info"]).contains("cluster_state:ok");
    eventually("the cluster is ready", || is_ready(first.port) && is_ready(second.port));
    let knows = || cli(first.port, &["get", "{basalt}:x"]).contains(&format!("MOVED {slot}"));
    eventually("the first node knows the second one's slot", knows);
    (first, second, slot)
}

#[tokio::test]
async fn node_that_has_the_counters_is_found_and_followed_while_they_move() {
    let (first, second, slot) = start_cluster();
    let folder = TempFolder::new();
    let store = format!("url = \"{}\"\non_failure = \"closed\"\ntimeout = \"5s\"", first.redis.url());
    let server = serve(&folder, &store, &[]);
    let started = Instant::now();
    let statuses = verify(&server, LIMIT / 2).await;
    assert_eq!(count_refused(&statuses) + statuses.iter().filter(|status| **status == 503).count(), 0, "{statuses:?}");
    assert!(cli(second.port, &["keys", "*"]).contains("{basalt}:bucket:"));

    // The slot moves to the first node: keys that are no longer at the second one are asked for there.
    let (from, to) = (second.id(), first.id());
    assert_eq!(cli(first.port, &["cluster", "setslot", &slot, "importing", &from]), "OK");
    assert_eq!(cli(second.port, &["cluster", "setslot", &slot, "migrating", &to]), "OK");
    for key in cli(second.port, &["keys", "*"]).lines() {
        let port = first.port.to_string();
        let answer = cli(second.port, &["migrate", "127.0.0.1", &port, key, "0", "2000"]);
        // The key that a server writes when it starts expires after a second.
        assert!(answer == "OK" || (answer == "NOKEY" && key.ends_with(":start")), "{key}: {answer}");
    }
    let statuses = verify(&server, LIMIT / 2 - 2).await;
    assert!(!statuses.contains(&503) && !statuses.contains(&429), "{statuses:?}");
    for node in [&first, &second] {
        assert_eq!(cli(node.port, &["cluster", "setslot", &slot, "node", &to]), "OK");
    }
    // Two are left of twenty: with a new count, all would be allowed.
    let statuses = verify(&server, LIMIT).await;
    assert!(!statuses.contains(&503), "{statuses:?}");
    let gained = started.elapsed().as_secs() * LIMIT as u64 / 300;
    let expected = LIMIT.saturating_sub(3 + usize::try_from(gained).expect("few"));
    assert!(count_refused(&statuses) >= expected, "the count has moved along: {expected} of {statuses:?}");
}

/// Forwards connections to a port, each answer after a delay; returns the port to connect to.
fn start_slow_relay(to: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("the store answers");
            let streams = (client.try_clone().expect("a stream"), server.try_clone().expect("a stream"));
            std::thread::spawn(move || forward(streams.0, server, Duration::ZERO));
            std::thread::spawn(move || forward(streams.1, client, delay));
        }
    });
    port
}

fn forward(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(delay);
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn slow_store_counts_within_its_time_limit() {
    let redis = Redis::start(free_port(), &[]);
    let relay = start_slow_relay(redis.port, Duration::from_millis(60));
    let folder = TempFolder::new();
    let store = format!("url = \"redis://127.0.0.1:{relay}\"\non_failure = \"closed\"\ntimeout = \"2s\"");
    let server = serve(&folder, &store, &[]);
    let statuses = verify(&server, REQUESTS).await;
    assert!(!statuses.contains(&503) && count_refused(&statuses) >= REQUESTS - LIMIT - 2, "{statuses:?}");
}

#[tokio::test]
async fn store_beyond_its_time_limit_delays_one_request_in_a_second() {
    let redis = Redis::start(free_port(), &[]);
    let relay = start_slow_relay(redis.port, Duration::from_millis(700));
    let folder = TempFolder::new();
    let server = serve(&folder, &format!("url = \"redis://127.0.0.1:{relay}\"\ntimeout = \"300ms\""), &[]);
    let started = Instant::now();
    let statuses = verify(&server, LIMIT).await;
    assert!(!statuses.contains(&503) && !statuses.contains(&429), "each counts by itself: {statuses:?}");
    // Waiting for the store each time would take six seconds.
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test]
async fn store_that_is_down_at_the_start_is_used_later() {
    let (port, folder) = (free_port(), TempFolder::new());
    let store = format!("url = \"redis://127.0.0.1:{port}\"\ntimeout = \"2s\"");
    let arguments = ["--ephemeral", "--config", &configure(&folder, &store)];
    let server = Basalt::start(&mut basalt(), &arguments);
    assert_eq!(count_refused(&verify(&server, 2).await), 0);
    let redis = Redis::start(port, &[]);
    let started = Instant::now();
    while !cli(redis.port, &["keys", "*"]).contains("{basalt}:bucket:") {
        assert!(started.elapsed() < Duration::from_secs(10), "the store is not used");
        verify(&server, 1).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
