//! Every fault of the surroundings is named by a metric and a log line within 15 seconds.
//!
//! There are requests meanwhile.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::faults::accept_silently;
use super::pooler::Pgbouncer;
use super::shared_limits::Redis;
use super::support::{Basalt, Gotrue, TempFolder, eventually, free_port, postgres_pid};
use super::telemetry::{children, metrics, value};

/// The time within which a fault is named.
const LIMIT: Duration = Duration::from_secs(15);
const SECRETS: &str = "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";

/// `basalt gotrue` with metrics, on the database of another server.
struct Observed {
    server: Gotrue,
    port: u16,
}

impl Observed {
    fn start(database: &Basalt, variables: &[(&str, &str)]) -> Self {
        let port = free_port();
        let text = port.to_string();
        let common = [
            ("GOTRUE_METRICS_ENABLED", "true"),
            ("GOTRUE_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1"),
            ("OTEL_EXPORTER_PROMETHEUS_PORT", text.as_str()),
        ];
        Self { server: Gotrue::start(database, &[&common, variables].concat()), port }
    }

    async fn sign_up(&self, client: &reqwest::Client) -> u16 {
        let body = json!({ "email": format!("user-{}@example.com", free_port()), "password": "a long password" });
        let sent = client.post(format!("{}/signup", self.server.url)).json(&body).send().await;
        sent.expect("a response").status().as_u16()
    }

    /// Sends requests until the series has counted something and the log has the text.
    async fn assert_named(&self, client: &reqwest::Client, series: &str, line: &str) {
        let started = Instant::now();
        loop {
            let sending = self.sign_up(client);
            let text = metrics(client, self.port).await;
            let log = self.server.text();
            if value(&text, series) > 0.0 && log.contains(line) {
                return;
            }
            let database: Vec<&str> = text.lines().filter(|line| line.contains("_total{")).collect();
            assert!(started.elapsed() < LIMIT, "{series} and {line:?} are missing: {database:#?}\n{log}");
            // A request to a silent service takes longer than the next look at the metrics.
            drop(tokio::time::timeout(Duration::from_millis(500), sending).await);
        }
    }
}

fn unavailable(reason: &str) -> String {
    format!("basalt_database_unavailable_total{{reason=\"{reason}\"}}")
}

/// A server with a database of its own, whose processes a test can stop.
struct Database {
    server: Basalt,
    folder: TempFolder,
}

impl Database {
    fn start() -> Self {
        let folder = TempFolder::new();
        Self { server: Basalt::serve(&["--data", &folder.path("data")]), folder }
    }

    fn postmaster(&self) -> Pid {
        postgres_pid(&self.folder.0.join("data")).expect("PostgreSQL runs")
    }

    async fn execute(&self, sql: &str) {
        let mut db = self.server.connect_after_indexes().await;
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut db).await.expect("the test's SQL is right");
    }
}

#[tokio::test]
async fn killed_database_is_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    assert_eq!(observed.sign_up(&database.server.client).await, 200);
    // Its server is stopped, so that it does not start PostgreSQL again.
    database.server.signal(Signal::STOP);
    kill_process(database.postmaster(), Signal::KILL).expect("killed");
    observed.assert_named(&database.server.client, &unavailable("connect"), "database_unavailable").await;
    database.server.signal(Signal::CONT);
}

#[tokio::test]
async fn frozen_database_is_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    assert_eq!(observed.sign_up(&database.server.client).await, 200);
    let postmaster = database.postmaster();
    let processes: Vec<Pid> = children(postmaster).into_iter().chain([postmaster]).collect();
    for process in &processes {
        let _ = kill_process(*process, Signal::STOP);
    }
    observed.assert_named(&database.server.client, &unavailable("connect_timeout"), "database_unavailable").await;
    for process in &processes {
        let _ = kill_process(*process, Signal::CONT);
    }
}

#[tokio::test]
async fn read_only_database_is_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    let sql = "ALTER DATABASE postgres SET default_transaction_read_only = on;
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    database.execute(sql).await;
    observed.assert_named(&database.server.client, &unavailable("read_only"), "database_unavailable").await;
}

#[tokio::test]
async fn full_disk_of_the_database_is_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    // The error that PostgreSQL reports when a file cannot grow.
    let sql = "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
        END $$;
        CREATE TRIGGER fail BEFORE INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION public.fail()";
    database.execute(sql).await;
    assert_eq!(observed.sign_up(&database.server.client).await, 503);
    observed.assert_named(&database.server.client, &unavailable("disk_full"), "No space left on device").await;
}

#[tokio::test]
async fn killed_pooler_is_named() {
    let cluster = Basalt::serve(&["--test"]);
    let pooler = Pgbouncer::start("transaction", 4, &cluster.text("database_url_tcp"));
    let url = pooler.url("");
    let observed = Observed::start(&cluster, &[("DATABASE_URL", &url)]);
    assert_eq!(observed.sign_up(&cluster.client).await, 200);
    drop(pooler);
    observed.assert_named(&cluster.client, &unavailable("connect"), "database_unavailable").await;
}

/// Ends all other sessions of the database.
const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()";

#[tokio::test]
async fn connections_lost_while_idle_are_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    let (series, line) = ("basalt_database_idle_connections_lost_total", "idle database connections were lost");
    let client = &database.server.client;
    // The second time soon after the first: each has a line of its own.
    for time in 1..=2 {
        assert_eq!(observed.sign_up(client).await, 200);
        // Connections that were used just now are used again without a test.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let lost = value(&metrics(client, observed.port).await, series);
        database.execute(END_SESSIONS).await;
        let started = Instant::now();
        while observed.server.text().matches(line).count() < time {
            assert!(started.elapsed() < LIMIT, "line {time} of {line:?} is missing: {}", observed.server.text());
            assert_eq!(observed.sign_up(client).await, 200);
        }
        assert!(value(&metrics(client, observed.port).await, series) > lost, "{series} is not higher");
    }
}

