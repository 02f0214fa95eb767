//! Large results and clients that leave, in the data API of `basalt serve`.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::support::{Basalt, TempFolder};

const MIGRATION: &str = "CREATE FUNCTION public.large(megabytes int) RETURNS SETOF text LANGUAGE sql STABLE
        AS $$ SELECT repeat('x', 1000000) FROM generate_series(1, megabytes) $$;
    CREATE FUNCTION public.slow(seconds float) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT 1 FROM pg_sleep(seconds) $$;
    ALTER ROLE service_role SET statement_timeout = '60s';";

fn start(folder: &TempFolder) -> Basalt {
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    let config = folder.write("supabase/config.toml", "");
    folder.write("supabase/migrations/20260101000000_large.sql", MIGRATION);
    Basalt::serve(&["--ephemeral", "--config", &config])
}

/// A figure of `/proc/…/status`, in kB.
fn memory(server: &Basalt, name: &str) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_nonzero())).expect("a status");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a figure");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[tokio::test]
async fn answer_of_300_megabytes_needs_no_memory() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let read = async |megabytes: usize, pause: Duration| {
        let url = server.url(&format!("/rest/v1/rpc/large?megabytes={megabytes}"));
        let mut response =
            server.client.get(url).header("apikey", server.text("secret_key")).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let mut length = 0;
        tokio::time::sleep(pause).await;
        while let Some(part) = response.chunk().await.expect("a part") {
            length += part.len();
        }
        length
    };
    read(2, Duration::ZERO).await;
    let before = memory(&server, "VmRSS:");
    std::fs::write(format!("/proc/{}/clear_refs", server.pid().as_raw_nonzero()), "5").expect("the peak is reset");
    // One value in quotes for each megabyte, and separators.
    assert!(read(300, Duration::ZERO).await > 300_000_000);
    let (slow, other) = tokio::join!(read(20, Duration::from_secs(2)), read(20, Duration::from_secs(1)));
    assert_eq!(slow, other);
    let raised = memory(&server, "VmHWM:") - before;
    assert!(raised <= 32 * 1024, "{raised} kB more than {before} kB");
}

/// The statements of the data API that sleep.
async fn count_sleeping(database: &mut PgConnection) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'authenticator' AND wait_event = 'PgSleep'";
    sqlx::query_scalar(sql).fetch_one(database).await.expect("a count")
}

#[tokio::test]
async fn client_that_leaves_cancels_its_own_statement_alone() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let mut database = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let url = server.url("/rest/v1/rpc/slow");
    let neighbour = server.client.post(&url).header("apikey", server.text("secret_key")).json(&json!({"seconds": 4}));
    let neighbour = tokio::spawn(neighbour.send());
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let mut leaving = TcpStream::connect(&address).expect("a connection");
    let (key, body) = (server.text("secret_key"), "{\"seconds\": 40}");
    let head = format!(
        "POST /rest/v1/rpc/slow HTTP/1.1\r\nHost: {address}\r\nApikey: {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    leaving.write_all(head.as_bytes()).expect("sent");
    let started = Instant::now();
    while count_sleeping(&mut database).await < 2 {
        assert!(started.elapsed() < Duration::from_secs(10), "both run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(leaving);
    let left = Instant::now();
    while count_sleeping(&mut database).await > 1 {
        assert!(left.elapsed() < Duration::from_secs(3), "the statement of the client that left still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answered = neighbour.await.expect("no panic").expect("an answer");
    assert_eq!((answered.status().as_u16(), answered.text().await.expect("text").as_str()), (200, "1"));
}
