//! Numbers while sign-up by number is off: `serve` takes none, and tells nothing of addresses by how it treats numbers.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const NUMBER: &str = "15550100";

/// A world as served without accounts by number, where numbers would count as confirmed at once.
async fn served() -> World {
    let build = World::builder().as_served().with_phones().policy(|policy| {
        policy.sign_up.phone_enabled = false;
        policy.sign_up.anonymous_enabled = true;
        policy.sms.autoconfirm = true;
    });
    build.build().await
}

#[tokio::test]
async fn a_change_of_number_is_refused_and_nothing_is_stored() {
    let world = served().await;
    let ann = world.person(ANN).await;
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
async fn an_anonymous_account_does_not_become_permanent_by_a_number() {
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
async fn the_number_that_an_account_has_may_be_sent_along() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.phone_enabled = false).build().await;
    let body =
        json!({"email": ANN, "phone": NUMBER, "password": PASSWORD, "email_confirm": true, "phone_confirm": true});
    world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    let token = world.sign_in(ANN).await.access_token;
    let answer = world.put_as(&token, "/user", json!({"phone": NUMBER, "data": {"a": 1}})).await.expect(200);
    assert_eq!(answer.json["user_metadata"]["a"], 1);
}

#[tokio::test]
async fn a_sign_up_does_not_tell_which_addresses_are_taken() {
    let world = served().await;
    world.person(ANN).await;
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
async fn the_drop_in_does_as_recorded() {
    let world = World::with(|policy| {
        policy.sign_up.phone_enabled = false;
        policy.sms.autoconfirm = true;
    })
    .await;
    let ann = world.person(ANN).await;
    let answer = world.put_as(&ann.access_token, "/user", json!({"phone": NUMBER})).await.expect(200);
    assert_eq!(answer.str("phone"), NUMBER);
    let again = world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await;
    assert_eq!(again.refusal(), (422, "user_already_exists"));
}
