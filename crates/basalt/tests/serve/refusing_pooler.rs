//! Servers behind a pooler that has lost the database.
//!
//! It refuses statements, and connects again when it has refused one. The pooler of these tests behaves as `PgBouncer` does after a failed attempt to connect.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::support::{Basalt, Gotrue};

/// The shortest time between two attempts of the pooler to connect.
const LOGIN_RETRY: Duration = Duration::from_millis(200);
/// The time that an attempt takes.
const LOGIN: Duration = Duration::from_millis(20);
/// The interval of a load balancer's probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// From the return of the database to the first probe that finds the server ready.
const RECOVERY: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] = b"SFATAL\0C08P01\0Mserver login has been failing, try again later (server_login_retry)\0\0";

/// A pooler in front of a database that is always there, but cannot be reached while `is_away`.
#[derive(Default)]
struct Pooler {
    is_away: AtomicBool,
    /// Whether the latest attempt to connect failed.
    is_failing: AtomicBool,
    /// Whether the next transaction fails after its `BEGIN`, by a setting that the database refuses.
    spoils_begin: AtomicBool,
    tried_at: Mutex<Option<Instant>>,
}

impl Pooler {
    /// Starts it and returns a URL of the database through it.
    async fn start(database_url: &str) -> (Arc<Self>, String) {
        let mut url = url::Url::parse(database_url).expect("a URL");
        let behind = (url.host_str().expect("a host").to_owned(), url.port().expect("a port"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        url.set_port(Some(listener.local_addr().expect("an address").port())).expect("a port");
        url.set_query(Some("sslmode=disable&statement_cache_mode=describe"));
        let pooler = Arc::new(Self::default());
        let accepting = Arc::clone(&pooler);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(behind.clone()).await.expect("the database answers");
                tokio::spawn(Arc::clone(&accepting).serve(client, server));
            }
        });
        (pooler, url.into())
    }

    fn lose_database(&self) {
        self.is_away.store(true, Ordering::SeqCst);
        self.is_failing.store(true, Ordering::SeqCst);
    }

    fn return_database(&self) {
        self.is_away.store(false, Ordering::SeqCst);
    }

    /// Begins an attempt to connect, unless the latest one is too recent.
    fn try_login(self: &Arc<Self>) {
        let mut tried_at = self.tried_at.lock().unwrap_or_else(PoisonError::into_inner);
        if tried_at.is_some_and(|at| at.elapsed() < LOGIN_RETRY) {
            return;
        }
        *tried_at = Some(Instant::now());
        let pooler = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(LOGIN).await;
            pooler.is_failing.store(pooler.is_away.load(Ordering::SeqCst), Ordering::SeqCst);
        });
    }

    /// Passes messages on.
    ///
    /// Outside transactions statements are refused while the database cannot be reached.
    async fn serve(self: Arc<Self>, client: TcpStream, server: TcpStream) {
        let ((mut from_client, to_client), (from_server, mut to_server)) = (client.into_split(), server.into_split());
        let to_client = Arc::new(tokio::sync::Mutex::new(to_client));
        // The state of the session: idle at the start.
        let status = Arc::new(AtomicU8::new(b'I'));
        tokio::spawn(pass_answers(from_server, Arc::clone(&to_client), Arc::clone(&status)));
        let mut has_tag = false;
        while let Ok((tag, mut message)) = read_message(&mut from_client, has_tag).await {
            has_tag = true;
            if tag == Some(b'Q') && self.spoils_begin.load(Ordering::SeqCst) && spoil_begin(&mut message) {
                self.spoils_begin.store(false, Ordering::SeqCst);
            }
            let begins = matches!(tag, Some(b'Q' | b'P')) && status.load(Ordering::SeqCst) == b'I';
            if begins && self.is_failing.load(Ordering::SeqCst) {
                let mut to_client = to_client.lock().await;
                let length = u32::try_from(REFUSAL.len() + 4).expect("a short message");
                let refusal = [b"E", &length.to_be_bytes()[..], REFUSAL].concat();
                drop(to_client.write_all(&refusal).await);
                drop(to_client.shutdown().await);
                self.try_login();
                return;
            }
            if to_server.write_all(&message).await.is_err() {
                return;
            }
        }
    }
}

