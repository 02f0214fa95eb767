use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use platform::mail::MailError;
use serde_json::json;

use super::{FIXED, NUMBER, VERIFIER, flow_code, with_test_number};
use crate::user::{Acting, create_user};

const ANN: &str = "ann@example.com";
const NEW: &str = "new@example.com";

async fn signed_up(world: &World) {
    world.post("/signup", json!({ "email": ANN, "password": PASSWORD })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
}

#[tokio::test]
async fn resent_confirmation_invalidates_the_first() {
    let world = World::new().await;
    signed_up(&world).await;
    let first = world.link(ANN);
    assert_eq!(world.post("/resend", json!({ "type": "signup", "email": ANN })).await.expect(200).json, json!({}));
    let second = world.link(ANN);
    assert_ne!(first, second);
    let dead = world.get(&first).await.expect(303);
    assert!(dead.header("location").contains("otp_expired"), "{}", dead.header("location"));
    let alive = world.get(&second).await.expect(303);
    assert!(alive.header("location").contains("access_token="), "{}", alive.header("location"));
    let signed_in = world.try_password(ANN, PASSWORD).await.expect(200);
    assert_eq!(signed_in.str("user/email"), ANN, "the chosen password stays");
}

#[tokio::test]
async fn resending_by_current_email_sends_both_change_mails() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "email": NEW })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let old = (world.link(NEW), world.mailbox.all().len());
    world.post("/resend", json!({ "type": "email_change", "email": NEW })).await.expect(200);
    assert_eq!(world.mailbox.all().len(), old.1, "no user has the new address yet");
    world.post("/resend", json!({ "type": "email_change", "email": ANN })).await.expect(200);
    assert_eq!(world.mailbox.all().len(), old.1 + 2);
    let dead = world.get(&old.0).await.expect(303);
    assert!(dead.header("location").contains("otp_expired"));
    for address in [ANN, NEW] {
        world.get(&world.link(address)).await.expect(303);
    }
    assert_eq!(ann.read_user(&world).await.str("email"), NEW);
}

#[tokio::test]
async fn sms_code_is_resent_to_current_and_new_phone() {
    let world = World::with(|policy| {
        with_test_number(policy);
        policy.sms.test_otp.insert("15550100002".into(), "111111".into());
    })
    .await;
    world.post("/signup", json!({ "phone": NUMBER, "password": PASSWORD })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let sent = world.post("/resend", json!({ "type": "sms", "phone": NUMBER })).await.expect(200);
    assert_eq!(sent.json, json!({ "message_id": "test-otp" }));
    let session = world.post("/verify", json!({ "type": "sms", "phone": NUMBER, "token": FIXED })).await.expect(200);
    let token = session.str("access_token");
    world.put_as(token, "/user", json!({ "phone": "15550100002" })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let sent = world.post("/resend", json!({ "type": "phone_change", "phone": NUMBER })).await.expect(200);
    assert_eq!(sent.json, json!({ "message_id": "test-otp" }));
    let code = json!({ "type": "phone_change", "phone": "15550100002", "token": "111111" });
    assert_eq!(world.post("/verify", code).await.expect(200).str("user/phone"), "15550100002");
}

#[tokio::test]
async fn resending_restarts_the_pkce_flow() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    signed_up(&world).await;
    let flow = |kind: &str| json!({ "type": kind, "email": ANN, "code_challenge": VERIFIER, "code_challenge_method": "plain" });
    world.post("/resend", flow("signup")).await.expect(200);
    let exchange = json!({ "auth_code": flow_code(&world, ANN).await, "code_verifier": VERIFIER });
    let session = world.post("/token?grant_type=pkce", exchange).await.expect(200);
    world.put_as(session.str("access_token"), "/user", json!({ "email": NEW })).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    world.post("/resend", flow("email_change")).await.expect(200);
    let exchange = json!({ "auth_code": flow_code(&world, NEW).await, "code_verifier": VERIFIER });
    let changed = world.post("/token?grant_type=pkce", exchange).await.expect(200);
    assert_eq!(changed.str("user/email"), NEW);
}

#[tokio::test]
async fn refused_mail_changes_nothing() {
    let world = World::new().await;
    signed_up(&world).await;
    let first = world.link(ANN);
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    let body = json!({
        "type": "signup", "email": ANN, "code_challenge": VERIFIER, "code_challenge_method": "plain"
    });
    let refused = world.post("/resend", body).await.expect(500);
    assert_eq!(refused.str("msg"), "Error sending confirmation email");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.flow_state").await.concat(), "0");
    let followed = world.get(&first).await.expect(303);
    assert!(followed.header("location").contains("access_token="), "the first link is still good");
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let world = World::new().await;
    for body in [
        json!({}),
        json!({ "type": "recovery", "email": ANN }),
        json!({ "type": "signup", "phone": NUMBER }),
        json!({ "type": "sms", "email": ANN }),
        json!({ "type": "email_change" }),
        json!({ "type": "signup", "email": ANN, "phone": NUMBER }),
        json!({ "type": "signup", "email": ANN, "code_challenge": VERIFIER }),
    ] {
        assert_eq!(world.post("/resend", body.clone()).await.refusal(), (400, "validation_failed"), "{body}");
    }
    let off = World::with(|policy| {
        policy.sign_up.email_enabled = false;
        policy.sign_up.phone_enabled = false;
    })
    .await;
    let by_mail = off.post("/resend", json!({ "type": "signup", "email": ANN })).await;
    assert_eq!(by_mail.refusal(), (400, "email_provider_disabled"));
    let by_text = off.post("/resend", json!({ "type": "sms", "phone": NUMBER })).await;
    assert_eq!(by_text.refusal(), (400, "phone_provider_disabled"));
}

/// The row of a flow names the provider only where the sign-up itself begins it.
#[tokio::test]
async fn restarted_flow_state_records_its_type() {
    let world = World::new().await;
    let challenge = json!({"code_challenge": "c".repeat(43), "code_challenge_method": "plain"});
    let with = |more: serde_json::Value| {
        let mut body = challenge.clone();
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let email = "ann@example.com";
    world.post("/signup", with(json!({"email": email, "password": "correct horse"}))).await.expect(200);
    world.advance(chrono::TimeDelta::minutes(2));
    world.post("/resend", with(json!({"email": email, "type": "signup"}))).await.expect(200);
    let types = "SELECT provider_type FROM auth.flow_state ORDER BY created_at";
    assert_eq!(world.database.query(types).await, ["email", "email/signup"]);
}
