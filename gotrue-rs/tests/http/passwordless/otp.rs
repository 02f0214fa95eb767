use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use platform::mail::MailError;
use serde_json::{Value, json};

use super::{FIXED, NUMBER, VERIFIER, accounts, flow_code, with_test_number};
use crate::user::{Acting, create_user};

const ANN: &str = "ann@example.com";

#[tokio::test]
async fn mailed_code_signs_up_unknown_email() {
    let world = World::new().await;
    let body = json!({ "email": "Ann@Example.com", "data": { "name": "Ann" } });
    assert_eq!(world.post("/otp", body).await.expect(200).json, json!({}));
    let code = json!({ "type": "email", "email": ANN, "token": world.code(ANN) });
    let session = world.post("/verify", code.clone()).await.expect(200);
    assert_eq!(session.str("user/user_metadata/name"), "Ann");
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    let ann = TestUser::from_session(&session);
    assert_eq!(ann.log(&world).await, ["user_confirmation_requested", "user_signedup"]);
}

#[tokio::test]
async fn existing_user_signs_in_by_code_and_keeps_data() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let body = json!({ "email": ANN, "data": { "name": "Another user" } });
    world.post("/otp", body).await.expect(200);
    let code = json!({ "type": "email", "email": ANN, "token": world.code(ANN) });
    let session = world.post("/verify", code).await.expect(200);
    assert_eq!(session.str("user/id"), ann.id);
    assert!(session.json["user"]["user_metadata"].get("name").is_none());
    assert_eq!(ann.log(&world).await[2..], ["user_recovery_requested", "login"]);
}

#[tokio::test]
async fn unconfirmed_user_gets_another_confirmation() {
    let world = World::new().await;
    world.post("/signup", json!({ "email": ANN, "password": PASSWORD })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let first = world.code(ANN);
    world.post("/otp", json!({ "email": ANN })).await.expect(200);
    let second = world.code(ANN);
    assert_eq!(accounts(&world).await, "1");
    if first != second {
        let old = json!({ "type": "signup", "email": ANN, "token": first });
        assert_eq!(world.post("/verify", old).await.refusal(), (403, "otp_expired"));
    }
    world.post("/verify", json!({ "type": "signup", "email": ANN, "token": second })).await.expect(200);
}

#[tokio::test]
async fn autoconfirm_mails_a_magic_link_to_new_users() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    let response = world.post("/otp", json!({ "email": ANN })).await.expect(200);
    assert_eq!(response.header("sb-auth-session-id"), "", "the session of the sign-up is not returned");
    assert!(world.link(ANN).contains("type=magiclink"));
    let code = json!({ "type": "magiclink", "email": ANN, "token": world.code(ANN) });
    world.post("/verify", code).await.expect(200);
}

#[tokio::test]
async fn test_number_signs_up_and_in_with_its_fixed_code() {
    let world = World::with(with_test_number).await;
    let new = world.post("/otp", json!({ "phone": "+1 555 010 0001", "data": { "name": "Ann" } })).await.expect(200);
    assert_eq!(new.json, json!({}), "the message of a new user has no id");
    let code = json!({ "type": "sms", "phone": NUMBER, "token": FIXED });
    let first = world.post("/verify", code.clone()).await.expect(200);
    assert_eq!((first.str("user/phone"), first.str("user/user_metadata/name")), (NUMBER, "Ann"));
    world.advance(TimeDelta::seconds(1));
    let known = world.post("/otp", json!({ "phone": NUMBER, "channel": "sms" })).await.expect(200);
    assert_eq!(known.json, json!({ "message_id": "test-otp" }));
    let again = world.post("/verify", code).await.expect(200);
    assert_eq!(again.str("user/id"), first.str("user/id"));
    let ann = TestUser::from_session(&again);
    let log = ann.log(&world).await;
    assert_eq!(log, ["user_confirmation_requested", "user_signedup", "user_recovery_requested", "user_signedup"]);
}

#[tokio::test]
async fn phone_autoconfirm_still_sends_sms_to_new_users() {
    let world = World::with(|policy| {
        with_test_number(policy);
        policy.sms.autoconfirm = true;
    })
    .await;
    let response = world.post("/otp", json!({ "phone": NUMBER })).await.expect(200);
    assert_eq!(response.json, json!({ "message_id": "test-otp" }));
    world.post("/verify", json!({ "type": "sms", "phone": NUMBER, "token": FIXED })).await.expect(200);
}

