//! Requests that send messages, with a shared store of limits.
//!
//! Their round trips, their refusals, and what does not count.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::shared_limits::Redis;
use super::support::{Basalt, TempFolder, free_port};
use super::telemetry::{metrics, value};

/// The quota of e-mails.
const QUOTA: usize = 5;
/// The window of the quota, in seconds.
const HOUR: u64 = 3600;

/// A mail server that is down; mails wait for it. Without one there is no quota.
const MAIL_SERVER: &str = "[auth.email.smtp]\nhost = \"127.0.0.1\"\nport = 9\nuser = \"\"\npass = \"\"\n\
                           admin_email = \"a@example.com\"\nsender_name = \"a\"\n";

/// A server with a shared store of limits, and the port of its metrics.
struct Server {
    basalt: Basalt,
    port: u16,
    _folder: TempFolder,
}

impl Server {
    fn start(store: &str) -> Self {
        Self::start_with(store, "5s")
    }

    /// Starts a server that waits for the store for at most this time.
    fn start_with(store: &str, timeout: &str) -> Self {
        let (folder, port) = (TempFolder::new(), free_port());
        let text = format!(
            "{MAIL_SERVER}[auth.email]\nenable_confirmations = true\nmax_frequency = \"1h\"\n\
             [auth.rate_limit]\nemail_sent = {QUOTA}\n\
             [basalt]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
             [basalt.limits]\nurl = \"{store}\"\ntimeout = \"{timeout}\"\non_failure = \"closed\"\n\
             [basalt.metrics]\nport = {port}\n"
        );
        let config = folder.write("config.toml", &text);
        Self { basalt: Basalt::serve(&["--ephemeral", "--config", &config]), port, _folder: folder }
    }

    /// Sends a request; returns status, message and the calls of the store meanwhile.
    async fn post(&self, path: &str, body: Value) -> (u16, String, f64) {
        let before = self.count_calls().await;
        let (status, answer) = self.basalt.auth(path, Some(body)).await;
        let message = answer["msg"].as_str().or(answer["message"].as_str()).unwrap_or_default().to_owned();
        (status, message, self.count_calls().await - before)
    }

    async fn count_calls(&self) -> f64 {
        let text = metrics(&self.basalt.client, self.port).await;
        value(&text, "basalt_limit_store_calls_total{outcome=\"answered\"}")
    }

    /// Requests a code for a new user; returns status and message.
    async fn request_code(&self, name: &str) -> (u16, String) {
        let (status, message, _) = self.post("/otp", json!({ "email": format!("{name}@example.com") })).await;
        (status, message)
    }
}

/// Waits if the window of the quota ends soon.
#[expect(clippy::disallowed_methods, reason = "the store counts by the time of this machine")]
async fn wait_for_next_window() {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
    let left = HOUR - since_epoch % HOUR;
    if left < 60 {
        tokio::time::sleep(Duration::from_secs(left)).await;
    }
}

async fn assert_messages_are_counted(store: &str) {
    wait_for_next_window().await;
    let server = Server::start(store);
    let ann = json!({ "email": "ann@example.com" });
    // The request, its recipient, and the quota.
    let (status, message, calls) = server.post("/otp", ann.clone()).await;
    assert_eq!((status, calls), (200, 3.0), "{message}");
    for path in ["/otp", "/recover", "/magiclink"] {
        let (status, message, calls) = server.post(path, ann.clone()).await;
        assert_eq!((status, calls), (429, 2.0), "{path}: {message}");
        assert!(message.contains("you can only request this after"), "{path}: {message}");
    }
    let eve = json!({ "email": "eve@example.com", "password": "correct horse battery" });
    let (status, message, calls) = server.post("/signup", eve).await;
    assert_eq!((status, calls), (200, 3.0), "{message}");

    // No message is requested, so none is taken from the quota, and the next request is not too early.
    for number in 0..=QUOTA {
        let missing = json!({ "email": format!("user{number}@example.com"), "create_user": false });
        let (status, message, _) = server.post("/otp", missing).await;
        assert_eq!(status, 422, "{message}");
    }
    for number in 0..QUOTA - 2 {
        let (status, message) = server.request_code(&format!("user{number}")).await;
        assert_eq!(status, 200, "{number}: {message}");
    }
    let (status, message) = server.request_code("late").await;
    assert_eq!(status, 429, "{message}");
    assert!(message.starts_with("email rate limit exceeded"), "{message}");
}

/// Guesses at the code of this address and requests it, from networks of their own.
const GUESSED: &str = "bob@example.com";

