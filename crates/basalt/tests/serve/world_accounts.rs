//! Users, sessions, authenticators and faults of worlds, by the test API.

use reqwest::Method;
use serde_json::{Value, json};

use super::bench::{TestServer, World};

const EMAIL: &str = "ann@example.com";
const PASSWORD: &str = "correct horse battery";

async fn add_fault(world: &World<'_>, rule: Value) {
    let added = world.ok(Method::POST, "/faults", Some(rule)).await;
    assert_eq!(added["hits"], 0, "{added}");
}

#[tokio::test]
async fn arranged_user_signs_in_and_has_sessions_of_any_level() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    let entry = json!({"email": EMAIL, "password": PASSWORD, "factors": [{"friendly_name": "app"}]});
    let users = world.ok(Method::POST, "/users", Some(json!([entry]))).await;
    let (status, session) =
        world.auth("/token?grant_type=password", Some(json!({"email": EMAIL, "password": PASSWORD}))).await;
    assert_eq!((status, &session["user"]["id"]), (200, &users[0]["id"]), "{session}");
    let factor = &users[0]["factors"][0];
    let code = world.ok(Method::POST, "/authenticators/totp", Some(json!({"secret": factor["secret"]}))).await;
    assert_eq!(code["code"].as_str().map(str::len), Some(6), "{code}");

    let answer = world.ok(Method::POST, "/sessions", Some(json!({"email": EMAIL, "aal": "aal2"}))).await;
    assert_eq!(answer["storage_key"], world.text("storage_key"));
    let token = answer["session"]["access_token"].as_str().expect("a token");
    let (status, user) = world.auth_as(token, "/user", None).await;
    assert_eq!((status, &user["email"]), (200, &json!(EMAIL)));
    let refresh = json!({"refresh_token": answer["session"]["refresh_token"]});
    assert_eq!(world.auth("/token?grant_type=refresh_token", Some(refresh)).await.0, 200);
}

#[tokio::test]
async fn recovery_codes_of_a_new_user_raise_its_session_once() {
    let server = TestServer::start();
    let mfa = json!({"totp": {"verify_enabled": true}, "recovery_codes": {"verify_enabled": true, "count": 4}});
    let world = server.world(json!({"config": {"auth": {"mfa": mfa}}})).await;
    let factors = json!([{}, {"type": "recovery_code"}]);
    let entry = json!({"email": EMAIL, "password": PASSWORD, "factors": factors});
    let users = world.ok(Method::POST, "/users", Some(json!([entry]))).await;
    let codes = users[0]["factors"][1]["codes"].as_array().cloned().unwrap_or_default();
    assert_eq!(codes.len(), 4, "{users}");
    let (_, session) =
        world.auth("/token?grant_type=password", Some(json!({"email": EMAIL, "password": PASSWORD}))).await;
    let token = session["access_token"].as_str().expect("a token");
    let path = "/factors/recovery-codes/verify";
    let (status, raised) = world.auth_as(token, path, Some(json!({"code": codes[0]}))).await;
    assert_eq!(status, 200, "{raised}");
    assert_eq!(world.auth_as(token, path, Some(json!({"code": codes[0]}))).await.0, 422);
    let (_, status) = world.auth_as(token, "/factors/recovery-codes", None).await;
    assert_eq!((&status["total"], &status["remaining"]), (&json!(4), &json!(3)), "{status}");
    let given = json!({"email": "bob@example.com", "factors": [{"type": "recovery_code", "codes": ["ABCD-efgh"]}]});
    let users = world.ok(Method::POST, "/users", Some(json!([given]))).await;
    assert_eq!(users[0]["factors"][0]["codes"], json!(["abcdefgh"]));
}

#[tokio::test]
async fn faults_affect_the_requests_of_their_world() {
    let server = TestServer::start();
    let (first, second) = (server.world(json!({})).await, server.world(json!({})).await);
    let rule =
        json!({"match": {"path": "/auth/v1/settings"}, "count": 1, "do": {"error_code": "over_request_rate_limit"}});
    add_fault(&first, rule).await;
    assert_eq!(second.auth("/settings", None).await.0, 200);
    let (status, body) = first.auth("/settings", None).await;
    assert_eq!((status, &body["error_code"]), (429, &json!("over_request_rate_limit")));
    assert_eq!(first.auth("/settings", None).await.0, 200, "the rule has a count");
    let listed = first.ok(Method::GET, "/faults", None).await;
    assert_eq!((&listed["faults"][0]["hits"], &listed["faults"][0]["matched"]), (&json!(1), &json!(2)), "{listed}");

    add_fault(&first, json!({"match": {"path": "/auth/v1/health"}, "do": {"drop": true}})).await;
    let url = format!("{}/auth/v1/health", first.text("url"));
    let dropped = server.0.client.get(&url).header("apikey", first.text("publishable_key")).send().await;
    assert!(dropped.is_err(), "{dropped:?}");
    first.ok(Method::DELETE, "/faults", None).await;
    assert_eq!(first.auth("/health", None).await.0, 200);
    let (status, refused) =
        first.call(Method::POST, "/faults", Some(json!({"do": {"error_code": "no_such_code"}}))).await;
    assert_eq!((status, &refused["code"]), (400, &json!("bad_request")), "{refused}");
}

#[tokio::test]
async fn faults_affect_database_and_messages() {
    let server = TestServer::start();
    let config = json!({"auth": {"sms": {"enable_signup": true}, "email": {"enable_confirmations": true}}});
    let world = server.world(json!({"config": config})).await;
    add_fault(&world, json!({"target": "database", "count": 1, "do": {"failure": "lost_connection"}})).await;
    let sign_up = json!({"email": EMAIL, "password": PASSWORD});
    assert_eq!(world.auth("/signup", Some(sign_up.clone())).await.0, 503);
    add_fault(&world, json!({"target": "sms", "count": 1, "do": {"failure": "refuse"}})).await;
    let (status, body) = world.auth("/otp", Some(json!({"phone": "15550100"}))).await;
    assert_eq!((status, &body["error_code"]), (422, &json!("sms_send_failed")), "{body}");
    add_fault(&world, json!({"target": "smtp", "count": 1, "do": {"failure": "bounce"}})).await;
    assert_eq!(world.auth("/signup", Some(sign_up.clone())).await.0, 200);
    assert_eq!(world.ok(Method::GET, "/messages", None).await["messages"], json!([]));

    let gotrue = server.world(json!({"profile": "gotrue"})).await;
    add_fault(&gotrue, json!({"target": "smtp", "count": 1, "do": {"failure": "refuse"}})).await;
    let (status, body) = gotrue.auth("/signup", Some(sign_up.clone())).await;
    assert_eq!((status, &body["msg"]), (500, &json!("Error sending confirmation email")), "{body}");
    assert_eq!(gotrue.auth("/signup", Some(sign_up)).await.0, 200);
    let messages = gotrue.ok(Method::GET, "/messages", None).await;
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(1), "{messages}");
}
