//! The data API while its database is stopped, crashes, and comes back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, postgres_pid};

/// The number of clients that write and read at the same time.
const CLIENTS: usize = 6;
/// How long the database and its supervisor may take until a request succeeds again.
const RECOVERY: Duration = Duration::from_secs(20);

/// What a client has seen.
#[derive(Default)]
struct Observed {
    /// The rows whose insertion was acknowledged.
    acknowledged: Vec<String>,
    refused: usize,
    /// Answers that are neither right nor a 503 or 504 with `Retry-After` and a code of an outage.
    wrong: Vec<String>,
}

/// Codes of PostgREST for a connection that cannot be had, and of PostgreSQL for a session that an operator ends.
fn is_code_of_outage(code: &str) -> bool {
    code.starts_with("PGRST00") || code == "57P01"
}

#[derive(Clone)]
struct Caller {
    client: Client,
    url: String,
    key: String,
}

impl Caller {
    /// Returns the rows of an answer; `None` if the request was refused because of the outage.
    async fn send(&self, observed: &mut Observed, method: Method, query: &str, body: Option<Value>) -> Option<Value> {
        let request = self.client.request(method, format!("{}{query}", self.url)).header("apikey", &self.key);
        let request = request.header("prefer", "return=representation");
        let request = if let Some(body) = body { request.json(&body) } else { request };
        let response = request.send().await.expect("a response");
        let (status, may_retry) = (response.status().as_u16(), response.headers().contains_key("retry-after"));
        let answer: Value = response.json().await.unwrap_or_default();
        match status {
            200 | 201 => return Some(answer),
            503 | 504 if may_retry && answer["code"].as_str().is_some_and(is_code_of_outage) => {
                observed.refused += 1;
            }
            _ => observed.wrong.push(format!("{status} {answer}")),
        }
        None
    }

    /// Writes rows one after the other, and reads each, until `is_over`.
    async fn write_and_read(self, client: usize, is_over: Arc<AtomicBool>) -> Observed {
        let mut observed = Observed::default();
        for number in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let id = format!("{client}-{number}");
            let row = json!([{ "id": id }]);
            let written = self.send(&mut observed, Method::POST, "", Some(json!({ "id": id }))).await;
            let read = self.send(&mut observed, Method::GET, &format!("?id=eq.{id}"), None).await;
            match (&written, &read) {
                // A write that was refused may have been committed.
                (Some(written), Some(read)) if *written == row && *read == row => {}
                (Some(written), None) if *written == row => {}
                (None, Some(read)) if *read == row || *read == json!([]) => {}
                (None, None) => {}
                _ => observed.wrong.push(format!("{id}: written {written:?}, read {read:?}")),
            }
            if written.is_some() {
                observed.acknowledged.push(id);
            } else {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        observed
    }

    /// Waits until a request succeeds.
    async fn wait_until_served(&self) {
        let began = Instant::now();
        while self.send(&mut Observed::default(), Method::GET, "?limit=1", None).await.is_none() {
            assert!(began.elapsed() < RECOVERY, "requests do not succeed again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns the process of PostgreSQL, when it is another one than before.
async fn wait_for_other(data: &std::path::Path, before: Pid) -> Pid {
    let began = Instant::now();
    loop {
        match postgres_pid(data) {
            Some(pid) if pid != before => return pid,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        assert!(began.elapsed() < RECOVERY, "PostgreSQL is not started again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outages_under_traffic_are_clear_refusals_and_lose_no_acknowledged_write() {
    let folder = TempFolder::new();
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    let config = folder.write("supabase/config.toml", "");
    folder
        .write("supabase/migrations/20260101000000_entries.sql", "CREATE TABLE public.entries (id text PRIMARY KEY);");
    let server = Basalt::serve(&["--config", &config, "--data", &folder.path("data")]);
    let data = folder.0.join("data");
    let caller =
        Caller { client: server.client.clone(), url: server.url("/rest/v1/entries"), key: server.text("secret_key") };
    caller.wait_until_served().await;
    let is_over = Arc::<AtomicBool>::default();
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(caller.clone().write_and_read(client, Arc::clone(&is_over)))).collect();
    let mut postgres = postgres_pid(&data).expect("PostgreSQL runs");
    // A fast stop, as for an update, and the end of the whole server at once.
    for signal in [Signal::INT, Signal::KILL] {
        tokio::time::sleep(Duration::from_millis(700)).await;
        kill_process(postgres, signal).expect("it lives");
        postgres = wait_for_other(&data, postgres).await;
        caller.wait_until_served().await;
    }
    // A session that crashes takes all others with it.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut database = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let session =
        "SELECT pid FROM pg_stat_activity WHERE usename = 'authenticator' ORDER BY backend_start DESC LIMIT 1";
    let session: i32 = sqlx::query_scalar(session).fetch_one(&mut database).await.expect("a session");
    kill_process(Pid::from_raw(session).expect("a process"), Signal::KILL).expect("it lives");
    let began = Instant::now();
    while sqlx::query("SELECT 1").execute(&mut database).await.is_ok() {
        assert!(began.elapsed() < RECOVERY, "the crash ends all sessions");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    caller.wait_until_served().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    is_over.store(true, Ordering::Relaxed);

    let observed: Vec<Observed> =
        futures::future::join_all(clients).await.into_iter().map(|client| client.expect("no panic")).collect();
    let wrong: Vec<&String> = observed.iter().flat_map(|client| &client.wrong).collect();
    assert!(wrong.is_empty(), "{} wrong answers, such as {:?}", wrong.len(), wrong.first());
    assert!(observed.iter().map(|client| client.refused).sum::<usize>() > 0, "the outages were seen");
    let mut database = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let kept: Vec<String> =
        sqlx::query_scalar("SELECT id FROM public.entries").fetch_all(&mut database).await.expect("rows");
    let kept: BTreeSet<&String> = kept.iter().collect();
    let acknowledged: Vec<&String> = observed.iter().flat_map(|client| &client.acknowledged).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|id| !kept.contains(**id)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged writes are lost: {lost:?}", lost.len(), acknowledged.len());
    assert!(acknowledged.len() > 100, "{} writes", acknowledged.len());
}
