//! Scheduled jobs, requests of the database and webhooks, which the server executes in place of `pg_cron` and `pg_net`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::bench::TestServer;
use super::project_schema::{TestProject, connect, texts};
use super::support::{Basalt, basalt};
use super::world_clock::advance;

/// A server that records requests and answers each with JSON.
struct Receiver {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    let mut bytes = Vec::new();
                    let mut part = [0_u8; 4096];
                    while let Ok(length) = stream.read(&mut part) {
                        bytes.extend_from_slice(&part[..length]);
                        let text = String::from_utf8_lossy(&bytes);
                        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                        let wanted = text.to_ascii_lowercase().split("content-length: ").nth(1).map_or(0, |rest| {
                            rest.split("\r\n").next().and_then(|length| length.parse().ok()).unwrap_or(0)
                        });
                        if length == 0 || body.is_some_and(|body| body >= wanted) {
                            break;
                        }
                    }
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let is_slow = text.contains("/slow");
                    kept.lock().expect("a lock").push(text);
                    if is_slow {
                        std::thread::sleep(Duration::from_secs(3));
                    }
                    let answer = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\
                                  connection: close\r\n\r\n{\"ok\": true}";
                    let _ = stream.write_all(answer.as_bytes());
                });
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("a lock").clone()
    }
}

