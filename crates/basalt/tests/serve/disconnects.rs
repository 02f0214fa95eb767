//! A disconnect in the middle of a request cancels nothing and does not affect other clients.

use std::io::Write;
use std::net::TcpStream;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{Basalt, TempFolder, free_port};
use crate::telemetry::{metrics, value};

/// Sends a request; the connection ends with what is returned, whatever the server is doing.
fn send(port: u16, path: &str, headers: &str, body: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())?;
    Ok(stream)
}

/// Sends a request and closes the connection after `wait`.
fn disconnect(port: u16, path: &str, headers: &str, body: &str, wait: Duration) -> std::io::Result<()> {
    let stream = send(port, path, headers, body)?;
    std::thread::sleep(wait);
    drop(stream);
    Ok(())
}

fn port(basalt: &Basalt) -> u16 {
    basalt.text("url").rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}

async fn create(basalt: &Basalt, email: &str) -> (u16, Value) {
    let url = basalt.url("/auth/v1/admin/users");
    let request = basalt.client.post(url).header("apikey", basalt.text("secret_key"));
    let body = json!({"email": email, "email_confirm": true});
    let answer = request.json(&body).send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn user_exists(basalt: &Basalt, id: &str) -> bool {
    let url = basalt.url(&format!("/auth/v1/admin/users/{id}"));
    let request = basalt.client.get(url).header("apikey", basalt.text("secret_key"));
    request.send().await.expect("an answer").status() == 200
}

#[tokio::test]
async fn acknowledged_writes_survive_clients_that_disconnect() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\nenable_anonymous_sign_ins = true\n[basalt]\n");
    let basalt = Basalt::serve(&["--ephemeral", "--config", &config]);
    let (port, key) = (port(&basalt), basalt.text("publishable_key"));
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..3u64)
        .map(|client| {
            let (is_over, sent, key) = (Arc::clone(&is_over), Arc::clone(&sent), key.clone());
            std::thread::spawn(move || {
                for round in 0..4_000u64 {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = format!("{{\"description\":\"Request {client} {round}, please.\"}}");
                    let wait = Duration::from_micros((round * 173 + client * 61) % 3_000);
                    let headers = format!("apikey: {key}\r\n");
                    if disconnect(port, "/functions/v1/send-submission", &headers, &text, wait).is_ok() {
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for number in 0..150 {
        let (status, user) = create(&basalt, &format!("user{number}@example.com")).await;
        if status == 200 {
            ids.push(user["id"].as_str().expect("an id").to_owned());
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("a client");
    }
    assert!(sent.load(Ordering::Relaxed) > 50, "the clients hardly disconnected");
    assert!(ids.len() > 100, "only {} users were created", ids.len());
    for id in ids {
        assert!(user_exists(&basalt, &id).await, "the acknowledged user {id} is missing");
    }
    for number in 0..10 {
        let (status, user) = create(&basalt, &format!("later{number}@example.com")).await;
        assert_eq!(status, 200, "{user}");
        assert!(user_exists(&basalt, user["id"].as_str().expect("an id")).await);
    }
}

#[tokio::test]
async fn passwords_of_disconnected_clients_are_not_hashed() {
    const CLIENTS: u32 = 110;
    let (scratch, metrics_port) = (TempFolder::new(), free_port());
    let limits = "[auth.rate_limit]\nsign_in_sign_ups = 1000\ntoken_refresh = 1000\n";
    let config = scratch.write("config.toml", &format!("{limits}[basalt.metrics]\nport = {metrics_port}\n"));
    let basalt = Basalt::serve(&["--ephemeral", "--config", &config]);
    let (port, headers) = (port(&basalt), format!("apikey: {}\r\n", basalt.text("publishable_key")));
    let path = "/auth/v1/token?grant_type=password";
    let started = Instant::now();
    for number in 0..CLIENTS {
        let body = json!({"email": format!("user{number}@example.com"), "password": "a long password"});
        disconnect(port, path, &headers, &body.to_string(), Duration::from_millis(4)).expect("sent");
    }
    let sent = started.elapsed().as_secs_f64();
    let body = json!({"email": "honest@example.com", "password": "a long password"});
    let (status, answer) = basalt.auth("/token?grant_type=password", Some(body)).await;
    assert_eq!(status, 400, "{answer}");
    let text = metrics(&basalt.client, metrics_port).await;
    let [count, sum] = ["count", "sum"].map(|of| value(&text, &format!("basalt_hashing_duration_seconds_{of}")));
    assert!(count >= 1.0, "the honest client's password was hashed: {text}");
    // Afterwards the threads finish what they have begun, and hash the password of the honest client.
    let threads = f64::from(u32::try_from(std::thread::available_parallelism().map_or(1, NonZero::get)).expect("few"));
    let most = threads * 2.0f64.mul_add(sum / count, sent);
    assert!(sum < most, "{count} passwords were hashed in {sum} s, {sent} s of which their clients were there");
}

#[tokio::test]
async fn request_completes_after_disconnect() {
    let basalt = Basalt::serve(&["--ephemeral"]);
    let key = basalt.text("secret_key");
    let mut lock = PgConnection::connect(&basalt.text("database_url")).await.expect("connected");
    let mut observer = PgConnection::connect(&basalt.text("database_url")).await.expect("connected");
    // Users can be read but not stored.
    sqlx::raw_sql("BEGIN; LOCK TABLE auth.users IN EXCLUSIVE MODE").execute(&mut lock).await.expect("locked");
    let body = json!({"email": "gone@example.com", "email_confirm": true, "password": "correct horse battery"});
    let headers = format!("apikey: {key}\r\n");
    let client = send(port(&basalt), "/auth/v1/admin/users", &headers, &body.to_string()).expect("sent");
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'supabase_auth_admin' AND wait_event_type = 'Lock'";
    until("the statement that stores the user waits", async || {
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut observer).await.expect("a number") > 0
    })
    .await;
    drop(client);
    // The server has long seen the end of the connection when it can store the user.
    tokio::time::sleep(Duration::from_millis(200)).await;
    sqlx::raw_sql("COMMIT").execute(&mut lock).await.expect("unlocked");
    until("the user is stored", async || {
        let url = basalt.url("/auth/v1/admin/users");
        let users = basalt.client.get(url).header("apikey", &key).send().await.expect("an answer");
        users.text().await.expect("a body").contains("gone@example.com")
    })
    .await;
}

/// Fails unless this holds within 20 seconds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
