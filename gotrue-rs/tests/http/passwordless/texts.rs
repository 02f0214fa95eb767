//! SMS: content, frequency, provider, and the state after a failure.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::Quota;
use foundation::secret::Secret;
use gotrue_rs::ports::sms::SmsError;
use gotrue_rs::testing::{PASSWORD, TestUser, World, WorldBuilder};
use gotrue_rules::domain::policy::{Policy, SmsProvider};
use platform::journal::Step;
use serde_json::{Value, json};

use super::{FIXED, NUMBER, accounts, with_test_number};
use crate::ports::internet::Internet;
use crate::user::{Acting, create_user};

const OTHER: &str = "15550100002";
const THIRD: &str = "15550100003";

fn texting(change: impl FnOnce(&mut Policy)) -> WorldBuilder {
    World::builder().with_phones().policy(change)
}

/// A user with a confirmed phone and no e-mail address.
async fn with_number(world: &World, phone: &str) -> TestUser {
    world.post("/otp", json!({ "phone": phone })).await.expect(200);
    let code = world.phones.latest(phone).code;
    TestUser::from_session(&world.post("/verify", json!({ "type": "sms", "phone": phone, "token": code })).await)
}

/// A sender's refusal of the next text.
fn refuse_next(world: &World) {
    world.phones.refuse_next(SmsError::Refused("the line is busy".to_owned()));
}

#[tokio::test]
async fn sms_code_uses_the_template_and_signs_in_once() {
    let world = texting(|policy| {
        policy.sms.otp_length = 8;
        "{{ .Code }} & good luck".clone_into(&mut policy.sms.template);
    });
    let world = world.build().await;
    let response = world.post("/otp", json!({ "phone": format!("+{NUMBER}") })).await.expect(200);
    assert_eq!(response.json, json!({}), "the sender's id is not returned, as recorded");
    let text = world.phones.latest(NUMBER);
    assert_eq!((text.code.len(), text.body), (8, format!("{} & good luck", text.code)));
    assert_eq!(text.channel.as_str(), "sms");
    let code = json!({ "type": "sms", "phone": NUMBER, "token": text.code });
    assert_eq!(world.post("/verify", code.clone()).await.expect(200).str("/user/phone"), NUMBER);
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    assert_eq!(world.phones.all().len(), 1);
}

#[tokio::test]
async fn message_uses_the_requested_channel() {
    let world = texting(|policy| "twilio".clone_into(&mut policy.sms.provider_name)).build().await;
    world.post("/otp", json!({ "phone": NUMBER, "channel": "whatsapp" })).await.expect(200);
    assert_eq!(world.phones.latest(NUMBER).channel.as_str(), "whatsapp");
    let ann = with_number(&world, OTHER).await;
    ann.change(&world, json!({ "phone": THIRD, "channel": "whatsapp" })).await.expect(200);
    assert_eq!(world.phones.latest(THIRD).channel.as_str(), "whatsapp");
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    assert_eq!(world.phones.latest(OTHER).channel.as_str(), "sms");
}

#[tokio::test]
async fn sms_frequency_limit_applies_to_test_numbers_too() {
    let world = texting(|policy| {
        policy.sms.max_frequency = Duration::from_secs(30);
        with_test_number(policy);
    });
    let world = world.build().await;
    for phone in [NUMBER, OTHER] {
        let ask = || world.post("/otp", json!({ "phone": phone }));
        ask().await.expect(200);
        world.advance(TimeDelta::seconds(10));
        let early = ask().await;
        assert_eq!(early.refusal(), (429, "over_sms_send_rate_limit"));
        assert_eq!(early.str("msg"), "For security purposes, you can only request this after 20 seconds.");
        world.advance(TimeDelta::milliseconds(20_001));
        ask().await.expect(200);
    }
    assert_eq!(world.phones.all().len(), 2, "none to the number with a fixed code");
}

#[tokio::test]
async fn sms_quota_excludes_test_numbers() {
    let world = texting(|policy| {
        policy.limits.sms_sent = Quota::Window { events: 2.0, per: Duration::from_hours(1) };
        with_test_number(policy);
    });
    let world = world.build().await;
    world.post("/otp", json!({ "phone": OTHER })).await.expect(200);
    refuse_next(&world);
    world.post("/otp", json!({ "phone": THIRD })).await.expect(422);
    let refused = world.post("/otp", json!({ "phone": THIRD })).await;
    assert_eq!(refused.refusal(), (429, "over_sms_send_rate_limit"));
    assert_eq!(refused.str("msg"), "SMS rate limit exceeded");
    assert_eq!(accounts(&world).await, "1");
    world.post("/otp", json!({ "phone": NUMBER })).await.expect(200);
    world.advance(TimeDelta::hours(1));
    world.post("/otp", json!({ "phone": THIRD })).await.expect(200);
}