/// Repeats a query until it returns the expected texts, for at most a minute.
async fn wait_for(connection: &mut PgConnection, sql: &'static str, expected: &[&str]) {
    let mut found = Vec::new();
    for _ in 0..600 {
        found = texts(connection, sql).await;
        if found == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(found, expected, "{sql}");
}

#[tokio::test]
async fn requests_and_webhooks_of_the_database_are_sent() {
    let receiver = Receiver::start();
    let url = &receiver.url;
    let migration = format!(
        "create table orders (id int, note text);
         create trigger told after insert or update on orders for each row
             execute function supabase_functions.http_request('{url}/hook', 'POST', '{{\"x-key\": \"k\"}}', '{{\"a b\": \"c&d\"}}', '2000');
         insert into orders values (1, 'first');
         select net.http_get('{url}/get', '{{\"q\": \"ü\"}}', '{{\"authorization\": \"Bearer t\"}}');
         select net.http_post('{url}/slow', '{{}}', timeout_milliseconds := 300);
         select net.http_delete('{url}/gone');"
    );
    let project = TestProject::new(&[("migrations/1_orders.sql", &migration)]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    let responses =
        "SELECT concat_ws(' ', status_code, content, timed_out, error_msg) FROM net._http_response ORDER BY id";
    let created = "201 {\"ok\": true} f";
    wait_for(&mut connection, responses, &[created, created, "t Timeout of 300 ms reached", created]).await;
    let requests = receiver.requests();
    let find = |start: &str| requests.iter().find(|request| request.starts_with(start)).cloned().unwrap_or_default();
    let hook = find("POST /hook?a%20b=c%26d HTTP/1.1");
    assert!(hook.to_ascii_lowercase().contains("x-key: k") && hook.contains("\"type\": \"INSERT\""), "{requests:?}");
    assert!(hook.contains("\"record\": {\"id\": 1, \"note\": \"first\"}") && hook.contains("\"schema\": \"public\""));
    assert!(find("GET /get?q=%C3%BC ").contains("authorization: Bearer t"), "{requests:?}");
    assert!(!find("DELETE /gone ").is_empty());
    let hooks = "SELECT hook_name || ' ' || (request_id IS NOT NULL) FROM supabase_functions.hooks";
    assert_eq!(texts(&mut connection, hooks).await, ["told true"]);
    // A change that is made while the server runs is sent, too.
    texts(&mut connection, "UPDATE orders SET note = 'second' RETURNING note").await;
    wait_for(&mut connection, "SELECT count(*)::text FROM net._http_response WHERE status_code = 201", &["4"]).await;
    assert!(
        receiver.requests().iter().any(|request| request.contains("\"old_record\": {\"id\": 1, \"note\": \"first\"}"))
    );
}

#[tokio::test]
async fn public_server_does_not_send_requests_of_the_database_into_the_local_network() {
    let receiver = Receiver::start();
    let migration = format!("select net.http_get('{}/secret');", receiver.url);
    let project = TestProject::new(&[
        ("config.toml", "[api]\nexternal_url = \"https://api.example.com\"\n"),
        ("migrations/1_a.sql", &migration),
    ]);
    let server = project.serve();
    let refused = "SELECT (error_msg LIKE '%not a public one%')::text FROM net._http_response";
    wait_for(&mut connect(&server).await, refused, &["true"]).await;
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn job_of_seconds_is_not_due_for_the_time_before_it_was_scheduled() {
    let project = TestProject::new(&[("migrations/1_jobs.sql", "create table runs (at timestamptz default now());")]);
    let server = project.serve();
    // The last turn of the jobs is some seconds ago when the job is scheduled.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut connection = connect(&server).await;
    let schedule = "SELECT cron.schedule('often', '1 second', 'insert into runs default values')::text";
    assert_eq!(texts(&mut connection, schedule).await.len(), 1);
    wait_for(&mut connection, "SELECT (count(*) >= 2)::text FROM runs", &["true"]).await;
    let early = "SELECT count(*)::text FROM runs WHERE at - (SELECT min(at) FROM runs) < '0.5 s'";
    assert_eq!(texts(&mut connection, early).await, ["1"], "it runs each second, not for the time before");
    let times = "SELECT (count(*) = count(DISTINCT start_time))::text FROM cron.job_run_details";
    assert_eq!(texts(&mut connection, times).await, ["true"]);
}

#[tokio::test]
async fn jobs_run_by_the_clock_of_a_test_world() {
    let migration = "create table runs (at timestamptz default now(), who text default current_user);
        create role worker nologin; grant insert on runs to worker;
        create table ticks (at timestamptz);
        select cron.schedule('tick', '* * * * *', 'insert into ticks values (now())');
        select cron.schedule('inactive', '* * * * *', 'delete from runs');
        select cron.alter_job((select jobid from cron.job where jobname = 'inactive'), active := false);";
    let project = TestProject::new(&[("migrations/1_jobs.sql", migration)]);
    let server = TestServer(Basalt::start(basalt().current_dir(&project.0.0), &["--test"]));
    let world = server.world(json!({})).await;
    world.ok(Method::POST, "/clock", Some(json!({"at": "2030-01-01T10:10:00Z"}))).await;
    let mut connection = PgConnection::connect(world.text("database_url")).await.expect("connected");
    // A job that became due by the jump has run: the server has read the jobs at the new time.
    wait_for(&mut connection, "SELECT (count(*) BETWEEN 1 AND 70)::text FROM ticks", &["true"]).await;
    for sql in [
        "SELECT cron.unschedule('tick')::text",
        "SELECT cron.schedule('hourly', '0 * * * *', 'insert into runs default values')::text",
        "SELECT cron.schedule('wrong', '0 * * * *', 'select no_such_column')::text",
        "INSERT INTO cron.job (schedule, command, username, jobname) VALUES
            ('30 * * * *', 'insert into runs default values', 'worker', 'of a role'),
            ('31 * * * *', 'set role postgres', 'worker', 'escape') RETURNING jobname",
    ] {
        assert!(!texts(&mut connection, sql).await.is_empty());
    }
    advance(&world, "2h").await;
    wait_for(&mut connection, "SELECT who FROM runs ORDER BY who", &["postgres", "postgres", "worker", "worker"]).await;
    let history = "SELECT DISTINCT j.jobname || ': ' || d.status || ': ' || d.return_message
        FROM cron.job_run_details d JOIN cron.job j USING (jobid) WHERE d.end_time IS NOT NULL ORDER BY 1";
    wait_for(
        &mut connection,
        history,
        &[
            "escape: failed: ERROR: cannot set parameter \"role\" within security-definer function",
            "hourly: succeeded: 1 rows affected",
            "of a role: succeeded: 1 rows",
            "wrong: failed: ERROR: column \"no_such_column\" does not exist",
        ],
    )
    .await;
    let times = "SELECT DISTINCT to_char(start_time AT TIME ZONE 'UTC', 'HH24:MI') 
        FROM cron.job_run_details JOIN cron.job USING (jobid) ORDER BY 1";
    wait_for(&mut connection, times, &["10:30", "10:31", "11:00", "11:30", "11:31", "12:00"]).await;
    let wrong = "SELECT (cron.unschedule('hourly') AND NOT cron.is_schedule('* * *'))::text";
    assert_eq!(texts(&mut connection, wrong).await, ["true"]);
}
