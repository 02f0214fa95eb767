//! Hooks that are called without a database connection in use.

use std::sync::Arc;

use gotrue_rs::testing::{HookServer, World, json_response};
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{confirmed_at_once, with_hook};

/// The hook asks the server who the token's owner is before it answers; the server has one connection.
async fn calling_back(kind: HookKind, answer: fn(&Value) -> Value) -> (HookServer, Arc<World>, String) {
    let receiver = HookServer::start().await;
    let world = Arc::new(confirmed_at_once(&receiver, kind).connections(1).build().await);
    receiver.respond("/hook", move |call| json_response(200, &answer(&call.json())));
    let token = world.create_user("ann@example.com").await.access_token;
    let (server, caller) = (world.clone(), token.clone());
    receiver.respond_after("/hook", move |call| {
        let (world, token) = (server.clone(), caller.clone());
        Box::pin(async move {
            world.get_as(&token, "/user").await.expect(200);
            json_response(200, &answer(&call.json()))
        })
    });
    (receiver, world, token)
}

fn nothing(_: &Value) -> Value {
    json!({})
}

fn the_same_claims(event: &Value) -> Value {
    json!({"claims": event["claims"]})
}

#[tokio::test]
async fn password_hook_holds_no_connection() {
    let (receiver, world, _) = calling_back(HookKind::PasswordVerificationAttempt, nothing).await;
    world.sign_in("ann@example.com").await;
    assert_eq!(receiver.calls().len(), 1);
}

#[tokio::test]
async fn token_hook_holds_no_connection() {
    let (receiver, world, _) = calling_back(HookKind::CustomAccessToken, the_same_claims).await;
    world.sign_in("ann@example.com").await;
    assert_eq!(receiver.calls().len(), 2);
}

#[tokio::test]
async fn before_user_created_hook_holds_no_connection() {
    let (receiver, world, _) = calling_back(HookKind::BeforeUserCreated, nothing).await;
    world.create_user("bob@example.com").await;
    assert_eq!(receiver.calls().len(), 2);
}

#[tokio::test]
async fn send_email_hook_holds_no_connection_for_existing_users() {
    let (receiver, world, token) = calling_back(HookKind::SendEmail, nothing).await;
    world.post("/recover", json!({"email": "ann@example.com"})).await.expect(200);
    world.put_as(&token, "/user", json!({"email": "ann.new@example.com"})).await.expect(200);
    assert_eq!(receiver.calls().len(), 2);
}

#[tokio::test]
async fn sign_ups_waiting_for_mail_leave_a_connection_free() {
    let receiver = HookServer::start().await;
    let world = Arc::new(with_hook(&receiver, HookKind::SendEmail).connections(2).build().await);
    let gate = Arc::new(Semaphore::new(0));
    let closed = gate.clone();
    receiver.respond_after("/hook", move |_| {
        let closed = closed.clone();
        Box::pin(async move {
            closed.acquire().await.expect("it is open at last").forget();
            json_response(200, &json!({}))
        })
    });
    let sign_up = |name: &'static str| {
        let world = world.clone();
        let body = json!({"email": name, "password": "correct horse"});
        tokio::spawn(async move { world.post("/signup", body).await })
    };
    let waiting = [sign_up("ann@example.com"), sign_up("bob@example.com"), sign_up("cid@example.com")];
    receiver.wait_for_calls(1).await;
    let answer = world.try_password("unknown@example.com", "correct horse").await;
    assert_eq!(answer.refusal(), (400, "invalid_credentials"));
    gate.add_permits(3);
    for sign_up in waiting {
        sign_up.await.expect("no panic").expect(200);
    }
    assert_eq!(receiver.calls().len(), 3);
}