async fn pass_answers(
    mut from_server: OwnedReadHalf,
    to_client: Arc<tokio::sync::Mutex<OwnedWriteHalf>>,
    status: Arc<AtomicU8>,
) {
    while let Ok((tag, message)) = read_message(&mut from_server, true).await {
        if let (Some(b'Z'), Some(state)) = (tag, message.last()) {
            status.store(*state, Ordering::SeqCst);
        }
        if to_client.lock().await.write_all(&message).await.is_err() {
            return;
        }
    }
}

/// Makes the time limit of a transaction negative; returns whether the message begins one.
fn spoil_begin(message: &mut [u8]) -> bool {
    const LIMIT: &[u8] = b"statement_timeout = ";
    let has_begin = message.windows(6).any(|part| part == b"BEGIN;");
    let Some(at) = message.windows(LIMIT.len()).position(|part| part == LIMIT).filter(|_| has_begin) else {
        return false;
    };
    message[at + LIMIT.len() - 1] = b'-';
    true
}

/// Reads a message: the first of a client has a length only, each other one a tag before it.
async fn read_message(from: &mut OwnedReadHalf, has_tag: bool) -> std::io::Result<(Option<u8>, Vec<u8>)> {
    let tag = if has_tag { Some(from.read_u8().await?) } else { None };
    let length = from.read_u32().await?;
    let mut message: Vec<u8> = tag.into_iter().chain(length.to_be_bytes()).collect();
    let start = message.len();
    message.resize(start + length as usize - 4, 0);
    from.read_exact(&mut message[start..]).await?;
    Ok((tag, message))
}

/// A server behind a pooler, and what keeps the database.
async fn start_behind_pooler() -> (Basalt, Arc<Pooler>, Gotrue) {
    let database = Basalt::serve(&["--test"]);
    let (pooler, url) = Pooler::start(&database.text("database_url_tcp")).await;
    let server = Gotrue::start(&database, &[("DATABASE_URL", &url)]);
    (database, pooler, server)
}

fn client() -> Client {
    Client::builder().no_proxy().build().expect("a client")
}

async fn is_ready(client: &Client, server: &Gotrue) -> bool {
    let answer = client.get(format!("{}/readyz", server.url)).send().await.expect("an answer");
    answer.status().is_success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_behind_pooler_is_ready_within_a_second_of_its_database() {
    let (_database, pooler, server) = start_behind_pooler().await;
    let client = client();
    assert!(is_ready(&client, &server).await);
    pooler.lose_database();
    let mut probes = tokio::time::interval(PROBE_INTERVAL);
    let lost_at = Instant::now();
    while is_ready(&client, &server).await {
        assert!(lost_at.elapsed() < Duration::from_secs(10), "the loss is never noticed");
        probes.tick().await;
    }
    for _ in 0..4 {
        probes.tick().await;
        assert!(!is_ready(&client, &server).await);
    }
    pooler.return_database();
    let returned_at = Instant::now();
    while !is_ready(&client, &server).await {
        assert!(returned_at.elapsed() < RECOVERY, "not ready after {:?}", returned_at.elapsed());
        probes.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_that_the_pooler_refused_is_repeated() {
    let (_database, pooler, server) = start_behind_pooler().await;
    let client = client();
    let post = async |path: &str, body: Value| {
        let answer = client.post(format!("{}{path}", server.url)).json(&body).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap_or_default())
    };
    let ann = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let (status, session) = post("/signup", ann).await;
    assert_eq!(status, 200, "{session}");
    pooler.lose_database();
    pooler.return_database();
    // One statement, which writes.
    let token = json!({ "refresh_token": session["refresh_token"] });
    let (status, refreshed) = post("/token?grant_type=refresh_token", token).await;
    assert_eq!((status, refreshed["user"]["email"].as_str()), (200, Some("ann@example.com")), "{refreshed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_failed_at_its_begin_does_not_spoil_later_requests() {
    let (_database, pooler, server) = start_behind_pooler().await;
    let client = client();
    let body = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let answer = client.post(format!("{}/signup", server.url)).json(&body).send().await.expect("an answer");
    let session: Value = answer.json().await.expect("a session");
    let token = session["access_token"].as_str().expect("a token");
    let change =
        client.put(format!("{}/user", server.url)).bearer_auth(token).json(&json!({ "email": "eve@example.com" }));
    pooler.spoils_begin.store(true, Ordering::SeqCst);
    assert_eq!(change.send().await.expect("an answer").status(), 503);
    assert!(!pooler.spoils_begin.load(Ordering::SeqCst), "its transaction failed");
    for _ in 0..5 {
        let answer = client.get(format!("{}/user", server.url)).bearer_auth(token).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
    }
}
