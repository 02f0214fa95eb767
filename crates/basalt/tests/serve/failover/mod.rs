//! Failover between two PostgreSQL servers, waiting at the start, and reads from a replica.

mod cluster;

use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bench::TestServer;
use crate::support::{Basalt, TempFolder, basalt, eventually, free_port};
use cluster::Cluster;

/// From the promotion, when the new primary accepts writes, to the first acknowledged write.
const RECOVERY: Duration = Duration::from_secs(1);
/// Requests do not wait for a new primary.
const NO_WAIT: &str = "[basalt.database]\nfailover_wait = \"0s\"\n";
/// The number of clients that write at the same time.
const CLIENTS: usize = 6;

/// What the clients of a load have seen.
#[derive(Default)]
struct Observed {
    /// Addresses of the users whose creation was acknowledged, with the times.
    acknowledged: Vec<(String, Instant)>,
    /// Responses that are neither a success nor a 503 with `Retry-After`.
    wrong: Vec<String>,
    refused: usize,
}

/// A client of the admin API.
#[derive(Clone)]
struct Admin {
    client: Client,
    url: String,
    key: String,
}

impl Admin {
    fn of(server: &Basalt) -> Self {
        Self { client: server.client.clone(), url: server.url("/auth/v1"), key: server.text("secret_key") }
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> reqwest::Response {
        let request = self.client.request(method, format!("{}{path}", self.url)).header("apikey", &self.key).json(body);
        request.send().await.expect("a response")
    }

    async fn create_user(&self, email: &str) -> reqwest::Response {
        self.send(Method::POST, "/admin/users", &json!({ "email": email, "email_confirm": true })).await
    }

    async fn list_emails(&self) -> Vec<String> {
        let response = self.send(Method::GET, "/admin/users?per_page=1000", &json!({})).await;
        let body: Value = response.json().await.expect("JSON");
        let users = body["users"].as_array().cloned().unwrap_or_default();
        users.iter().filter_map(|user| Some(user["email"].as_str()?.to_owned())).collect()
    }
}

/// Creates users one after the other until `is_over`.
async fn create_users(admin: Admin, client: usize, is_over: Arc<AtomicBool>) -> Observed {
    let mut observed = Observed::default();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let email = format!("user-{client}-{number}@example.com");
        let response = admin.create_user(&email).await;
        record(&mut observed, response, Some(email)).await;
    }
    observed
}