#[tokio::test]
async fn create_user_false_creates_no_user() {
    let world = World::with(with_test_number).await;
    for body in [
        json!({ "email": ANN, "create_user": false }),
        json!({ "email": "ann at home", "create_user": false }),
        json!({ "phone": NUMBER, "create_user": false }),
        json!({ "phone": "call me", "create_user": false }),
    ] {
        assert_eq!(world.post("/otp", body).await.refusal(), (422, "otp_disabled"));
    }
    assert_eq!((accounts(&world).await.as_str(), world.mailbox.all().len()), ("0", 0));
    create_user(&world, "ann").await;
    world.post("/otp", json!({ "email": ANN, "create_user": false })).await.expect(200);
    assert!(world.link(ANN).contains("type=magiclink"));
}

#[tokio::test]
async fn pkce_flow_completes_for_new_and_existing_users() {
    let world = World::new().await;
    let body = json!({ "email": ANN, "code_challenge": VERIFIER, "code_challenge_method": "plain" });
    for _ in 0..2 {
        world.post("/otp", body.clone()).await.expect(200);
        let exchange = json!({ "auth_code": flow_code(&world, ANN).await, "code_verifier": VERIFIER });
        let session = world.post("/token?grant_type=pkce", exchange.clone()).await.expect(200);
        assert_eq!(session.str("user/email"), ANN);
        assert_eq!(world.post("/token?grant_type=pkce", exchange).await.refusal(), (404, "flow_state_not_found"));
        world.advance(TimeDelta::seconds(1));
    }
}

#[tokio::test]
async fn refused_message_creates_no_user_and_no_token() {
    let world = World::new().await;
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    let new = world.post("/otp", json!({ "email": ANN })).await.expect(500);
    assert_eq!(new.str("msg"), "Error sending confirmation email");
    let unsent = world.post("/otp", json!({ "phone": "15550100009" })).await.expect(500);
    assert_eq!(unsent.str("msg"), "Unable to get SMS provider");
    assert_eq!(accounts(&world).await, "0");
    let ann = create_user(&world, "ann").await;
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    let known = world.post("/otp", json!({ "email": ANN })).await.expect(500);
    assert_eq!(known.str("msg"), "Error sending magic link email");
    assert_eq!(ann.stored(&world, "recovery_token || coalesce(recovery_sent_at::text, '')").await, "");
    assert_eq!(ann.log(&world).await.len(), 2, "nothing is logged of it");
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let world = World::with(with_test_number).await;
    let bodies: [Value; 9] = [
        json!({}),
        json!({ "create_user": false }),
        json!({ "email": ANN, "phone": NUMBER }),
        json!({ "email": ANN, "channel": "sms" }),
        json!({ "email": ANN, "code_challenge": VERIFIER }),
        json!({ "email": "ann at home" }),
        json!({ "phone": "call me" }),
        json!({ "phone": NUMBER, "channel": "pigeon" }),
        json!({ "phone": NUMBER, "channel": "whatsapp" }),
    ];
    for body in bodies {
        assert_eq!(world.post("/otp", body.clone()).await.refusal(), (400, "validation_failed"), "{body}");
    }
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn disabled_feature_is_reported() {
    let off = World::with(|policy| {
        policy.sign_up.email_enabled = false;
        policy.sign_up.phone_enabled = false;
    })
    .await;
    assert_eq!(off.post("/otp", json!({ "email": ANN })).await.refusal(), (422, "email_provider_disabled"));
    assert_eq!(off.post("/otp", json!({ "phone": "1" })).await.refusal(), (400, "phone_provider_disabled"));
    let closed = World::with(|policy| policy.sign_up.disabled = true).await;
    assert_eq!(closed.post("/otp", json!({ "email": ANN })).await.refusal(), (422, "signup_disabled"));
    assert_eq!(closed.post("/otp", json!({ "phone": NUMBER })).await.refusal(), (422, "signup_disabled"));
}

#[tokio::test]
async fn second_message_is_rate_limited() {
    let world = World::with(|policy| {
        with_test_number(policy);
        policy.mail.max_frequency = Duration::from_mins(1);
        policy.sms.max_frequency = Duration::from_mins(1);
    })
    .await;
    for (body, code) in [
        (json!({ "email": ANN }), "over_email_send_rate_limit"),
        (json!({ "phone": NUMBER }), "over_sms_send_rate_limit"),
    ] {
        world.post("/otp", body.clone()).await.expect(200);
        let refused = world.post("/otp", body).await;
        assert_eq!(refused.refusal(), (429, code));
        assert!(refused.str("msg").contains("after 60 seconds"), "{}", refused.text);
    }
}