#[tokio::test]
async fn repetition_of_a_lost_statement_is_named() {
    let database = Database::start();
    let observed = Observed::start(&database.server, &[]);
    let (series, line) = ("basalt_database_repetitions_total{reason=", "repeated on another connection");
    let started = Instant::now();
    // Now and then the test of idle connections notices the loss first.
    while !observed.server.text().contains(line) {
        assert!(started.elapsed() < LIMIT, "{line:?} is missing: {}", observed.server.text());
        assert_eq!(observed.sign_up(&database.server.client).await, 200);
        database.execute(END_SESSIONS).await;
        assert_eq!(observed.sign_up(&database.server.client).await, 200);
    }
    let text = metrics(&database.server.client, observed.port).await;
    assert!(text.contains(series), "{series} is missing: {text}");
}

#[tokio::test]
async fn killed_limit_store_is_named() {
    let (database, redis) = (Database::start(), Redis::start(free_port(), &[]));
    let url = redis.url();
    let variables = [("GOTRUE_RATE_LIMIT_STORE_URL", url.as_str()), ("GOTRUE_RATE_LIMIT_HEADER", "x-client")];
    let observed = Observed::start(&database.server, &variables);
    let client = reqwest::Client::builder().no_proxy();
    let client = client.default_headers([("x-client", "one")].into_iter().map(header).collect());
    let client = client.build().expect("a client");
    assert_eq!(observed.sign_up(&client).await, 200);
    drop(redis);
    let series = "basalt_limit_store_calls_total{outcome=\"failed\"}";
    observed.assert_named(&client, series, "the store of rate limits is unreachable").await;
}

fn header((name, value): (&'static str, &'static str)) -> (http::HeaderName, http::HeaderValue) {
    (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
}

#[tokio::test]
async fn silent_mail_server_is_named_by_each_way_of_sending() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mail_port = listener.local_addr().expect("an address").port().to_string();
    accept_silently(listener);
    let database = Database::start();
    let variables = [
        ("GOTRUE_MAILER_AUTOCONFIRM", "false"),
        ("GOTRUE_SMTP_HOST", "127.0.0.1"),
        ("GOTRUE_SMTP_PORT", mail_port.as_str()),
        ("GOTRUE_SMTP_ADMIN_EMAIL", "shop@example.com"),
        ("GOTRUE_RATE_LIMIT_EMAIL_SENT", "1000"),
    ];
    let observed = Observed::start(&database.server, &variables);
    let client = database.server.client.clone();
    let waiting = tokio::spawn({
        let (client, url) = (client.clone(), observed.server.url.clone());
        async move {
            let body = json!({ "email": "ann@example.com", "password": "a long password" });
            client.post(format!("{url}/signup")).json(&body).send().await.map(|response| response.status().as_u16())
        }
    });
    let started = Instant::now();
    loop {
        let text = metrics(&client, observed.port).await;
        let failed: f64 = ["failed", "interrupted"]
            .map(|outcome| value(&text, &format!("basalt_mail_deliveries_total{{outcome=\"{outcome}\"}}")))
            .iter()
            .sum();
        let log = observed.server.text();
        if failed > 0.0 && (log.contains("mail delivery failed") || log.contains("request failed")) {
            break;
        }
        assert!(started.elapsed() < LIMIT, "{text}\n{log}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let status = waiting.await.expect("no panic").expect("a response");
    assert!(status >= 500, "{status}");
}

#[tokio::test]
async fn silent_hook_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://127.0.0.1:{}", listener.local_addr().expect("an address").port());
    accept_silently(listener);
    let database = Database::start();
    let variables = [
        ("GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED", "true"),
        ("GOTRUE_HOOK_BEFORE_USER_CREATED_URI", url.as_str()),
        ("GOTRUE_HOOK_BEFORE_USER_CREATED_SECRETS", SECRETS),
    ];
    let observed = Observed::start(&database.server, &variables);
    let series = "basalt_hook_calls_total{hook=\"before-user-created\",outcome=\"failed\"}";
    observed.assert_named(&database.server.client, series, "hook failed").await;
}

/// Returns the library that changes the time of a process.
fn find_time_library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("a folder").flatten().map(|entry| entry.path());
    let mut files = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    files.find(|file| file.exists()).expect("libfaketime: tools/need.sh faketime installs it")
}

#[tokio::test]
async fn changed_clock_is_named() {
    let database = Database::start();
    let (folder, library) = (TempFolder::new(), find_time_library().display().to_string());
    let file = folder.write("offset", "+0");
    let variables = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME_TIMESTAMP_FILE", file.as_str()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let observed = Observed::start(&database.server, &variables);
    assert_eq!(observed.sign_up(&database.server.client).await, 200);
    assert!(!observed.server.text().contains("the system clock changed"));
    for (offset, direction) in [("+3600", "forward"), ("-60", "backward")] {
        folder.write("offset", offset);
        let series = format!("basalt_clock_steps_total{{direction=\"{direction}\"}}");
        observed.assert_named(&database.server.client, &series, "the system clock changed").await;
    }
    eventually("both changes are logged", || observed.server.text().matches("the system clock changed").count() == 2);
}