/// Refreshes a session again and again with the latest token that was received.
async fn refresh_session(admin: Admin, mut token: String, is_over: Arc<AtomicBool>) -> Observed {
    let mut observed = Observed::default();
    while !is_over.load(Ordering::Relaxed) {
        let body = json!({ "refresh_token": token });
        let response = admin.send(Method::POST, "/token?grant_type=refresh_token", &body).await;
        if let Some(body) = record(&mut observed, response, None).await {
            body["refresh_token"].as_str().expect("a token").clone_into(&mut token);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    observed
}

async fn record(observed: &mut Observed, response: reqwest::Response, email: Option<String>) -> Option<Value> {
    let (status, may_retry) = (response.status().as_u16(), response.headers().contains_key("retry-after"));
    let body: Value = response.json().await.unwrap_or_default();
    match status {
        200 => {
            observed.acknowledged.extend(email.map(|email| (email, Instant::now())));
            return Some(body);
        }
        503 if may_retry => observed.refused += 1,
        // A creation that was committed but not acknowledged is not repeated, so no address is taken.
        _ => observed.wrong.push(format!("{status} {body}")),
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_loses_no_acknowledged_write_and_signs_no_user_out() {
    let (mut cluster, scratch) = (Cluster::start("failover").await, TempFolder::new());
    let config = scratch.write("config.toml", &format!("{NO_WAIT}[auth.rate_limit]\ntoken_refresh = 1000000\n"));
    let arguments = ["--config", &config, "--data", &scratch.path("data"), "--database-url", &cluster.url()];
    let server = Basalt::serve(&arguments);
    let admin = Admin::of(&server);
    let sign_up = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let signed_up: Value = admin.send(Method::POST, "/signup", &sign_up).await.json().await.expect("JSON");
    let token = signed_up["refresh_token"].as_str().unwrap_or_else(|| panic!("{signed_up}")).to_owned();

    let is_over = Arc::<AtomicBool>::default();
    let creating = (0..CLIENTS).map(|number| tokio::spawn(create_users(admin.clone(), number, is_over.clone())));
    let creating: Vec<_> = creating.collect();
    let refreshing = tokio::spawn(refresh_session(admin.clone(), token, is_over.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.primary.kill();
    tokio::time::sleep(Duration::from_millis(700)).await;
    cluster.standby.promote();
    cluster.standby.wait_until("SELECT (NOT pg_is_in_recovery())::text").await;
    let promoted_at = Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    is_over.store(true, Ordering::Relaxed);

    let mut observed = vec![refreshing.await.expect("no panic")];
    for client in creating {
        observed.push(client.await.expect("no panic"));
    }
    let wrong: Vec<&String> = observed.iter().flat_map(|observation| &observation.wrong).collect();
    assert!(wrong.is_empty(), "{} wrong responses, such as {:?}", wrong.len(), wrong.first());
    assert!(observed.iter().map(|observation| observation.refused).sum::<usize>() > 0, "the failover was seen");
    let acknowledged = || observed.iter().flat_map(|observation| &observation.acknowledged);
    let first_after = acknowledged().map(|(_, at)| *at).filter(|at| *at > promoted_at).min().expect("writes succeed");
    let recovery = first_after - promoted_at;
    assert!(recovery <= RECOVERY, "recovered {recovery:?} after the promotion");
    for (email, _) in acknowledged() {
        let sql = format!("SELECT count(*)::text FROM auth.users WHERE email = '{email}'");
        assert_eq!(cluster.standby.query(&sql).await.as_deref(), Some("1"), "{email} is lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_wait_for_the_new_primary_and_are_executed_once() {
    let (mut cluster, scratch) = (Cluster::start("waiting").await, TempFolder::new());
    let server = Basalt::serve(&["--data", &scratch.path("data"), "--database-url", &cluster.url()]);
    let admin = Admin::of(&server);
    // Every client has a connection of the pool, which its next request finds dead.
    let create = |round: &'static str| {
        let admin = &admin;
        let clients = (0..CLIENTS).map(move |client| async move {
            admin.create_user(&format!("{round}-{client}@example.com")).await.status().as_u16()
        });
        futures::future::join_all(clients)
    };
    assert_eq!(create("before").await, [200; CLIENTS]);
    cluster.primary.kill();
    let promotion = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        cluster.standby.promote();
    };
    let (during, emails, ()) = tokio::join!(create("during"), admin.list_emails(), promotion);
    assert_eq!(during, [200; CLIENTS]);
    assert!(emails.len() >= CLIENTS, "{emails:?}");
    let sql = "SELECT (count(*) = count(DISTINCT email) AND count(*) = 12)::text FROM auth.users";
    assert_eq!(cluster.standby.query(sql).await.as_deref(), Some("true"));
}

/// The first of the servers that the settings name is the standby.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_api_writes_to_the_primary_and_reads_its_schema() {
    let (mut cluster, scratch) = (Cluster::start("data-api").await, TempFolder::new());
    let objects = "CREATE ROLE api_login LOGIN NOINHERIT; GRANT anon TO api_login;
        CREATE TABLE public.things (id int PRIMARY KEY);
        GRANT USAGE ON SCHEMA public TO anon; GRANT SELECT, INSERT ON public.things TO anon;";
    cluster.primary.execute(objects).await;
    let (first, second) = (cluster.standby.port, cluster.primary.port);
    let url = format!("postgres://api_login@127.0.0.1:{first},127.0.0.1:{second}/postgres");
    let config = scratch.write("config.toml", &format!("[basalt.data_api]\ndatabase_url = \"{url}\"\n"));
    let arguments = ["--config", &config, "--data", &scratch.path("data"), "--database-url", &cluster.url()];
    let server = Basalt::serve(&arguments);
    let key = server.text("publishable_key");
    let send = async |method: Method, path: &str, body: Value| {
        let request = server.client.request(method, server.url(&format!("/rest/v1{path}"))).header("apikey", &key);
        request.json(&body).send().await.expect("a response").status().as_u16()
    };
    assert_eq!(send(Method::POST, "/things", json!({"id": 1})).await, 201);

    cluster.primary.kill();
    cluster.standby.promote();
    let began = Instant::now();
    while send(Method::POST, "/things", json!({"id": 2})).await != 201 {
        assert!(began.elapsed() < Duration::from_secs(30), "the new primary is not written to");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The connection that listens follows, too.
    let later = "CREATE TABLE public.later (id int PRIMARY KEY); GRANT SELECT ON public.later TO anon; NOTIFY pgrst;";
    cluster.standby.execute(later).await;
    let began = Instant::now();
    while send(Method::GET, "/later", json!({})).await != 200 {
        assert!(began.elapsed() < Duration::from_mins(1), "the new schema is not read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_wait_only_at_the_beginning_of_an_outage() {
    let (mut cluster, scratch) = (Cluster::start("outage").await, TempFolder::new());
    let config = scratch.write("config.toml", "[basalt.database]\nfailover_wait = \"1s\"\n");
    let arguments = ["--config", &config, "--data", &scratch.path("data"), "--database-url", &cluster.url()];
    let server = Basalt::serve(&arguments);
    let admin = Admin::of(&server);
    assert_eq!(admin.create_user("ann@example.com").await.status(), 200);
    cluster.primary.kill();
    let mut waited = Vec::new();
    for _ in 0..2 {
        let began = Instant::now();
        let response = admin.create_user("bob@example.com").await;
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
        waited.push(began.elapsed());
    }
    assert!(waited[0] >= Duration::from_millis(900) && waited[1] < Duration::from_millis(500), "{waited:?}");
    cluster.standby.promote();
    cluster.standby.wait_until("SELECT (NOT pg_is_in_recovery())::text").await;
    let promoted_at = Instant::now();
    while admin.create_user("carl@example.com").await.status() != 200 {
        assert!(promoted_at.elapsed() < RECOVERY, "writes do not succeed again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_becomes_read_only_is_left_and_used_again() {
    let (cluster, scratch) = (Cluster::start("read-only").await, TempFolder::new());
    let config = scratch.write("config.toml", NO_WAIT);
    let arguments = ["--config", &config, "--data", &scratch.path("data"), "--database-url", &cluster.url()];
    let server = Basalt::serve(&arguments);
    let admin = Admin::of(&server);
    assert_eq!(admin.create_user("ann@example.com").await.status(), 200);
    let database = "ALTER DATABASE postgres SET default_transaction_read_only =";
    cluster.primary.execute(&format!("{database} on")).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'supabase_auth_admin'";
    cluster.primary.execute(end).await;
    for number in 0..5 {
        let response = admin.create_user(&format!("user-{number}@example.com")).await;
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
    }
    cluster.primary.execute(&format!("{database} off")).await;
    let back_at = Instant::now();
    while admin.create_user("bob@example.com").await.status() != 200 {
        assert!(back_at.elapsed() < RECOVERY, "writes do not succeed again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_after_a_change_has_it_and_lists_are_read_from_the_replica() {
    let (cluster, scratch) = (Cluster::start("replica").await, TempFolder::new());
    let replica = format!("postgres://supabase_auth_admin@127.0.0.1:{}/postgres", cluster.standby.port);
    let settings = format!("[basalt.database]\nreplica_url = \"{replica}\"\nreplica_max_lag = \"1s\"\n");
    let config = scratch.write("config.toml", &settings);
    let arguments = ["--config", &config, "--data", &scratch.path("data"), "--database-url", &cluster.url()];
    let server = Basalt::serve(&arguments);
    let admin = Admin::of(&server);
    for number in 0..20 {
        let email = format!("user-{number}@example.com");
        assert_eq!(admin.create_user(&email).await.status(), 200);
        assert!(admin.list_emails().await.contains(&email), "{email} is missing right after its creation");
    }
    // The replica is used once it has the latest change: the statement appears in its activity.
    let used = "SELECT (count(*) > 0)::text FROM pg_stat_activity
                WHERE application_name = 'basalt' AND query LIKE '%FROM users%'";
    let started_at = Instant::now();
    while cluster.standby.query(used).await.as_deref() != Some("true") {
        assert!(started_at.elapsed() < Duration::from_secs(10), "the replica is not read from");
        assert_eq!(admin.list_emails().await.len(), 20);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A replica that stands still is not used any more: a change through another connection is seen.
    cluster.standby.execute("SELECT pg_wal_replay_pause()").await;
    cluster
        .primary
        .execute("UPDATE auth.users SET email = 'changed@example.com' WHERE email = 'user-0@example.com'")
        .await;
    let started_at = Instant::now();
    while !admin.list_emails().await.contains(&"changed@example.com".to_owned()) {
        assert!(started_at.elapsed() < Duration::from_secs(3), "the list is older than the lag allows");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_server_creates_worlds_on_the_primary_of_a_list() {
    let cluster = Cluster::start("worlds").await;
    let (standby, primary) = (cluster.standby.port, cluster.primary.port);
    let url = format!("postgres://postgres@127.0.0.1:{standby},127.0.0.1:{primary}/postgres");
    let server = TestServer(Basalt::serve(&["--test", "--database-url", &url]));
    let (first, second) = (server.world(json!({})).await, server.world(json!({})).await);
    first.sign_up("ann@example.com").await;
    assert_eq!((first.users().await.len(), second.users().await.len()), (1, 0));
    let worlds = "SELECT (count(*) >= 2)::text FROM pg_database WHERE datname LIKE 'world\\__%'";
    assert_eq!(cluster.primary.query(worlds).await.as_deref(), Some("true"));
    // Every database is another one, although the list is not a URL of the web.
    let database = first.text("database_url");
    assert!(
        database.starts_with(&format!("postgres://postgres@127.0.0.1:{standby},127.0.0.1:{primary}/world_")),
        "{database}"
    );
}

#[test]
fn database_that_is_down_at_the_start_is_waited_for_until_a_signal() {
    let scratch = TempFolder::new();
    let url = format!("postgres://ann:secret@127.0.0.1:{}/postgres", free_port());
    let mut child = basalt()
        .args(["serve", "--port", "0", "--data", &scratch.path("data"), "--database-url", &url])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().expect("a status").is_none(), "it waits");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).expect("it runs");
    let began = Instant::now();
    let mut status = None;
    eventually("the signal ends the wait", || {
        status = child.try_wait().expect("a status");
        status.is_some()
    });
    assert!(began.elapsed() < Duration::from_secs(2));
    assert!(status.is_some_and(|status| status.success()));
    let mut log = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut log).expect("text");
    assert!(log.contains("waiting for the database") && log.contains("refused"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}
