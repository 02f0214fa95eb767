use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::{ANN, assurance, factors};

const NUMBER: &str = "15550100";

fn on(policy: &mut Policy) {
    policy.mfa.phone.enroll_enabled = true;
    policy.mfa.phone.verify_enabled = true;
    policy.mfa.phone.max_frequency = Duration::from_micros(1);
}

async fn world() -> World {
    World::builder().policy(on).with_phones().build().await
}

async fn enrolled(world: &World, user: &TestUser, number: &str, name: &str) -> String {
    let body = json!({ "factor_type": "phone", "phone": number, "friendly_name": name });
    world.enroll(&user.access_token, body).await.expect(200).str("id").to_owned()
}

/// A challenge, and the code that was texted.
async fn texted(world: &World, user: &TestUser, factor: &str) -> (String, String) {
    world.advance(TimeDelta::seconds(1));
    let response = world.create_challenge(&user.access_token, factor).await.expect(200);
    (response.str("id").to_owned(), world.phones.latest(NUMBER).code)
}

#[tokio::test]
async fn sms_code_elevates_the_session() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let factor = enrolled(&world, &ann, "+1 555 0100", "mobile").await;
    let (challenge, code) = texted(&world, &ann, &factor).await;
    assert_eq!(code.len(), 6);
    let lifted = world.verify_challenge(&ann.access_token, &factor, &challenge, &code).await.expect(200);
    let methods = vec!["mfa/phone".to_owned(), "otp".to_owned()];
    assert_eq!(assurance(&world, lifted.str("access_token")), ("aal2".to_owned(), methods));
}

#[tokio::test]
async fn sms_code_is_bound_to_its_challenge_and_used_once() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let (first, first_code) = texted(&world, &ann, &factor).await;
    let (_, second_code) = texted(&world, &ann, &factor).await;
    for wrong in ["1", second_code.as_str(), &format!(" {first_code}")] {
        let answer = world.verify_challenge(&ann.access_token, &factor, &first, wrong).await;
        assert_eq!(answer.refusal(), (422, "mfa_verification_failed"), "{wrong}");
    }
    let lifted = world.verify_challenge(&ann.access_token, &factor, &first, &first_code).await.expect(200);
    let again = world.verify_challenge(lifted.str("access_token"), &factor, &first, &first_code).await;
    assert_eq!(again.refusal(), (422, "mfa_ip_address_mismatch"));
}

#[tokio::test]
async fn same_phone_replaces_only_an_unverified_factor() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let first = enrolled(&world, &ann, NUMBER, "first").await;
    let second = enrolled(&world, &ann, NUMBER, "second").await;
    assert_eq!(world.create_challenge(&ann.access_token, &first).await.refusal(), (404, "mfa_factor_not_found"));
    let (challenge, code) = texted(&world, &ann, &second).await;
    let ann = TestUser::from_session(&world.verify_challenge(&ann.access_token, &second, &challenge, &code).await);
    let body = json!({ "factor_type": "phone", "phone": NUMBER, "friendly_name": "third" });
    assert_eq!(world.enroll(&ann.access_token, body).await.refusal(), (422, "mfa_verified_factor_exists"));
    assert_eq!(factors(&world, &ann).await, ["second: verified"]);
}

#[tokio::test]
async fn unsent_sms_leaves_no_challenge() {
    let world = World::with(on).await;
    let ann = world.create_user(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let answer = world.create_challenge(&ann.access_token, &factor).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Failed to get SMS provider");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.mfa_challenges").await, ["0"]);
}

#[tokio::test]
async fn sms_challenges_are_rate_limited() {
    let world = World::builder()
        .policy(on)
        .policy(|policy| policy.mfa.phone.max_frequency = Duration::from_mins(1))
        .with_phones()
        .build()
        .await;
    let ann = world.create_user(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    texted(&world, &ann, &factor).await;
    world.advance(TimeDelta::seconds(30));
    let answer = world.create_challenge(&ann.access_token, &factor).await;
    assert_eq!(answer.refusal(), (429, "over_sms_send_rate_limit"));
    assert_eq!(answer.str("msg"), "For security purposes, you can only request this after 30 seconds.");
    world.advance(TimeDelta::seconds(30));
    texted(&world, &ann, &factor).await;
    assert_eq!(world.phones.all().len(), 2);
}

#[tokio::test]
async fn challenge_body_and_channel_are_validated() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let path = format!("/factors/{factor}/challenge");
    for (body, code) in [(json!({ "channel": 1 }), "bad_json"), (json!({ "channel": "pigeon" }), "validation_failed")] {
        assert_eq!(world.post_as(&ann.access_token, &path, body).await.refusal(), (400, code));
    }
}