#[tokio::test]
async fn phone_autoconfirm_does_not_consume_the_sms_quota() {
    let world = texting(|policy| {
        policy.limits.sms_sent = Quota::Window { events: 0.0, per: Duration::from_hours(1) };
        policy.sms.autoconfirm = true;
    });
    let world = world.build().await;
    let ann = TestUser::from_session(&world.post("/signup", json!({ "phone": NUMBER, "password": PASSWORD })).await);
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    assert_eq!(world.phones.all().len(), 1);
}

#[tokio::test]
async fn fixed_codes_are_valid_until_expiry() {
    let world = texting(with_test_number);
    let until = World::new().await.now() + TimeDelta::minutes(1);
    let world = world.policy(|policy| policy.sms.test_otp_valid_until = Some(until)).build().await;
    let ask = || world.post("/otp", json!({ "phone": NUMBER }));
    let with = |code: &str| json!({ "type": "sms", "phone": NUMBER, "token": code });
    assert_eq!(ask().await.expect(200).json, json!({}), "of a new account nothing is returned");
    world.post("/verify", with(FIXED)).await.expect(200);
    world.advance(TimeDelta::seconds(30));
    assert_eq!(ask().await.expect(200).json, json!({ "message_id": "test-otp" }));
    world.advance(TimeDelta::seconds(30));
    assert_eq!((ask().await.expect(200).json, world.phones.all().len()), (json!({}), 1));
    assert_eq!(world.post("/verify", with(FIXED)).await.refusal(), (403, "otp_expired"));
    world.post("/verify", with(&world.phones.latest(NUMBER).code)).await.expect(200);
}

#[tokio::test]
async fn sms_provider_error_is_returned_without_writes() {
    let world = texting(|_| {}).build().await;
    let reported = |kind: &str| format!("Error sending {kind} OTP to provider: the line is busy");
    let ann = with_number(&world, NUMBER).await;
    for (path, body) in
        [("/otp", json!({ "phone": OTHER })), ("/signup", json!({ "phone": OTHER, "password": PASSWORD }))]
    {
        refuse_next(&world);
        let refused = world.post(path, body).await;
        assert_eq!((refused.refusal(), refused.str("msg")), ((422, "sms_send_failed"), &*reported("confirmation")));
    }
    assert_eq!(accounts(&world).await, "1");

    let before = ann.read_user(&world).await.json;
    refuse_next(&world);
    let refused = ann.change(&world, json!({ "phone": OTHER, "data": { "a": 1 } })).await;
    assert_eq!((refused.refusal(), refused.str("msg")), ((422, "sms_send_failed"), &*reported("phone_change")));
    refuse_next(&world);
    let refused = world.get_as(&ann.access_token, "/reauthenticate").await;
    assert_eq!((refused.refusal(), refused.str("msg")), ((422, "sms_send_failed"), &*reported("reauthentication")));
    assert_eq!(ann.read_user(&world).await.json, before);
    let rows = world.database.query("SELECT token_type FROM auth.one_time_tokens").await;
    assert!(rows.is_empty(), "{rows:?}");
}

#[tokio::test]
async fn failing_template_sends_nothing() {
    let world = texting(|policy| "{{ .Token }}".clone_into(&mut policy.sms.template)).build().await;
    let refused = world.post("/otp", json!({ "phone": NUMBER })).await;
    assert_eq!((refused.refusal(), refused.str("msg")), ((500, "unexpected_failure"), "error generating sms template"));
    assert_eq!((world.phones.all().len(), accounts(&world).await.as_str()), (0, "0"));
}

/// Of an account that exists; one that is made waits for the text inside its own write.
#[tokio::test]
async fn sending_sms_holds_no_transaction() {
    let world = texting(|_| {}).build().await;
    let ann = with_number(&world, NUMBER).await;
    world.advance(TimeDelta::seconds(1));
    let quiet = |what: &str| {
        let steps = world.journal().steps();
        let sent = steps.iter().position(|step| *step == Step::Call("sms.send")).expect("a text was sent");
        assert!(!steps[..sent].iter().any(|step| matches!(step, Step::Transaction(_))), "{what}: {steps:?}");
    };
    world.post("/otp", json!({ "phone": NUMBER })).await.expect(200);
    quiet("a code to sign in");
    ann.change(&world, json!({ "phone": OTHER })).await.expect(200);
    quiet("a change of number");
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    quiet("a reauthentication");
    world.advance(TimeDelta::seconds(1));
    world.post("/resend", json!({ "type": "phone_change", "phone": NUMBER })).await.expect(200);
    quiet("the same text again");
}

