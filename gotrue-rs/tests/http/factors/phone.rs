use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{Person, World};
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

async fn enrolled(world: &World, person: &Person, number: &str, name: &str) -> String {
    let body = json!({ "factor_type": "phone", "phone": number, "friendly_name": name });
    world.enroll(&person.access_token, body).await.expect(200).str("id").to_owned()
}

/// A challenge, and the code that was texted.
async fn texted(world: &World, person: &Person, factor: &str) -> (String, String) {
    world.advance(TimeDelta::seconds(1));
    let asked = world.challenge(&person.access_token, factor).await.expect(200);
    (asked.str("id").to_owned(), world.phones.latest(NUMBER).code)
}

#[tokio::test]
async fn a_texted_code_lifts_the_session() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let factor = enrolled(&world, &ann, "+1 555 0100", "mobile").await;
    let (challenge, code) = texted(&world, &ann, &factor).await;
    assert_eq!(code.len(), 6);
    let lifted = world.answer(&ann.access_token, &factor, &challenge, &code).await.expect(200);
    let methods = vec!["mfa/phone".to_owned(), "otp".to_owned()];
    assert_eq!(assurance(&world, lifted.str("access_token")), ("aal2".to_owned(), methods));
}

#[tokio::test]
async fn a_code_belongs_to_its_challenge_and_serves_once() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let (first, first_code) = texted(&world, &ann, &factor).await;
    let (_, second_code) = texted(&world, &ann, &factor).await;
    for wrong in ["1", second_code.as_str(), &format!(" {first_code}")] {
        let answer = world.answer(&ann.access_token, &factor, &first, wrong).await;
        assert_eq!(answer.refusal(), (422, "mfa_verification_failed"), "{wrong}");
    }
    let lifted = world.answer(&ann.access_token, &factor, &first, &first_code).await.expect(200);
    let again = world.answer(lifted.str("access_token"), &factor, &first, &first_code).await;
    assert_eq!(again.refusal(), (422, "mfa_ip_address_mismatch"));
}

#[tokio::test]
async fn the_same_number_takes_the_place_of_an_unverified_one_and_not_of_a_verified_one() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let first = enrolled(&world, &ann, NUMBER, "first").await;
    let second = enrolled(&world, &ann, NUMBER, "second").await;
    assert_eq!(world.challenge(&ann.access_token, &first).await.refusal(), (404, "mfa_factor_not_found"));
    let (challenge, code) = texted(&world, &ann, &second).await;
    let ann = Person::of(&world.answer(&ann.access_token, &second, &challenge, &code).await);
    let body = json!({ "factor_type": "phone", "phone": NUMBER, "friendly_name": "third" });
    assert_eq!(world.enroll(&ann.access_token, body).await.refusal(), (422, "mfa_verified_factor_exists"));
    assert_eq!(factors(&world, &ann).await, ["second: verified"]);
}

#[tokio::test]
async fn a_text_that_is_not_sent_leaves_no_challenge() {
    let world = World::with(on).await;
    let ann = world.person(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let answer = world.challenge(&ann.access_token, &factor).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Failed to get SMS provider");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.mfa_challenges").await, ["0"]);
}

#[tokio::test]
async fn there_is_a_pause_between_two_texts() {
    let world = World::builder()
        .policy(on)
        .policy(|policy| policy.mfa.phone.max_frequency = Duration::from_mins(1))
        .with_phones()
        .build()
        .await;
    let ann = world.person(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    texted(&world, &ann, &factor).await;
    world.advance(TimeDelta::seconds(30));
    let answer = world.challenge(&ann.access_token, &factor).await;
    assert_eq!(answer.refusal(), (429, "over_sms_send_rate_limit"));
    assert_eq!(answer.str("msg"), "For security purposes, you can only request this after 30 seconds.");
    world.advance(TimeDelta::seconds(30));
    texted(&world, &ann, &factor).await;
    assert_eq!(world.phones.all().len(), 2);
}

#[tokio::test]
async fn bodies_and_channels_of_a_challenge_are_looked_at() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let factor = enrolled(&world, &ann, NUMBER, "").await;
    let path = format!("/factors/{factor}/challenge");
    for (body, code) in [(json!({ "channel": 1 }), "bad_json"), (json!({ "channel": "pigeon" }), "validation_failed")] {
        assert_eq!(world.post_as(&ann.access_token, &path, body).await.refusal(), (400, code));
    }
}
