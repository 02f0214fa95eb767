//! Probes and draining: a server that stops says so, and answers what still arrives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, eventually, run};

async fn probe(server: &Basalt, path: &str) -> (u16, Value) {
    let answer = server.client.get(server.url(path)).send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// Sends a request over an open connection and returns the head of the response.
fn exchange(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    let (mut received, mut space) = (String::new(), [0; 4096]);
    while !received.contains("\r\n\r\n") {
        let length = stream.read(&mut space).expect("a response");
        assert!(length > 0, "the connection ended after {received:?}");
        received.push_str(&String::from_utf8_lossy(&space[..length]));
    }
    received.to_lowercase()
}

#[tokio::test]
async fn probes_tell_the_state_of_each_check() {
    let server = Basalt::serve(&["--ephemeral"]);
    for path in ["/livez", "/auth/v1/livez"] {
        assert_eq!(probe(&server, path).await, (200, json!({ "status": "live" })), "{path}");
    }
    let checks = json!({ "database": "ok", "writable": "ok", "schema": "ok", "shutdown": "ok" });
    for path in ["/readyz", "/auth/v1/readyz"] {
        let (status, mut body) = probe(&server, path).await;
        assert!(body.as_object_mut().expect("an object").remove("storage").is_some(), "{path}");
        assert_eq!((status, body), (200, json!({ "status": "ready", "checks": checks })), "{path}");
    }

    let mut db = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let read_only = "ALTER ROLE supabase_auth_admin SET default_transaction_read_only = on;
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'supabase_auth_admin'";
    sqlx::raw_sql(read_only).execute(&mut db).await.expect("read-only");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let (status, body) = probe(&server, "/readyz").await;
    assert_eq!((status, &body["checks"]["writable"]), (503, &json!("read-only")), "{body}");
    assert_eq!(probe(&server, "/livez").await.0, 200);

    let changed = "ALTER ROLE supabase_auth_admin RESET default_transaction_read_only;
        DELETE FROM basalt.migrations WHERE name = (SELECT max(name) FROM basalt.migrations);
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'supabase_auth_admin'";
    sqlx::raw_sql(changed).execute(&mut db).await.expect("an older schema");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let (status, body) = probe(&server, "/readyz").await;
    assert_eq!((status, &body["checks"]["schema"]), (503, &json!("not at the version of this server")), "{body}");
}

/// Waits until the space for stored files has this state; returns the report. The server stays ready.
async fn wait_for_space(server: &Basalt, state: &str) -> Value {
    for _ in 0..200 {
        let (status, body) = probe(server, "/readyz").await;
        assert_eq!((status, &body["status"]), (200, &json!("ready")), "{body}");
        if body["storage"]["space"] == state {
            return body["storage"].clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the space for stored files is not {state}");
}

#[tokio::test]
async fn space_for_stored_files_is_reported_by_probes_and_check() {
    let scratch = TempFolder::new();
    let (config, data) = ("[basalt.storage]\nquota = \"1MiB\"\n[storage.buckets.files]\n", scratch.path("data"));
    let config = scratch.write("config.toml", config);
    let server = Basalt::serve(&["--data", &data, "--config", &config]);
    let (_, body) = probe(&server, "/readyz").await;
    let bytes = &body["storage"]["bytes"];
    assert_eq!((&bytes["used"], &bytes["quota"]), (&json!(0), &json!(1_048_576)), "{body}");
    let free = bytes["available"].as_u64().expect("a number");
    assert!(free > 0 && bytes["total"].as_u64() >= Some(free) && bytes["reserved"].as_u64() > Some(0), "{body}");

    let upload = async |name: &str, size: usize| {
        let request = server.client.post(server.url(&format!("/storage/v1/object/files/{name}")));
        let request = request.header("apikey", server.text("secret_key")).body("x".repeat(size));
        request.send().await.expect("a response").status().as_u16()
    };
    // The bucket of the configuration is created after the start.
    for _ in 0..200 {
        if upload("large", 1_000_000).await == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(wait_for_space(&server, "low").await["bytes"]["used"], 1_000_000);
    let check = |more: &[&str]| {
        let output = run(&[&["check", "--config", &config, "--data", &data], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let printed = check(&[]);
    assert!(printed.contains("\nstored files take 976.5 KiB of the quota of 1 MiB; "), "{printed}");
    let warning = "basalt.storage.quota: 47.4 KiB are left for uploads, a larger one is answered 507: raise it, or delete objects\n";
    assert!(printed.contains(warning), "{printed}");
    assert_eq!(upload("refused", 48_577).await, 507);
    assert_eq!(upload("small", 48_576).await, 200);
    wait_for_space(&server, "exhausted").await;
    let report: Value = serde_json::from_str(&check(&["--json"])).expect("JSON");
    assert_eq!(report["storage"]["used"], 1_048_576, "{report}");
    let notices = report["notices"].as_array().expect("a list");
    let is_named = |notice: &Value| notice.as_str().is_some_and(|text| text.contains("each upload is answered 507"));
    assert!(notices.iter().any(is_named), "{report}");
}

#[tokio::test]
async fn probes_tell_figures_in_development_alone() {
    let scratch = TempFolder::new();
    let serve = |config: &str| {
        let config = scratch.write("config.toml", config);
        Basalt::serve(&["--ephemeral", "--config", &config])
    };
    let (_, body) = probe(&serve("[basalt]\ndevelopment_pages = false\n"), "/readyz").await;
    let members: Vec<_> = body["storage"].as_object().expect("a report").keys().collect();
    assert_eq!(members, ["space"], "{body}");
    let (status, body) = probe(&serve("[storage]\nenabled = false\n"), "/readyz").await;
    assert_eq!((status, body.get("storage")), (200, None), "{body}");
}

#[tokio::test]
async fn draining_server_is_not_ready_and_closes_connections_after_their_request() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[basalt.shutdown]\ndrain = \"3s\"\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let mut idle = TcpStream::connect(&address).expect("connected");
    assert!(!exchange(&mut idle, "/auth/v1/health").contains("connection: close"));

    server.signal(Signal::TERM);
    eventually("the server is not ready", || {
        let mut stream = TcpStream::connect(&address).expect("still accepted");
        exchange(&mut stream, "/readyz").starts_with("http/1.1 503")
    });
    let mut probing = TcpStream::connect(&address).expect("still accepted");
    let head = exchange(&mut probing, "/readyz");
    assert!(head.contains("\"shutdown\":\"draining\"") && head.contains("connection: close"), "{head}");
    let head = exchange(&mut idle, "/auth/v1/health");
    assert!(head.starts_with("http/1.1 200") && head.contains("connection: close"), "{head}");
    assert_eq!(idle.read(&mut [0; 16]).unwrap_or(1), 0, "closed after the response");

    // The listener is closed before the last idle connections, which still get an answer.
    let mut late = TcpStream::connect(&address).expect("still accepted");
    eventually("no new connections are taken", || TcpStream::connect(&address).is_err());
    let head = exchange(&mut late, "/auth/v1/health");
    assert!(head.starts_with("http/1.1 200") && head.contains("connection: close"), "{head}");
    assert!(server.wait_for_exit());
}