const VERIFICATIONS: &str = "https://verify.twilio.com/v2/Services/VA1/Verifications";
const CHECK: &str = "https://verify.twilio.com/v2/Services/VA1/VerificationCheck";

/// A world whose codes Twilio Verify makes, and the internet that it is in.
async fn verified_by_twilio() -> (World, Internet) {
    let internet = Internet::start().await;
    internet.put(VERIFICATIONS, 201, &json!({ "sid": "VE1", "status": "pending", "valid": false }));
    let world = World::builder().outbound(internet.outbound()).policy(|policy| {
        policy.security.update_password_require_reauthentication = true;
        "twilio_verify".clone_into(&mut policy.sms.provider_name);
        policy.sms.provider = Some(SmsProvider::TwilioVerify {
            account_sid: "AC1".into(),
            auth_token: Secret::new("a-long-token"),
            message_service_sid: "VA1".into(),
        });
    });
    (world.build().await, internet)
}

/// What Twilio says of every code from now on.
fn approve(internet: &Internet, is_right: bool) {
    let status = if is_right { "approved" } else { "pending" };
    internet.put(CHECK, 200, &json!({ "status": status, "valid": is_right }));
}

/// The bodies that were posted there since the last time.
fn request_bodies(internet: &Internet, url: &str) -> Vec<String> {
    internet.take_requests().into_iter().filter(|request| request.url == url).map(|request| request.body).collect()
}

#[tokio::test]
async fn twilio_verify_checks_its_codes() {
    let (world, internet) = verified_by_twilio().await;
    world.post("/otp", json!({ "phone": NUMBER })).await.expect(200);
    assert_eq!(request_bodies(&internet, VERIFICATIONS), [format!("Channel=sms&To=%2B{NUMBER}")]);
    let code = |kind: &str, phone: &str, token: &str| json!({ "type": kind, "phone": phone, "token": token });
    approve(&internet, false);
    let verify = |body: Value| world.post("/verify", body);
    assert_eq!(verify(code("sms", NUMBER, "111111")).await.refusal(), (403, "otp_expired"));
    internet.put(CHECK, 500, &"<html>");
    assert_eq!(verify(code("sms", NUMBER, "111111")).await.refusal(), (403, "otp_expired"));
    approve(&internet, true);
    assert_eq!(verify(code("sms", OTHER, "654321")).await.refusal(), (403, "otp_expired"), "a number without a user");
    internet.take_requests();
    let ann = TestUser::from_session(&verify(code("sms", NUMBER, "654321")).await);
    assert_eq!(request_bodies(&internet, CHECK), [format!("Code=654321&To=%2B{NUMBER}")]);

    ann.change(&world, json!({ "phone": OTHER })).await.expect(200);
    internet.take_requests();
    assert_eq!(verify(code("phone_change", OTHER, "77")).await.expect(200).str("/user/phone"), OTHER);
    assert_eq!(request_bodies(&internet, CHECK), [format!("Code=77&To=%2B{OTHER}")]);
}

#[tokio::test]
async fn reauthentication_by_phone_checks_twilio_verify() {
    let (world, internet) = verified_by_twilio().await;
    approve(&internet, true);
    world.post("/otp", json!({ "phone": NUMBER })).await.expect(200);
    let code = json!({ "type": "sms", "phone": NUMBER, "token": "654321" });
    let ann = TestUser::from_session(&world.post("/verify", code).await);
    world.database.query("UPDATE auth.sessions SET created_at = created_at - interval '25 hours'").await;
    let change = |nonce: &str| ann.change(&world, json!({ "password": "battery staple", "nonce": nonce }));
    assert_eq!(change("654321").await.refusal(), (422, "reauthentication_not_valid"), "none was requested");
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    approve(&internet, false);
    assert_eq!(change("111111").await.refusal(), (403, "otp_expired"));
    approve(&internet, true);
    internet.take_requests();
    change("654321").await.expect(200);
    assert_eq!(request_bodies(&internet, CHECK), [format!("Code=654321&To=%2B{NUMBER}")]);
    assert_eq!(change("654321").await.refusal(), (422, "reauthentication_not_valid"), "it is used up");
}

#[tokio::test]
async fn user_with_email_gets_the_code_by_mail() {
    let (world, internet) = verified_by_twilio().await;
    let ann = create_user(&world, "ann").await;
    world.database.query("UPDATE auth.sessions SET created_at = created_at - interval '25 hours'").await;
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    let nonce = world.code(&ann.email);
    ann.change(&world, json!({ "password": "battery staple", "nonce": nonce })).await.expect(200);
    assert_eq!(internet.take_requests(), []);
}
