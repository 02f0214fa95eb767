use chrono::TimeDelta;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use http::Method;
use serde_json::json;

use super::{VERIFIER, accounts, flow_code};
use crate::user::{Acting, create_user};

const ANN: &str = "ann@example.com";

#[tokio::test]
async fn magic_link_signs_in_once() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let response = world.post("/magiclink", json!({ "email": "ANN@example.com" })).await.expect(200);
    assert_eq!(response.json, json!({}));
    let link = world.link(ANN);
    let followed = world.get(&link).await.expect(303);
    assert!(followed.header("location").contains("#access_token="), "{}", followed.header("location"));
    assert!(followed.header("location").ends_with("&type=magiclink"));
    let again = world.get(&link).await.expect(303);
    assert!(again.header("location").contains("error_code=otp_expired"), "{}", again.header("location"));
    assert_eq!(ann.log(&world).await[2..], ["user_recovery_requested", "login"]);
}

#[tokio::test]
async fn magic_link_signs_up_unknown_email() {
    let world = World::new().await;
    world.post("/magiclink", json!({ "email": ANN, "data": { "plan": "free" } })).await.expect(200);
    assert!(world.link(ANN).contains("type=signup"));
    let code = json!({ "type": "email", "email": ANN, "token": world.code(ANN) });
    let session = world.post("/verify", code).await.expect(200);
    assert_eq!(session.str("user/user_metadata/plan"), "free");
}

#[tokio::test]
async fn passwordless_user_gets_a_random_password() {
    let world = World::new().await;
    world.post("/magiclink", json!({ "email": ANN })).await.expect(200);
    world.get(&world.link(ANN)).await.expect(303);
    let stored = world.database.query("SELECT left(encrypted_password, 4) FROM auth.users").await.concat();
    assert_eq!(stored, "$2a$", "it has one, so that it is not taken for an account without");
    for guess in ["", " ", "password", ANN] {
        assert_eq!(world.try_password(ANN, guess).await.refusal(), (400, "invalid_credentials"));
    }
}

#[tokio::test]
async fn trailing_body_content_is_ignored() {
    let world = World::new().await;
    let request = http::Request::post("/magiclink").body(r#"{"email":"ann@example.com"} and more"#.into());
    world.send(request.expect("a request")).await.expect(200);
    assert_eq!(world.mailbox.all().len(), 1);
}

#[tokio::test]
async fn pkce_code_lifetime_starts_at_the_click() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let body = json!({ "email": ANN, "code_challenge": VERIFIER, "code_challenge_method": "plain" });
    world.post("/magiclink", body).await.expect(200);
    world.advance(TimeDelta::minutes(50));
    let code = flow_code(&world, ANN).await;
    world.advance(TimeDelta::minutes(4));
    let exchange = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let session = world.post("/token?grant_type=pkce", exchange).await.expect(200);
    assert_eq!(session.str("user/id"), ann.id);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let world = World::new().await;
    for (body, refusal) in [
        (json!({}), (422, "validation_failed")),
        (json!({ "email": "ann at home" }), (400, "validation_failed")),
        (json!({ "email": ANN, "code_challenge": VERIFIER }), (400, "validation_failed")),
        (json!({ "email": 7 }), (400, "bad_json")),
    ] {
        assert_eq!(world.post("/magiclink", body.clone()).await.refusal(), refusal, "{body}");
    }
    let nothing = world.request(Method::POST, "/magiclink", &[], None).await;
    assert_eq!(nothing.refusal(), (400, "bad_json"));
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn disabled_feature_is_reported_before_the_body_is_read() {
    let switches: [fn(&mut Policy); 2] =
        [|policy| policy.sign_up.email_enabled = false, |policy| policy.sign_up.magic_link_enabled = false];
    for switch in switches {
        let world = World::with(switch).await;
        let broken = world.request(Method::POST, "/magiclink", &[], None).await;
        assert_eq!(broken.refusal(), (422, "email_provider_disabled"));
    }
}
