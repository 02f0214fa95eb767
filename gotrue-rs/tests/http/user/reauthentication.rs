use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::{Value, json};

use super::{Acting, create_user};

const NEW: &str = "battery staple";

fn on(policy: &mut Policy) {
    policy.security.update_password_require_reauthentication = true;
}

/// A user with a session created the day before.
async fn ann_of_yesterday(world: &World) -> TestUser {
    let ann = create_user(world, "ann").await;
    let sql = "UPDATE auth.sessions SET created_at = created_at - interval '25 hours'";
    world.database.query(sql).await;
    ann
}

async fn request_code(world: &World, ann: &TestUser) -> String {
    let answer = world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    assert_eq!(answer.json, json!({}));
    world.code(&ann.email)
}

#[tokio::test]
async fn old_session_requires_the_mailed_code() {
    let world = World::with(on).await;
    let ann = ann_of_yesterday(&world).await;
    let change = |nonce: Value| ann.change(&world, json!({ "password": NEW, "nonce": nonce }));
    assert_eq!(change(Value::Null).await.refusal(), (400, "reauthentication_needed"));
    assert_eq!(change(json!("000000")).await.refusal(), (422, "reauthentication_not_valid"));
    let code = request_code(&world, &ann).await;
    assert_eq!(change(json!("000000x")).await.refusal(), (422, "reauthentication_not_valid"));
    change(json!(code)).await.expect(200);
    world.try_password(&ann.email, NEW).await.expect(200);
}

#[tokio::test]
async fn recent_session_ignores_the_code() {
    let world = World::with(on).await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "password": NEW, "nonce": "999999" })).await.expect(200);
    ann.change(&world, json!({ "data": { "a": 1 }, "nonce": "999999" })).await.expect(200);
}

/// The code is consumed on use, so that an attacker cannot try several passwords with it.
#[tokio::test]
async fn valid_code_is_consumed_even_if_the_password_is_refused() {
    let world = World::with(on).await;
    let ann = ann_of_yesterday(&world).await;
    let code = request_code(&world, &ann).await;
    let same = ann.change(&world, json!({ "password": PASSWORD, "nonce": code })).await;
    assert_eq!(same.refusal(), (422, "same_password"));
    let again = ann.change(&world, json!({ "password": NEW, "nonce": code })).await;
    assert_eq!(again.refusal(), (422, "reauthentication_not_valid"));
}

#[tokio::test]
async fn concurrent_requests_with_one_code_succeed_once() {
    let world = World::with(on).await;
    let ann = ann_of_yesterday(&world).await;
    let code = request_code(&world, &ann).await;
    let change = |password: &str| ann.change(&world, json!({ "password": password, "nonce": code }));
    let (one, two) = tokio::join!(change("battery staple"), change("staple battery"));
    let mut outcomes = [one.status.as_u16(), two.status.as_u16()];
    outcomes.sort_unstable();
    assert_eq!(outcomes, [200, 422]);
}

#[tokio::test]
async fn code_is_valid_until_its_last_second() {
    let world = World::with(on).await;
    let ann = ann_of_yesterday(&world).await;
    let life = TimeDelta::from_std(world.app.policy.mail.otp_exp).expect("a day");
    let code = request_code(&world, &ann).await;
    ann.set(&world, "reauthentication_sent_at = reauthentication_sent_at - interval '1 microsecond'").await;
    let older =
        format!("reauthentication_sent_at = reauthentication_sent_at - interval '{} seconds'", life.num_seconds());
    ann.set(&world, &older).await;
    let late = ann.change(&world, json!({ "password": NEW, "nonce": code })).await;
    assert_eq!(late.refusal(), (422, "reauthentication_not_valid"));
    ann.set(&world, "reauthentication_sent_at = reauthentication_sent_at + interval '1 microsecond'").await;
    ann.change(&world, json!({ "password": NEW, "nonce": code })).await.expect(200);
}

#[tokio::test]
async fn request_is_logged_and_sends_one_statement_after_the_guard() {
    let world = World::with(on).await;
    let ann = create_user(&world, "ann").await;
    request_code(&world, &ann).await;
    assert_eq!(world.journal().statements(), ["users.with_session", "one_time_tokens.issue_reauthentication"]);
    assert_eq!(ann.log(&world).await[2..], ["user_reauthenticate_requested"]);
    assert!(world.mailbox.latest(&ann.email).link.is_none());
}

#[tokio::test]
async fn codes_are_rate_limited() {
    let world = World::with(|policy| policy.mail.max_frequency = std::time::Duration::from_mins(1)).await;
    let ann = create_user(&world, "ann").await;
    request_code(&world, &ann).await;
    world.advance(TimeDelta::seconds(18));
    let soon = world.get_as(&ann.access_token, "/reauthenticate").await;
    assert_eq!(soon.refusal(), (429, "over_email_send_rate_limit"));
    assert_eq!(soon.str("msg"), "For security purposes, you can only request this after 42 seconds.");
    world.advance(TimeDelta::seconds(42));
    request_code(&world, &ann).await;
}

#[tokio::test]
async fn refused_mail_stores_nothing() {
    let world = World::with(on).await;
    let ann = create_user(&world, "ann").await;
    world.mailbox.refuse_next(platform::mail::MailError::Failed("no route".into()));
    let answer = world.get_as(&ann.access_token, "/reauthenticate").await.expect(500);
    assert_eq!(answer.str("msg"), "Error sending reauthentication email");
    assert_eq!(ann.stored(&world, "reauthentication_token || coalesce(reauthentication_sent_at::text, '')").await, "");
}

#[tokio::test]
async fn user_without_confirmed_contact_is_refused() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let unknown = world.post("/signup", json!({})).await.expect(200);
    let answer = world.get_as(unknown.str("access_token"), "/reauthenticate").await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    let ann = create_user(&world, "ann").await;
    ann.set(&world, "email_confirmed_at = NULL").await;
    assert_eq!(world.get_as(&ann.access_token, "/reauthenticate").await.refusal(), (422, "email_not_confirmed"));
}

#[tokio::test]
async fn test_number_has_its_fixed_code() {
    let world = World::with(|policy| {
        on(policy);
        policy.sms.test_otp.insert("15550100001".into(), "111222".into());
    })
    .await;
    let ann = ann_of_yesterday(&world).await;
    ann.set(&world, "email = NULL, phone = '15550100001', phone_confirmed_at = now()").await;
    let answer = world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    assert_eq!(answer.json, json!({ "message_id": "test-otp" }));
    ann.change(&world, json!({ "password": NEW, "nonce": "111222" })).await.expect(200);
}
