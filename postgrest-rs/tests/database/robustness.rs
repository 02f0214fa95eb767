//! A database that restarts, replicas, time limits of roles, and many callers of a small pool.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response};
use platform::testing::postgres::postgres_command;
use postgrest_rs::service::DataApi;
use postgrest_rs::service::dependencies::Dependencies;
use postgrest_rs::upkeep::{self, ReloadRequests};

use crate::api::{TestApi, collect, get, sources, text};
use crate::cluster::{Cluster, cluster};

const ITEMS: &str = "CREATE TABLE items (id int PRIMARY KEY, name text); INSERT INTO items VALUES (-1, 'first');";

async fn post(api: &DataApi, target: &str, body: String) -> Response<Bytes> {
    let request = Request::builder().method(Method::POST).uri(target).header("prefer", "resolution=merge-duplicates");
    let (parts, ()) = request.body(()).unwrap().into_parts();
    collect(api.handle(&parts, Bytes::from(body)).await).await
}

/// The statuses of requests that go on until they are stopped, by status. Each refusal says when to come back.
async fn keep_sending<F: Future<Output = Response<Bytes>>>(
    stop: &AtomicBool,
    send: impl Fn(u32) -> F,
) -> Vec<(u32, u16)> {
    let mut answers = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let answer = send(number).await;
        let status = answer.status().as_u16();
        if status >= 500 {
            assert!([503, 504].contains(&status), "{status} {}", text(&answer));
            assert_eq!(answer.headers()["retry-after"], "1");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        answers.push((number, status));
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_of_the_database_loses_no_acknowledged_write() {
    let cluster = Cluster::start("restart");
    // Clusters of tests lose the latest commits in a crash, unless the role says otherwise.
    let objects = format!("{ITEMS} ALTER ROLE api_login SET synchronous_commit = on;");
    let api = Arc::new(TestApi::start_in(&cluster, &objects, &[("db-pool", "4")]).await);
    let upkeep = tokio::spawn(upkeep::run(Arc::clone(&api.api), None, Arc::new(ReloadRequests::default())));
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (api, stop) = (Arc::clone(&api), Arc::clone(&stop));
            tokio::spawn(async move { keep_sending(&stop, |_| get(&api.api, "/items?id=eq.-1")).await })
        })
        .collect();
    let writers: Vec<_> = (0..3_u32)
        .map(|writer| {
            let (api, stop) = (Arc::clone(&api), Arc::clone(&stop));
            tokio::spawn(async move {
                let insert = |number| {
                    let (api, id) = (Arc::clone(&api), writer * 1_000_000 + number);
                    async move { post(&api.api, "/items", format!("{{\"id\": {id}}}")).await }
                };
                keep_sending(&stop, insert).await
            })
        })
        .collect();
    for mode in ["fast", "immediate"] {
        tokio::time::sleep(Duration::from_millis(300)).await;
        restart(&cluster, mode).await;
    }
    // After the restart everything is answered again, also what is written.
    let back = Instant::now();
    while post(&api.api, "/items", "{\"id\": -2}".to_owned()).await.status() != 201 {
        assert!(back.elapsed() < Duration::from_secs(10), "no write succeeds");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::Relaxed);
    let mut reads: HashMap<u16, usize> = HashMap::new();
    for reader in readers {
        for (_, status) in reader.await.unwrap() {
            *reads.entry(status).or_default() += 1;
        }
    }
    assert!(reads[&200] > 20, "{reads:?}");
    let admin = cluster.connect(&api.name).await;
    let query = "SELECT array_agg(id) FROM items";
    let stored: Vec<i32> = admin.query_one(query, &[]).await.unwrap().get(0);
    for (writer, written) in (0..).zip(writers) {
        let written = written.await.unwrap();
        let acknowledged = written.iter().filter(|(_, status)| *status == 201);
        let lost: Vec<_> = acknowledged
            .clone()
            .filter(|(number, _)| !stored.contains(&(writer * 1_000_000 + *number).cast_signed()))
            .collect();
        assert!(acknowledged.count() > 5, "{written:?}");
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    }
    upkeep.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_see_changes_of_the_schema_and_write_one_row() {
    let api = TestApi::start(ITEMS, &[("db-pool", "3")]).await;
    let other = DataApi::new(sources(api.api.config().db_uri.clone(), &[("db-pool", "3")])).unwrap();
    let replicas = [Arc::clone(&api.api), other];
    let upkeep: Vec<_> = replicas
        .iter()
        .map(|replica| tokio::spawn(upkeep::run(Arc::clone(replica), None, Arc::new(ReloadRequests::default()))))
        .collect();
    let upserts = (0..40).map(|number| {
        let replica = Arc::clone(&replicas[number % 2]);
        async move { post(&replica, "/items?on_conflict=id", format!("{{\"id\": 7, \"name\": \"{number}\"}}")).await }
    });
    for answer in futures::future::join_all(upserts).await {
        assert!([200, 201].contains(&answer.status().as_u16()), "{} {}", answer.status(), text(&answer));
    }
    assert_eq!(api.admin.query("SELECT 1 FROM items WHERE id = 7", &[]).await.unwrap().len(), 1);
    for name in ["second", "third", "fourth"] {
        let statements = format!("CREATE TABLE {name} (id int); GRANT ALL ON {name} TO api_anonymous; NOTIFY pgrst");
        api.admin.batch_execute(&statements).await.unwrap();
        for replica in &replicas {
            let started = Instant::now();
            while get(replica, &format!("/{name}")).await.status() != 200 {
                assert!(started.elapsed() < Duration::from_secs(20), "{name} is not found");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    for task in upkeep {
        task.abort();
    }
}

#[tokio::test]
async fn time_limit_of_a_role_ends_its_statements_alone() {
    const SECRET: &str = "a secret of at least thirty-two characters";
    let objects = "DO $$ BEGIN CREATE ROLE api_hurried NOLOGIN; GRANT api_hurried TO api_login;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
        ALTER ROLE api_hurried SET statement_timeout = '200ms'; GRANT USAGE ON SCHEMA public TO api_hurried;
        CREATE FUNCTION pause() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(0.6) $$;";
    let api = TestApi::start(objects, &[("jwt-secret", SECRET)]).await;
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes());
    let claims = serde_json::json!({"role": "api_hurried"});
    let token = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap();
    for _ in 0..2 {
        let request = Request::get("/rpc/pause").header("authorization", format!("Bearer {token}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let refused = collect(api.api.handle(&parts, Bytes::new()).await).await;
        assert!(text(&refused).contains("57014"), "{} {}", refused.status(), text(&refused));
        // The same connection has no limit for another role.
        assert_eq!(api.get("/rpc/pause").await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_callers_than_connections_are_answered_or_told_to_come_back() {
    let objects =
        "CREATE FUNCTION pause() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(0.4) $$;".to_owned() + ITEMS;
    let api = TestApi::start(&objects, &[("db-pool", "2"), ("db-pool-acquisition-timeout", "1")]).await;
    let calls = futures::future::join_all((0..20).map(|_| api.get("/rpc/pause"))).await;
    let mut counts: HashMap<u16, usize> = HashMap::new();
    for answer in calls {
        if answer.status() == 504 {
            assert_eq!(answer.headers()["retry-after"], "1");
        }
        *counts.entry(answer.status().as_u16()).or_default() += 1;
    }
    // Two at a time for a second and a half at least, the others wait a second.
    assert!(counts[&200] >= 4 && counts[&504] >= 4 && counts[&200] + counts[&504] == 20, "{counts:?}");
    assert_eq!(api.get("/items").await.status(), 200);
    // No connection is lost by all this.
    let figures = api.api.pool().figures();
    assert_eq!((figures.in_use, figures.waiting), (0, 0));
    assert_eq!(figures.timeouts, counts[&504] as u64);
}

#[tokio::test]
async fn database_that_allows_no_more_connections_is_answered_503() {
    let api = TestApi::start(ITEMS, &[("db-pool", "4")]).await;
    let limited = format!("ALTER DATABASE \"{}\" CONNECTION LIMIT 0", api.name);
    api.api.pool().renew();
    cluster().connect("postgres").await.batch_execute(&limited).await.unwrap();
    let refused = api.get("/items").await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    assert!(text(&refused).contains("PGRST000"), "{}", text(&refused));
    cluster().connect("postgres").await.batch_execute(&limited.replace("LIMIT 0", "LIMIT -1")).await.unwrap();
    assert_eq!(api.get("/items").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_that_stands_still_is_answered_503_and_is_used_again() {
    let cluster = Cluster::start("frozen");
    let pause = "CREATE FUNCTION pause(seconds int) RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(seconds) $$;";
    let settings = [("db-pool", "4"), ("db-pool-acquisition-timeout", "3")];
    let api = TestApi::start_in(&cluster, &format!("{ITEMS}{pause}"), &settings).await;
    // A statement that takes long is none of a database that stands still.
    assert_eq!(api.get("/rpc/pause?seconds=6").await.status(), 200);
    {
        let _frozen = Frozen::freeze(&cluster);
        let started = Instant::now();
        let (read, written) = tokio::join!(api.get("/items"), post(&api.api, "/items", "{\"id\": 7}".to_owned()));
        for answer in [read, written] {
            assert!([503, 504].contains(&answer.status().as_u16()), "{} {}", answer.status(), text(&answer));
            assert_eq!(answer.headers()["retry-after"], "1");
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let figures = api.api.pool().figures();
        assert_eq!((figures.in_use, figures.idle), (0, 0));
    }
    let back = Instant::now();
    while api.get("/items?id=eq.-1").await.status() != 200 {
        assert!(back.elapsed() < Duration::from_secs(20), "the database is not used again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_that_takes_longer_than_it_may_is_ended_with_its_statement() {
    let pause =
        "CREATE FUNCTION pause() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(60) $$;".to_owned() + ITEMS;
    let api = TestApi::start(&pause, &[]).await;
    let dependencies = Dependencies { request_limit: Some(Duration::from_millis(500)), ..Dependencies::default() };
    let limited = sources(cluster().uri("api_login", &api.name), &[]);
    let limited = DataApi::with_dependencies(limited, dependencies).unwrap();
    limited.reload_schema().await.unwrap();
    let answer = get(&limited, "/rpc/pause").await;
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (504, "1"));
    assert!(text(&answer).contains("PGRST003"), "{}", text(&answer));
    assert_eq!(get(&limited, "/items").await.status(), 200);
    let running =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND usename = 'api_login' AND datname = $1";
    let started = Instant::now();
    while api.admin.query_one(running, &[&api.name]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "the statement goes on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The processes of a server that stands still until this is dropped.
struct Frozen(Vec<String>);

impl Frozen {
    fn freeze(cluster: &Cluster) -> Self {
        let state = std::fs::read_to_string(cluster.folder().join("data/postmaster.pid")).unwrap();
        let server = state.lines().next().unwrap().to_owned();
        // First the server, which starts the others.
        signal("-STOP", std::slice::from_ref(&server));
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        let mut processes: Vec<_> = children.split_whitespace().map(str::to_owned).collect();
        signal("-STOP", &processes);
        processes.push(server);
        Self(processes)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

fn signal(name: &str, processes: &[String]) {
    let sent = std::process::Command::new("kill").arg(name).args(processes).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {name}");
}

/// Stops and starts the server, in a mode of `pg_ctl`.
async fn restart(cluster: &Cluster, mode: &str) {
    let mut command = tokio::process::Command::from(postgres_command("pg_ctl"));
    command.args(["restart", "--wait", "--mode", mode, "-D"]).arg(cluster.folder().join("data"));
    // The log is open for all: the process that writes it stays.
    command.arg("-l").arg(cluster.folder().join("log")).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().await.unwrap().success(), "pg_ctl restart");
}
