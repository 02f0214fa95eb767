//! `GET` and `POST /verify` with sign-ups; each type is in [`types`], PKCE flows in [`flows`].

mod flows;
mod types;

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use http::Method;
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

async fn unconfirmed_user() -> World {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    world
}

fn code(kind: &str, token: &str) -> Value {
    json!({"type": kind, "email": ANN, "token": token})
}

fn hash_of(link: &str) -> String {
    let (_, rest) = link.split_once("token=").expect("a link has a token");
    rest.split('&').next().unwrap_or_default().to_owned()
}

async fn is_confirmed(world: &World) -> bool {
    let found = world.database.query("SELECT 1 FROM auth.users WHERE email_confirmed_at IS NOT NULL").await;
    !found.is_empty()
}

#[tokio::test]
async fn mailed_link_confirms_and_redirects_with_a_session() {
    let world = unconfirmed_user().await;
    let answer = world.get(&world.link(ANN)).await.expect(303);
    let location = answer.header("location");
    let (site, fragment) = location.split_once('#').expect("the session is in the fragment");
    assert_eq!(site, "http://shop.example.com");
    for part in ["access_token=", "expires_in=3600", "refresh_token=", "token_type=bearer", "type=signup"] {
        assert!(fragment.contains(part), "{part} in {fragment}");
    }
    assert!(is_confirmed(&world).await);
}

#[tokio::test]
async fn mailed_code_confirms_and_opens_a_session() {
    let world = unconfirmed_user().await;
    let answer = world.post("/verify", code("signup", &world.code(ANN))).await.expect(200);
    assert!(!answer.str("user/email_confirmed_at").is_empty());
    assert_eq!(answer.json.pointer("/user/user_metadata/email_verified"), Some(&json!(true)));
    assert_eq!(answer.json.pointer("/user/identities/0/identity_data/email_verified"), Some(&json!(true)));
    assert!(answer.json.get("weak_password").is_none());
    let user = world.get_as(answer.str("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("email"), ANN);
}

#[tokio::test]
async fn token_hash_confirms_with_type_signup_or_email() {
    for kind in ["signup", "email"] {
        let world = unconfirmed_user().await;
        let body = json!({"type": kind, "token_hash": hash_of(&world.link(ANN))});
        world.post("/verify", body).await.expect(200);
        assert!(is_confirmed(&world).await);
    }
}

#[tokio::test]
async fn a_code_works_once() {
    let world = unconfirmed_user().await;
    let mailed = world.code(ANN);
    world.post("/verify", code("signup", &mailed)).await.expect(200);
    assert_eq!(world.post("/verify", code("signup", &mailed)).await.refusal(), (403, "otp_expired"));
}

#[tokio::test]
async fn used_link_redirects_with_an_error_fragment() {
    let world = unconfirmed_user().await;
    let link = world.link(ANN);
    world.get(&link).await.expect(303);
    let again = world.get(&link).await.expect(303);
    let location = again.header("location");
    assert!(location.starts_with("http://shop.example.com#error=access_denied&error_code=otp_expired"), "{location}");
    assert!(!location.contains("access_token"));
}

#[tokio::test]
async fn link_redirects_to_the_sign_up_target_if_allowed() {
    let world =
        World::with(|policy| policy.site.redirect_allow_list = vec!["https://app.example.com/**".to_owned()]).await;
    for (requested, back) in [
        ("https://app.example.com/welcome", "https://app.example.com/welcome#"),
        ("https://evil.example.net/", "http://shop.example.com#"),
    ] {
        let email = format!("{}@example.com", requested.len());
        let path = format!("/signup?redirect_to={requested}");
        world.post(&path, json!({"email": email, "password": PASSWORD})).await.expect(200);
        let answer = world.get(&world.link(&email)).await.expect(303);
        assert!(answer.header("location").starts_with(back), "{}", answer.header("location"));
    }
}

#[tokio::test]
async fn banned_user_is_not_confirmed() {
    let world = unconfirmed_user().await;
    let until = world.now() + TimeDelta::hours(1);
    world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
    assert_eq!(world.post("/verify", code("signup", &world.code(ANN))).await.refusal(), (403, "user_banned"));
    assert!(world.get(&world.link(ANN)).await.header("location").contains("error_code=user_banned"));
    assert!(!is_confirmed(&world).await);
}

#[tokio::test]
async fn validation_errors_follow_the_documented_order() {
    let world = unconfirmed_user().await;
    for (body, refusal) in [
        (json!({"token": "1", "email": ANN}), (400, "validation_failed")),
        (json!({"type": "signup"}), (400, "validation_failed")),
        (json!({"type": "signup", "token": "1", "token_hash": "2"}), (400, "validation_failed")),
        (json!({"type": "signup", "token": "1"}), (400, "validation_failed")),
        (json!({"type": "signup", "token": "1", "email": "x", "phone": "1"}), (400, "validation_failed")),
        (json!({"type": "signup", "token": "1", "email": "no address"}), (422, "validation_failed")),
        (json!({"type": "signup", "token_hash": "1", "email": ANN}), (400, "validation_failed")),
        (json!({"type": "sms", "token_hash": "1"}), (400, "validation_failed")),
        (json!({"type": "Signup", "token_hash": "1"}), (400, "validation_failed")),
        (json!({"type": "Signup", "token": "1", "email": ANN}), (403, "otp_expired")),
        (json!({"type": "signup", "token": "1", "email": "unknown@example.com"}), (403, "otp_expired")),
        (json!({"type": "signup", "token_hash": "1"}), (403, "otp_expired")),
    ] {
        assert_eq!(world.post("/verify", body.clone()).await.refusal(), refusal, "{body}");
    }
}

#[tokio::test]
async fn missing_type_or_token_of_a_link_is_a_json_error() {
    let world = World::new().await;
    for path in ["/verify", "/verify?token=1", "/verify?type=signup", "/verify?type=signup&token="] {
        assert_eq!(world.get(path).await.refusal(), (400, "validation_failed"), "{path}");
    }
    for path in ["/verify?type=signup&token=1", "/verify?type=unknown&token=1", "/verify?type=sms&token=1"] {
        let answer = world.get(path).await.expect(303);
        assert!(answer.header("location").starts_with("http://shop.example.com#error="), "{path}");
    }
}

#[tokio::test]
async fn failed_session_keeps_the_link_unused() {
    let world = unconfirmed_user().await;
    let link = world.link(ANN);
    world.faults.fail("sessions.create", 1);
    let failed = world.get(&link).await.expect(303);
    assert!(failed.header("location").contains("error=server_error"), "{}", failed.header("location"));
    assert!(!is_confirmed(&world).await);
    assert!(world.get(&link).await.header("location").contains("access_token="));
}

#[tokio::test]
async fn link_of_an_expired_flow_stays_unused() {
    let world = World::new().await;
    let body = json!({"email": ANN, "password": PASSWORD, "code_challenge_method": "plain",
                      "code_challenge": "x".repeat(43)});
    world.post("/signup", body).await.expect(200);
    world.database.query("DELETE FROM auth.flow_state").await;
    let answer = world.get(&world.link(ANN)).await.expect(303);
    assert!(answer.header("location").contains("error_code=flow_state_not_found"), "{}", answer.header("location"));
    assert!(!is_confirmed(&world).await);
}

#[tokio::test]
async fn other_methods_are_not_routed() {
    let world = World::new().await;
    for method in [Method::HEAD, Method::PUT, Method::DELETE] {
        world.request(method, "/verify?type=signup&token=1", &[], None).await.expect(405);
    }
}
