//! Worlds: isolated backends of a test server.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::bench::TestServer;
use super::support::{Basalt, basalt};

fn access_token(session: &Value) -> &str {
    session["access_token"].as_str().unwrap_or_else(|| panic!("no session: {session}"))
}

async fn connect_as_administrator(server: &TestServer) -> PgConnection {
    let url = server.0.text("database_url_tcp");
    let (host, _) = url.rsplit_once('/').expect("a database");
    PgConnection::connect(&format!("{host}/template1")).await.expect("a connection")
}

async fn count_databases(server: &TestServer) -> i64 {
    let mut connection = connect_as_administrator(server).await;
    let sql = "SELECT count(*) FROM pg_database WHERE datname LIKE 'world\\__%'";
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count")
}

#[tokio::test]
async fn worlds_share_nothing() {
    let server = TestServer::start();
    let (first, second) = (server.world(json!({"name": "first"})).await, server.world(json!({})).await);
    assert_eq!(first.text("name"), "first");
    let session = first.sign_up("ann@example.com").await;
    assert_eq!((first.users().await.len(), second.users().await.len()), (1, 0));
    let (status, _) = first.auth_as(access_token(&session), "/user", None).await;
    assert_eq!(status, 200);
    let (status, refused) = second.auth_as(access_token(&session), "/user", None).await;
    assert_eq!(status, 403, "another world's token: {refused}");
    let url = format!("{}/auth/v1/settings", second.text("url"));
    let foreign_key = server.0.client.get(url).header("apikey", first.text("publishable_key")).send().await;
    assert_eq!(foreign_key.expect("an answer").status(), 401);
    assert_ne!(first.text("storage_key"), second.text("storage_key"));
    assert_eq!(server.0.auth("/settings", None).await.0, 200, "the server itself is a world");
}

#[tokio::test]
async fn addresses_stay_inside_the_world() {
    let server = TestServer::start();
    let world = server.world(json!({"config": {"auth": {"oauth_server": {"enabled": true}}}})).await;
    let session = world.sign_up("ann@example.com").await;
    let issuer = format!("{}/auth/v1", world.text("url"));
    let (_, discovery) = world.auth("/.well-known/openid-configuration", None).await;
    assert_eq!(discovery["issuer"], issuer, "{discovery}");
    let path = format!("/.well-known/oauth-authorization-server/w/{}/auth/v1", world.text("id"));
    let at_root: Value =
        server.0.client.get(server.0.url(&path)).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(at_root["issuer"], issuer, "RFC 8414 §3.1: {at_root}");
    let (_, keys) = world.auth("/.well-known/jwks.json", None).await;
    let (_, keys_of_server) = server.0.auth("/.well-known/jwks.json", None).await;
    assert_ne!(keys["keys"][0]["kid"], keys_of_server["keys"][0]["kid"]);
    let (status, _) = world.auth_as(access_token(&session), "/reauthenticate", None).await;
    assert_eq!(status, 200);
    world.auth("/recover", Some(json!({"email": "ann@example.com"}))).await;
    let inbox = server.0.client.get(format!("{}/_dev/inbox.json?wait=5", world.text("url")));
    let inbox: Value = inbox.send().await.expect("an answer").json().await.expect("JSON");
    let link = inbox["messages"].as_array().and_then(|all| all.iter().find_map(|mail| mail["link"].as_str()));
    assert!(link.expect("a link").starts_with(&format!("{issuer}/verify?")), "{inbox}");
}

