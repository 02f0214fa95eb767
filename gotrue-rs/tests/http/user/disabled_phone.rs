//! Phone numbers while phone sign-up is disabled: refused, without revealing e-mail addresses.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const NUMBER: &str = "15550100";

/// The hardened policy with phone sign-up disabled and phone autoconfirm enabled.
async fn served() -> World {
    let build = World::builder().as_served().with_phones().policy(|policy| {
        policy.sign_up.phone_enabled = false;
        policy.sign_up.anonymous_enabled = true;
        policy.sms.autoconfirm = true;
    });
    build.build().await
}

#[tokio::test]
async fn phone_change_is_refused_without_writes() {
    let world = served().await;
    let ann = world.create_user(ANN).await;
    for body in [
        json!({"phone": NUMBER}),
        json!({"phone": NUMBER, "data": {"a": 1}}),
        json!({"phone": NUMBER, "password": "another one"}),
    ] {
        let answer = world.put_as(&ann.access_token, "/user", body).await;
        assert_eq!(answer.refusal(), (400, "phone_provider_disabled"));
    }
    let user = world.get_as(&ann.access_token, "/user").await.expect(200);
    assert_eq!((user.str("phone"), user.str("new_phone"), &user.json["user_metadata"]["a"]), ("", "", &Value::Null));
    world.try_password(ANN, PASSWORD).await.expect(200);
    assert!(world.phones.all().is_empty());
}

#[tokio::test]
async fn anonymous_user_stays_anonymous_with_a_phone() {
    let world = served().await;
    let guest = world.post("/signup", json!({})).await.expect(200);
    let token = guest.str("access_token");
    let answer = world.put_as(token, "/user", json!({"phone": NUMBER, "password": PASSWORD})).await;
    assert_eq!(answer.refusal(), (400, "phone_provider_disabled"));
    let user = world.get_as(token, "/user").await.expect(200);
    assert_eq!((&user.json["is_anonymous"], user.str("phone")), (&json!(true), ""));
    let body = json!({"phone": NUMBER, "password": PASSWORD});
    assert_ne!(world.post("/token?grant_type=password", body).await.status, 200);
}

#[tokio::test]
async fn unchanged_phone_is_accepted() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.phone_enabled = false).build().await;
    let body =
        json!({"email": ANN, "phone": NUMBER, "password": PASSWORD, "email_confirm": true, "phone_confirm": true});
    world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    let token = world.sign_in(ANN).await.access_token;
    let answer = world.put_as(&token, "/user", json!({"phone": NUMBER, "data": {"a": 1}})).await.expect(200);
    assert_eq!(answer.json["user_metadata"]["a"], 1);
}

#[tokio::test]
async fn sign_up_does_not_reveal_taken_emails() {
    let world = served().await;
    world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    let mut seen = Vec::new();
    for email in [ANN, "new@example.com"] {
        let answer = world.post("/signup", json!({"email": email, "password": PASSWORD})).await;
        let members: Vec<String> = answer.json.as_object().expect("an object").keys().cloned().collect();
        seen.push((answer.status, members));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn gotrue_mode_behaves_as_recorded() {
    let world = World::with(|policy| {
        policy.sign_up.phone_enabled = false;
        policy.sms.autoconfirm = true;
    })
    .await;
    let ann = world.create_user(ANN).await;
    let answer = world.put_as(&ann.access_token, "/user", json!({"phone": NUMBER})).await.expect(200);
    assert_eq!(answer.str("phone"), NUMBER);
    let again = world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await;
    assert_eq!(again.refusal(), (422, "user_already_exists"));
}
