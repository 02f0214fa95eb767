//! Sessions without a sign-in.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use serde_json::{Value, json};
use test_bench::{TestApiError, authenticators, sessions, users};

const EMAIL: &str = "ann@example.com";
const KEY: &str = "sb-world-7-auth-token";

async fn world_with_user(entry: Value) -> World {
    let world = World::new().await;
    users::create(&world.app, json!([entry]).to_string().as_bytes()).await.expect("a valid user");
    world
}

async fn create(world: &World, body: Value) -> Result<Value, TestApiError> {
    sessions::create(&world.app, body.to_string().as_bytes(), KEY).await
}

async fn access_token(world: &World, body: Value) -> String {
    let answer = create(world, body).await.expect("a session");
    answer["session"]["access_token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn session_is_read_refreshed_and_signed_out() {
    for version in [1, 2] {
        let world = World::with(|policy| policy.refresh.algorithm_version = version).await;
        users::create(&world.app, json!([{"email": EMAIL, "password": PASSWORD}]).to_string().as_bytes())
            .await
            .expect("a valid user");
        let answer = create(&world, json!({"email": "ANN@example.com"})).await.expect("a session");
        assert_eq!(answer["storage_key"], KEY);
        let session = &answer["session"];
        let text = |name: &str| session[name].as_str().expect("a text").to_owned();
        assert_eq!((&session["token_type"], &session["expires_in"]), (&json!("bearer"), &json!(3600)));
        let user = world.get_as(&text("access_token"), "/user").await.expect(200);
        assert_eq!(user.json, session["user"]);
        world.advance(TimeDelta::minutes(61));
        world.get_as(&text("access_token"), "/user").await.expect(403);
        let refreshed = world.refresh(&text("refresh_token")).await.expect(200);
        let claims = world.decode_claims(refreshed.str("access_token"));
        assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal1"), &json!("password")));
        world.post_as(refreshed.str("access_token"), "/logout", json!({})).await.expect(204);
        world.refresh(refreshed.str("refresh_token")).await.expect(400);
    }
}

#[tokio::test]
async fn second_factor_is_kept_over_a_refresh() {
    let world = world_with_user(json!({"email": EMAIL, "password": PASSWORD, "factors": [{}]})).await;
    let answer = create(&world, json!({"email": EMAIL, "aal": "aal2"})).await.expect("a session");
    let session = &answer["session"];
    let claims = world.decode_claims(session["access_token"].as_str().expect("a token"));
    let methods = |claims: &Value| [claims["amr"][0]["method"].clone(), claims["amr"][1]["method"].clone()];
    assert_eq!((&claims["aal"], methods(&claims)), (&json!("aal2"), [json!("totp"), json!("password")]));
    let stored = world.database.query("SELECT concat_ws('|', aal, factor_id IS NOT NULL) FROM auth.sessions").await;
    assert_eq!(stored, ["aal2|t"]);
    world.advance(TimeDelta::minutes(1));
    let refreshed = world.refresh(session["refresh_token"].as_str().expect("a token")).await.expect(200);
    let claims = world.decode_claims(refreshed.str("access_token"));
    assert_eq!((&claims["aal"], methods(&claims)), (&json!("aal2"), [json!("totp"), json!("password")]));
    let factor = session["user"]["factors"][0]["id"].as_str().expect("an id");
    world.unenroll(refreshed.str("access_token"), factor).await.expect(200);
}

#[tokio::test]
async fn methods_follow_the_request_or_the_user() {
    let world = World::new().await;
    let entries = json!([
        {"email": "none@b.co"},
        {"email": "google@b.co", "identities": [{"provider": "google"}]},
        {"is_anonymous": true, "id": "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001"},
        {"phone": "15550100", "password": PASSWORD},
    ]);
    users::create(&world.app, entries.to_string().as_bytes()).await.expect("valid users");
    for (body, expected) in [
        (json!({"email": "none@b.co"}), json!(["otp"])),
        (json!({"email": "google@b.co"}), json!(["oauth"])),
        (json!({"id": "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001"}), json!(["anonymous"])),
        (json!({"phone": "+1 555 0100"}), json!(["password"])),
        (json!({"phone": "15550100", "amr": ["otp", "mfa/phone"]}), json!(["mfa/phone", "otp"])),
        (json!({"phone": "15550100", "amr": ["magiclink"], "aal": "aal1"}), json!(["magiclink"])),
    ] {
        let claims = world.decode_claims(&access_token(&world, body.clone()).await);
        let methods: Value =
            claims["amr"].as_array().expect("a list").iter().map(|entry| entry["method"].clone()).collect();
        assert_eq!(methods, expected, "{body}");
    }
}

#[tokio::test]
async fn expiry_is_the_requested_one() {
    let world = world_with_user(json!({"email": EMAIL})).await;
    let answer = create(&world, json!({"email": EMAIL, "expires_in": 60})).await.expect("a session");
    assert_eq!(answer["session"]["expires_at"], world.now().timestamp() + 60);
    assert_eq!(answer["session"]["expires_in"], 60);
    let token = answer["session"]["access_token"].as_str().expect("a token");
    world.get_as(token, "/user").await.expect(200);
    world.advance(TimeDelta::seconds(61));
    world.get_as(token, "/user").await.expect(403);
    let expired = access_token(&world, json!({"email": EMAIL, "expires_in": -60})).await;
    let refused = world.get_as(&expired, "/user").await.expect(403);
    assert_eq!(refused.str("error_code"), "bad_jwt");
}

#[tokio::test]
async fn session_is_formatted_for_ssr_and_playwright() {
    let world = world_with_user(json!({"email": EMAIL, "user_metadata": {"text": "ä".repeat(2000)}})).await;
    let origin = "https://shop.example:8443/cart";
    let answer = create(&world, json!({"email": EMAIL, "format": "ssr", "origin": origin})).await.expect("a session");
    let cookies = answer["cookies"].as_array().expect("cookies");
    assert!(cookies.len() > 1);
    for (number, cookie) in cookies.iter().enumerate() {
        assert_eq!(cookie["name"], format!("{KEY}.{number}"));
        assert_eq!((&cookie["domain"], &cookie["secure"]), (&json!("shop.example"), &json!(true)));
    }
    let header = answer["cookie_header"].as_str().expect("a text");
    assert!(header.starts_with(&format!("{KEY}.0=base64-")) && header.contains(&format!("; {KEY}.1=")));

    let answer = create(&world, json!({"email": EMAIL, "format": "playwright"})).await.expect("a session");
    let state = &answer["storage_state"];
    assert_eq!((&state["cookies"], &state["origins"][0]["origin"]), (&json!([]), &json!("http://shop.example.com")));
    let entry = &state["origins"][0]["localStorage"][0];
    assert_eq!(entry["name"], KEY);
    let stored: Value = serde_json::from_str(entry["value"].as_str().expect("a text")).expect("JSON");
    assert_eq!(stored, answer["session"]);
}

#[tokio::test]
async fn unknown_user_and_invalid_origin_are_refused() {
    let world = world_with_user(json!({"email": EMAIL})).await;
    for (body, status, expected) in [
        (json!({"email": "bob@example.com"}), 404, "no user has the address bob@example.com"),
        (json!({"id": "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001"}), 404, "no user has the id"),
        (json!({"email": EMAIL, "format": "ssr", "origin": "shop"}), 400, "origin: "),
    ] {
        let error = create(&world, body.clone()).await.expect_err("refused");
        assert_eq!(error.status.as_u16(), status, "{body}");
        assert!(error.message.contains(expected), "{body}: {}", error.message);
    }
    assert_eq!(world.database.query("SELECT count(*) FROM auth.sessions").await, ["0"]);
}

#[tokio::test]
async fn generated_code_verifies_a_factor() {
    let world = world_with_user(json!({"email": EMAIL, "password": PASSWORD})).await;
    let user = world.sign_in(EMAIL).await;
    let factor = world.enroll_totp(&user, "app").await;
    let body = json!({"secret": factor.secret}).to_string();
    let generated = authenticators::totp(world.now(), body.as_bytes()).expect("a code");
    let challenge = world.create_challenge(&user.access_token, &factor.id).await.expect(200);
    let code = generated["code"].as_str().expect("a text");
    world.verify_challenge(&user.access_token, &factor.id, challenge.str("id"), code).await.expect(200);
}