impl Server {
    async fn post_from(&self, network: usize, path: &str, body: &Value) -> u16 {
        let request = self.basalt.client.post(self.basalt.url(&format!("/auth/v1{path}"))).json(body);
        let request = request.header("x-forwarded-for", format!("192.0.{network}.1"));
        let answer = request.header("apikey", self.basalt.text("publishable_key")).send().await;
        answer.expect("an answer").status().as_u16()
    }

    async fn guess_from(&self, network: usize) -> u16 {
        self.post_from(network, "/verify", &json!({ "type": "email", "email": GUESSED, "token": "123456" })).await
    }
}

async fn assert_requests_are_answered_as_without_store(store: &str) {
    wait_for_next_window().await;
    let server = Server::start(store);
    // Each network has a third of the guesses.
    for network in 1..=3 {
        while server.guess_from(network).await != 429 {}
    }
    assert_eq!(server.guess_from(4).await, 429, "all guesses are used");
    let data: Value = (0..5_000).map(|number| (number.to_string(), json!(number))).collect();
    assert_eq!(server.post_from(4, "/otp", &json!({ "email": GUESSED, "data": data })).await, 400);
    assert_eq!(server.guess_from(4).await, 429, "the failed request sent no new code");

    // What follows the first value of a body is not read.
    let long = format!("{{\"email\":\"long@example.com\"}}{}", " ".repeat(1 << 20));
    let request = server.basalt.client.post(server.basalt.url("/auth/v1/magiclink")).body(long);
    let request = request.header("apikey", server.basalt.text("publishable_key"));
    assert_eq!(request.send().await.expect("an answer").status(), 200);

    // A message that is sent grants guesses to the network that requested it.
    assert_eq!(server.post_from(4, "/otp", &json!({ "email": GUESSED })).await, 200);
    assert_eq!(server.guess_from(4).await, 403, "the code is wrong, and may be guessed");
}

#[tokio::test]
async fn requests_for_messages_are_answered_as_without_store_with_redis() {
    let redis = Redis::start(free_port(), &[]);
    assert_requests_are_answered_as_without_store(&redis.url()).await;
}

#[tokio::test]
async fn requests_for_messages_are_answered_as_without_store_with_postgres() {
    assert_requests_are_answered_as_without_store("postgres").await;
}

#[tokio::test]
async fn each_check_of_a_message_is_one_round_trip_with_redis() {
    let redis = Redis::start(free_port(), &[]);
    assert_messages_are_counted(&redis.url()).await;
}

#[tokio::test]
async fn each_check_of_a_message_is_one_round_trip_with_postgres() {
    assert_messages_are_counted("postgres").await;
}

/// Requests messages until one is sent.
///
/// On a busy machine, the first ones can take longer than the store may.
async fn wait_until_store_answers(server: &Server) {
    for attempt in 0.. {
        let email = format!("bob{attempt}@example.com");
        match server.post_from(1, "/otp", &json!({ "email": email })).await {
            200 => return,
            status => assert!(status == 503 && attempt < 20, "{status} after {attempt} requests"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Requests a message until it is sent, and asserts that no request before was counted.
async fn assert_refused_request_is_not_counted(server: &Server) {
    let ann = json!({ "email": "ann@example.com" });
    for attempt in 0.. {
        match server.post_from(7, "/otp", &ann).await {
            200 => break,
            status => assert!(status == 503 && attempt < 100, "{status} after {attempt} requests"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.post_from(7, "/otp", &ann).await, 429, "a sent message counts");
}

#[tokio::test]
async fn request_that_redis_answers_too_late_is_not_counted() {
    let redis = Redis::start(free_port(), &[]);
    let server = Server::start_with(&redis.url(), "300ms");
    wait_until_store_answers(&server).await;
    redis.signal(Signal::STOP);
    assert_eq!(server.post_from(7, "/otp", &json!({ "email": "ann@example.com" })).await, 503);
    redis.signal(Signal::CONT);
    assert_refused_request_is_not_counted(&server).await;
}

#[tokio::test]
async fn request_that_postgres_answers_too_late_is_not_counted() {
    let server = Server::start_with("postgres", "300ms");
    wait_until_store_answers(&server).await;
    let mut other = PgConnection::connect(&server.basalt.text("database_url")).await.expect("connected");
    let mut lock = other.begin().await.expect("a transaction");
    sqlx::raw_sql("LOCK TABLE basalt.limit_counters").execute(&mut *lock).await.expect("locked");
    assert_eq!(server.post_from(7, "/otp", &json!({ "email": "ann@example.com" })).await, 503);
    lock.rollback().await.expect("unlocked");
    assert_refused_request_is_not_counted(&server).await;
}