#[tokio::test]
async fn clock_of_a_world_expires_tokens_and_stands_still() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    let (session, unaffected) = (world.sign_up("ann@example.com").await, other.sign_up("ann@example.com").await);
    world.ok(Method::POST, "/clock", Some(json!({"advance": "59m"}))).await;
    assert_eq!(world.auth_as(access_token(&session), "/user", None).await.0, 200);
    world.ok(Method::POST, "/clock", Some(json!({"advance": "2m"}))).await;
    assert_eq!(world.auth_as(access_token(&session), "/user", None).await.0, 403);
    assert_eq!(other.auth_as(access_token(&unaffected), "/user", None).await.0, 200);
    let body = json!({"refresh_token": session["refresh_token"]});
    let (status, refreshed) = world.auth("/token?grant_type=refresh_token", Some(body)).await;
    assert_eq!(status, 200, "{refreshed}");
    assert_eq!(world.auth_as(access_token(&refreshed), "/user", None).await.0, 200);

    let frozen = world.ok(Method::POST, "/clock", Some(json!({"at": "2030-01-01T00:00:00Z", "freeze": true}))).await;
    assert_eq!((frozen["frozen"].as_bool(), frozen["now"].as_str()), (Some(true), Some("2030-01-01T00:00:00.000Z")));
    let session = world.sign_up("bob@example.com").await;
    assert_eq!(session["user"]["created_at"].as_str().map(|time| &time[..19]), Some("2030-01-01T00:00:00"));
    assert_eq!(world.ok(Method::GET, "/clock", None).await, frozen);
    let returned = world.ok(Method::DELETE, "/clock", None).await;
    assert_eq!((returned["frozen"].as_bool(), returned["rate"].as_f64()), (Some(false), Some(1.0)));
    assert!(!returned["now"].as_str().expect("a time").starts_with("2030"));
}

#[tokio::test]
async fn invalid_clock_changes_change_nothing() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    let before = world.ok(Method::POST, "/clock", Some(json!({"freeze": true}))).await;
    for (body, named) in [
        (json!({"advance": "soon"}), "advance"),
        (json!({"advance": 5}), "advance"),
        (json!({"at": "tomorrow"}), "at"),
        (json!({"at": "0001-01-01T00:00:00Z"}), "at"),
        (json!({"rate": 0}), "rate"),
        (json!({"rate": -1}), "rate"),
        (json!({"freeze": "yes"}), "freeze"),
        (json!({"speed": 2}), "speed"),
        (json!({"advance": "1m", "at": "2030-01-01T00:00:00Z"}), "exclude"),
        (json!({}), "at least one member"),
    ] {
        let (status, error) = world.call(Method::POST, "/clock", Some(body.clone())).await;
        assert_eq!(status, 400, "{body}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{body}: {error}");
        assert!(error["hint"].is_string() && error["code"] == "bad_request", "{error}");
    }
    assert_eq!(world.ok(Method::GET, "/clock", None).await, before);
}

#[tokio::test]
async fn fork_has_the_complete_state_and_then_its_own() {
    let server = TestServer::start();
    let world = server.world(json!({"config": {"auth": {"site_url": "http://localhost:4000"}}})).await;
    world.ok(Method::POST, "/clock", Some(json!({"at": "2031-05-05T05:05:05Z", "freeze": true}))).await;
    let session = world.sign_up("ann@example.com").await;
    let (status, description) = world.call(Method::POST, "/fork", None).await;
    assert_eq!(status, 201, "{description}");
    let fork = server.described(description);
    assert_eq!(fork.users().await, ["ann@example.com"]);
    assert_eq!(fork.auth_as(access_token(&session), "/user", None).await.0, 200, "sessions go on in the fork");
    assert_eq!(fork.ok(Method::GET, "/clock", None).await["now"], "2031-05-05T05:05:05.000Z");
    assert_eq!(fork.ok(Method::GET, "/config", None).await["auth"]["site_url"], "http://localhost:4000");
    fork.sign_up("bob@example.com").await;
    assert_eq!((world.users().await.len(), fork.users().await.len()), (1, 2));
    assert_eq!(world.auth_as(access_token(&session), "/user", None).await.0, 200, "the source goes on");
}

