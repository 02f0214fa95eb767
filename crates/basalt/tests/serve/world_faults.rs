//! Faults of hooks that are database functions, and of mails that stay in the outbox.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::bench::{TestServer, World};

const EMAIL: &str = "ann@example.com";
const PASSWORD: &str = "correct horse battery";
/// A function of every database that returns its argument, and so the claims.
const FUNCTION: &str = "pg-functions://postgres/pg_catalog/jsonb_strip_nulls";

async fn add_fault(world: &World<'_>, rule: Value) {
    let added = world.ok(Method::POST, "/faults", Some(rule)).await;
    assert_eq!(added["hits"], 0, "{added}");
}

/// Signs in; returns status, body and duration.
async fn sign_in(world: &World<'_>) -> (u16, Value, Duration) {
    let started = Instant::now();
    let body = json!({"email": EMAIL, "password": PASSWORD});
    let (status, answer) = world.auth("/token?grant_type=password", Some(body)).await;
    (status, answer, started.elapsed())
}

#[tokio::test]
async fn faults_of_hooks_affect_database_functions() {
    let server = TestServer::start();
    let env = json!({"GOTRUE_MAILER_AUTOCONFIRM": "true", "GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED": "true",
                     "GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI": FUNCTION});
    let world = server.world(json!({"profile": "gotrue", "env": env})).await;
    world.sign_up(EMAIL).await;
    let fault = |action: Value| json!({"target": "hook:custom_access_token", "count": 1, "do": action});

    add_fault(&world, fault(json!({"failure": "refuse"}))).await;
    let (status, refused, _) = sign_in(&world).await;
    assert_eq!((status, &refused["msg"]), (500, &json!(format!("Error running hook URI: {FUNCTION}"))), "{refused}");
    assert_eq!(sign_in(&world).await.0, 200, "the rule has acted once");

    add_fault(&world, fault(json!({"status": 403}))).await;
    let (status, refused, _) = sign_in(&world).await;
    assert_eq!((status, &refused["msg"]), (403, &json!("injected fault")), "{refused}");

    add_fault(&world, fault(json!({"delay_ms": 300}))).await;
    let (status, _, took) = sign_in(&world).await;
    assert!(status == 200 && took >= Duration::from_millis(300), "{status} after {took:?}");

    add_fault(&world, fault(json!({"failure": "hang"}))).await;
    let (status, _, took) = sign_in(&world).await;
    assert!(status == 500 && took >= Duration::from_secs(2), "{status} after {took:?}");
}

#[tokio::test]
async fn slow_mail_server_delays_mails_by_the_clock_of_the_world() {
    let server = TestServer::start();
    let world = server.world(json!({"config": {"auth": {"email": {"enable_confirmations": true}}}})).await;
    add_fault(&world, json!({"target": "smtp", "count": 1, "do": {"delay_ms": 120_000}})).await;
    let body = json!({"email": EMAIL, "password": PASSWORD});
    assert_eq!(world.auth("/signup", Some(body)).await.0, 200);
    let messages = || world.ok(Method::GET, "/messages", None);
    assert_eq!(messages().await["messages"], json!([]));
    world.ok(Method::POST, "/clock", Some(json!({"advance": "90s"}))).await;
    assert_eq!(messages().await["messages"], json!([]));
    world.ok(Method::POST, "/clock", Some(json!({"advance": "31s"}))).await;
    let arrived = messages().await;
    assert_eq!(arrived["messages"][0]["to"], json!(EMAIL), "{arrived}");
}
