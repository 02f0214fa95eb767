//! Requests that send messages, with a shared store of limits.
//!
//! Their round trips, their refusals, and what they return to the store.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

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
        let (folder, port) = (TempFolder::new(), free_port());
        let text = format!(
            "{MAIL_SERVER}[auth.email]\nenable_confirmations = true\nmax_frequency = \"1h\"\n\
             [auth.rate_limit]\nemail_sent = {QUOTA}\n\
             [basalt.limits]\nurl = \"{store}\"\ntimeout = \"5s\"\non_failure = \"closed\"\n\
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

async fn assert_messages_are_counted_together(store: &str) {
    wait_for_next_window().await;
    let server = Server::start(store);
    let ann = json!({ "email": "ann@example.com" });
    let (status, message, calls) = server.post("/otp", ann.clone()).await;
    assert_eq!((status, calls), (200, 1.0), "{message}");
    for path in ["/otp", "/recover", "/magiclink"] {
        let (status, message, calls) = server.post(path, ann.clone()).await;
        assert_eq!((status, calls), (429, 1.0), "{path}: {message}");
        assert!(message.contains("you can only request this after"), "{path}: {message}");
    }
    // Its password is checked between the two.
    let eve = json!({ "email": "eve@example.com", "password": "correct horse battery" });
    let (status, message, calls) = server.post("/signup", eve).await;
    assert_eq!((status, calls), (200, 2.0), "{message}");

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

#[tokio::test]
async fn message_and_request_are_counted_in_one_round_trip_with_redis() {
    let redis = Redis::start(free_port(), &[]);
    assert_messages_are_counted_together(&redis.url()).await;
}

#[tokio::test]
async fn message_and_request_are_counted_in_one_round_trip_with_postgres() {
    assert_messages_are_counted_together("postgres").await;
}