#[tokio::test]
async fn reset_and_restore_return_rows_settings_and_clock() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    world.sign_up("ann@example.com").await;
    world.ok(Method::POST, "/clock", Some(json!({"at": "2032-01-01T00:00:00Z", "freeze": true}))).await;
    world.ok(Method::POST, "/snapshots/with%20ann", None).await;
    world.ok(Method::PATCH, "/config", Some(json!({"auth": {"enable_signup": false}}))).await;
    assert_eq!(world.auth("/signup", Some(json!({"email": "x@example.com", "password": "123456"}))).await.0, 422);

    world.ok(Method::POST, "/reset", None).await;
    assert!(world.users().await.is_empty());
    world.sign_up("bob@example.com").await;
    assert!(!world.ok(Method::GET, "/clock", None).await["frozen"].as_bool().expect("a switch"));

    world.ok(Method::POST, "/snapshots/with%20ann/restore", None).await;
    assert_eq!(world.users().await, ["ann@example.com"]);
    assert_eq!(world.ok(Method::GET, "/clock", None).await["now"], "2032-01-01T00:00:00.000Z");
    let copy = server.world(json!({"from": "with ann"})).await;
    assert_eq!(copy.users().await, ["ann@example.com"]);
    assert_eq!(world.ok(Method::GET, "/snapshots", None).await, json!({"snapshots": [{"name": "with ann"}]}));
    world.ok(Method::DELETE, "/snapshots/with%20ann", None).await;
    let (status, error) = server.call(Method::POST, "/worlds", Some(json!({"from": "with ann"}))).await;
    assert_eq!((status, error["code"].as_str()), (404, Some("not_found")), "{error}");
}

#[tokio::test]
async fn default_world_can_be_reset_and_not_deleted() {
    let server = TestServer::start();
    let body = json!({"email": "ann@example.com", "password": "correct horse"});
    assert_eq!(server.0.auth("/signup", Some(body.clone())).await.0, 200);
    assert_eq!(server.0.auth("/signup", Some(body.clone())).await.0, 422);
    assert_eq!(server.call(Method::POST, "/worlds/default/reset", None).await.0, 200);
    assert_eq!(server.0.auth("/signup", Some(body)).await.0, 200);
    assert_eq!(server.call(Method::DELETE, "/worlds/default", None).await.0, 409);
}

#[tokio::test]
async fn invalid_settings_are_named_and_leave_the_world_as_it_is() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    world.sign_up("ann@example.com").await;
    let (status, error) = world.call(Method::PATCH, "/config", Some(json!({"auth": {"enable_sinup": true}}))).await;
    assert_eq!(status, 422);
    assert!(error["message"].as_str().is_some_and(|text| text.contains("did you mean auth.enable_signup")), "{error}");
    assert_eq!(world.users().await, ["ann@example.com"]);
    for (body, named) in [
        (json!({"config": {"auth": {"jwt_expiry": "soon"}}}), "auth.jwt_expiry"),
        (json!({"colour": "blue"}), "colour"),
        (json!({"env": {"GOTRUE_SITE_URL": "x"}}), "gotrue"),
        (json!({"profile": "other"}), "other"),
        (json!({"name": ""}), "name"),
    ] {
        let (status, error) = server.call(Method::POST, "/worlds", Some(body.clone())).await;
        assert!((400..=422).contains(&status), "{body}: {status}");
        assert!(error.to_string().contains(named), "{body}: {error}");
    }
    let (_, listed) = server.call(Method::GET, "/worlds", None).await;
    assert_eq!(listed["worlds"].as_array().map(Vec::len), Some(2), "refused worlds leave nothing: {listed}");
}

#[tokio::test]
async fn gotrue_profile_takes_its_variables() {
    let server = TestServer::start();
    let env = json!({"GOTRUE_MAILER_AUTOCONFIRM": "true", "GOTRUE_JWT_EXP": "77"});
    let world = server.world(json!({"profile": "gotrue", "env": env})).await;
    let session = world.sign_up("ann@example.com").await;
    assert_eq!(session["expires_in"], 77, "{session}");
    assert_eq!(world.text("profile"), "gotrue");
    let change = json!({"GOTRUE_JWT_EXP": "88", "GOTRUE_JWT_AUD": "members", "GOTRUE_MAILER_AUTOCONFIRM": "true"});
    assert_eq!(world.ok(Method::PATCH, "/config", Some(change.clone())).await, change);
    let session = world.sign_up("bob@example.com").await;
    assert_eq!((&session["expires_in"], &session["user"]["aud"]), (&json!(88), &json!("members")), "{session}");
    assert_eq!(world.call(Method::PATCH, "/config", Some(json!({"GOTRUE_JWT_EXP": 99}))).await.0, 400);
}

