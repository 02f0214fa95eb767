use chrono::TimeDelta;
use gotrue_rs::testing::{HookServer, TestUser, json_response};
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::{accounts, confirmed_at_once};

const KIND: HookKind = HookKind::CustomAccessToken;

/// Answers with the claims that came, one changed.
fn adding(receiver: &HookServer, name: &'static str, value: Value) {
    receiver.respond("/hook", move |call| {
        let mut claims = call.json()["claims"].clone();
        claims[name] = value.clone();
        json_response(200, &json!({ "claims": claims }))
    });
}

#[tokio::test]
async fn the_hook_replaces_the_claims_of_every_token() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    adding(&receiver, "plan", json!("pro"));
    let ann = world.create_user("ann@example.com").await;
    let next = TestUser::from_session(&world.refresh(&ann.refresh_token).await);
    for token in [&ann.access_token, &next.access_token] {
        let claims = world.app.keys.verify(token, world.now()).expect("our own token");
        assert_eq!((&claims["plan"], &claims["sub"]), (&json!("pro"), &json!(ann.id)));
    }
    let events = receiver.bodies("/hook");
    let methods: Vec<&Value> = events.iter().map(|event| &event["authentication_method"]).collect();
    assert_eq!(methods, ["password", "token_refresh"]);
    assert_eq!(events[1]["claims"]["session_id"], ann.session);
}

#[tokio::test]
async fn refresh_with_a_hook_returns_the_user_as_it_is_stored() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    adding(&receiver, "plan", json!("pro"));
    let ann = world.create_user("ann@example.com").await;
    world.advance(TimeDelta::minutes(30));
    let refreshed = world.refresh(&ann.refresh_token).await.expect(200);
    let stored = world.get_as(refreshed.str("access_token"), "/user").await.expect(200);
    assert_eq!(refreshed.str("user/updated_at"), stored.str("updated_at"));
}

#[tokio::test]
async fn expires_in_ignores_the_hooks_exp_claim() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    adding(&receiver, "exp", json!(world.now().timestamp() + 60));
    world.create_user("ann@example.com").await;
    let answer = world.try_password("ann@example.com", "correct horse").await.expect(200);
    assert_eq!(answer.json["expires_in"], 3600);
}

#[tokio::test]
async fn rejecting_hook_opens_no_session_and_keeps_the_refresh_token() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    adding(&receiver, "plan", json!("pro"));
    let ann = world.create_user("ann@example.com").await;
    receiver.answer("/hook", json!({"error": {"http_code": 403, "message": "Not from here"}}));
    let sessions = || world.database.query("SELECT count(*) FROM auth.sessions");
    let answer = world.try_password(&ann.email, "correct horse").await;
    assert_eq!((answer.status.as_u16(), answer.str("msg")), (403, "Not from here"));
    assert_eq!(answer.header("sb-auth-user-id"), ann.id);
    let lengths = ["sb-auth-session-id", "sb-auth-refresh-token-prefix"].map(|name| answer.header(name).len());
    assert_eq!(lengths, [36, 5], "as in GoTrue, the headers of the session that is rolled back");
    assert_eq!(world.refresh(&ann.refresh_token).await.status, 403);
    assert_eq!(sessions().await, ["1"]);
    adding(&receiver, "plan", json!("pro"));
    world.refresh(&ann.refresh_token).await.expect(200);
}

#[tokio::test]
async fn rejecting_hook_keeps_the_new_user_without_session() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    receiver.answer("/hook", json!({ "claims": {} }));
    let answer = world.post("/signup", json!({"email": "ann@example.com", "password": "correct horse"})).await;
    assert_eq!(answer.status, 500);
    assert!(answer.str("msg").starts_with("output claims do not conform to the expected schema: \n- (root): aud is"));
    assert_eq!(accounts(&world).await, "1");
}

#[tokio::test]
async fn rejecting_hook_deletes_the_new_anonymous_user() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).policy(|policy| policy.sign_up.anonymous_enabled = true);
    let world = world.build().await;
    receiver.answer("/hook", json!({"error": {"http_code": 403, "message": "Not from here"}}));
    let answer = world.post("/signup", json!({})).await;
    assert_eq!(answer.str("msg"), "Database error creating anonymous user");
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn sign_in_calls_the_hook_outside_a_transaction() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    adding(&receiver, "plan", json!("pro"));
    world.create_user("ann@example.com").await;
    world.sign_in("ann@example.com").await;
    assert_eq!(world.journal().statements(), ["users.by_email", "sessions.create"]);
    assert!(!format!("{:?}", world.journal().steps()).contains("BEGIN"));
}