#[tokio::test]
async fn test_api_needs_its_key_and_exists_under_test_alone() {
    let server = TestServer::start();
    for key in ["", "wrong", &server.0.text("secret_key")] {
        let answer = server.0.client.get(format!("{}/worlds", server.0.text("test_url"))).bearer_auth(key).send().await;
        assert_eq!(answer.expect("an answer").status(), 401, "{key}");
    }
    let (status, error) = server.call(Method::GET, "/worlds/none", None).await;
    assert_eq!((status, error["code"].as_str()), (404, Some("not_found")));
    let answer = server.0.client.get(server.0.url("/w/none/auth/v1/health")).send().await.expect("an answer");
    assert_eq!(answer.status(), 404);

    let usual = Basalt::start(&mut basalt(), &["--ephemeral"]);
    assert!(usual.announcement.get("test_url").is_none());
    for path in ["/_test/worlds", "/w/default/auth/v1/health"] {
        let answer = usual.client.get(usual.url(path)).bearer_auth("x").send().await.expect("an answer");
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.starts_with("text/html"), "{path}: the shop answers, {kind}");
    }
}

#[tokio::test]
async fn deleted_worlds_leave_no_database_and_idle_ones_no_connection() {
    let server = TestServer::start();
    server.world(json!({})).await;
    for round in 0..3 {
        let mut made = Vec::new();
        for number in 0..5 {
            let world = server.world(json!({})).await;
            world.sign_up(&format!("user{number}@example.com")).await;
            made.push(world);
        }
        for world in made {
            assert_eq!(world.call(Method::DELETE, "", None).await.0, 204, "round {round}");
            assert_eq!(world.call(Method::GET, "", None).await.0, 404);
        }
    }
    let mut connection = connect_as_administrator(&server).await;
    let mut state = (0_i64, 0_i64);
    for _ in 0..100 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'world\\__%'";
        let sessions: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count");
        state = (count_databases(&server).await, sessions);
        // One world, the template, and the eight databases made in advance.
        if state == (10, 0) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    panic!("databases and sessions: {state:?}");
}

#[tokio::test]
async fn changes_of_a_world_complete_although_the_client_leaves() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    world.ok(Method::POST, "/snapshots/empty", None).await;
    let host = server.0.text("url").trim_start_matches("http://").to_owned();
    for (round, change) in ["reset", "snapshots/empty/restore", "fork"].iter().cycle().take(24).enumerate() {
        let mut connection = std::net::TcpStream::connect(&host).expect("a connection");
        let path = format!("/_test/worlds/{}/{change}", world.text("id"));
        let key = server.0.text("test_key");
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\ncontent-length: 0\r\n\r\n");
        std::io::Write::write_all(&mut connection, head.as_bytes()).expect("sent");
        tokio::time::sleep(Duration::from_millis(u64::try_from(round).expect("small"))).await;
        drop(connection);
        world.sign_up(&format!("user{round}@example.com")).await;
    }
    world.ok(Method::POST, "/reset", None).await;
    assert!(world.users().await.is_empty());
}

#[tokio::test]
async fn readers_that_wait_for_messages_hold_up_no_change() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    let waiting = server.0.client.get(format!("{}/_dev/inbox.json?wait=30", world.text("url"))).send();
    let waiting = tokio::spawn(waiting);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let started = std::time::Instant::now();
    for change in ["/snapshots/now", "/fork", "/snapshots/now/restore", "/reset"] {
        world.ok(Method::POST, change, None).await;
    }
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert_eq!(waiting.await.expect("no panic").expect("an answer").status(), 200);
}

#[tokio::test]
async fn refused_settings_end_no_request_that_waits_for_messages() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    world.sign_up("ann@example.com").await;
    let waiting = server.0.client.get(format!("{}/_dev/inbox.json?wait=20", world.text("url"))).send();
    let waiting = tokio::spawn(waiting);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let refused = world.call(Method::PATCH, "/config", Some(json!({"auth": {"unknown": 1}}))).await;
    assert_eq!(refused.0, 422, "{}", refused.1);
    assert_eq!(world.auth("/recover", Some(json!({"email": "ann@example.com"}))).await.0, 200);
    let inbox: Value = waiting.await.expect("no panic").expect("an answer").json().await.expect("JSON");
    assert_eq!(inbox["messages"].as_array().map(Vec::len), Some(1), "{inbox}");
}
