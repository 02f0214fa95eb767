use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use foundation::limits::LimitKey;
use gotrue_rs::testing::{World, enable_webauthn};
use http::Method;
use platform::software_authenticator::Authenticator;
use serde_json::{Value, json};

use super::{ANN, challenges, stored, world};
use crate::user::Acting;

const OPTIONS: &str = "/passkeys/authentication/options";
const VERIFY: &str = "/passkeys/authentication/verify";

/// What a device answers to a challenge of its own, to be sent later.
async fn answer(world: &World, device: &mut Authenticator) -> Value {
    let response = world.post(OPTIONS, json!({})).await.expect(200);
    json!({"challenge_id": response.str("challenge_id"), "credential": device.get(&response.json["options"])})
}

#[tokio::test]
async fn passkey_identifies_its_user_and_opens_a_session() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (id, mut device) = world.create_passkey(&ann).await;
    let response = world.post(OPTIONS, json!({})).await.expect(200);
    assert!(response.json["options"]["allowCredentials"].is_null());
    let body =
        json!({"challenge_id": response.str("challenge_id"), "credential": device.get(&response.json["options"])});
    let session = world.post(VERIFY, body).await.expect(200);
    assert_eq!(session.str("user/id"), ann.id);
    let claims = world.decode_claims(session.str("access_token"));
    assert_eq!((claims["aal"].as_str(), claims["amr"][0]["method"].as_str()), (Some("aal1"), Some("passkey")));
    assert_eq!(
        world.journal().statements(),
        [
            "webauthn_challenges.consume",
            "webauthn_credentials.by_credential",
            "webauthn_credentials.record_use",
            "sessions.create",
        ]
    );
    assert_eq!(stored(&world, "sign_count").await, "1");
    assert_eq!(stored(&world, "last_used_at IS NOT NULL").await, "true");
    assert_eq!(ann.log(&world).await.last().map(String::as_str), Some("login"));
    let reported = "SELECT payload -> 'traits' ->> 'passkey_id' || ' ' || ip_address FROM auth.audit_log_entries \
                WHERE payload ->> 'action' = 'login' AND payload -> 'traits' ->> 'passkey_id' IS NOT NULL";
    assert_eq!(world.database.query(reported).await, [format!("{id} 127.0.0.1")]);
}

#[tokio::test]
async fn concurrent_responses_to_one_challenge_succeed_once() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    let body = answer(&world, &mut device).await;
    let (one, other) = tokio::join!(world.post(VERIFY, body.clone()), world.post(VERIFY, body.clone()));
    let mut ends = [one.status.as_u16(), other.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 400]);
    assert_eq!(world.post(VERIFY, body).await.refusal(), (400, "webauthn_challenge_not_found"));
}

#[tokio::test]
async fn expired_challenge_is_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    let body = answer(&world, &mut device).await;
    world.advance(TimeDelta::seconds(300));
    let exact = answer(&world, &mut device).await;
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.post(VERIFY, body).await.refusal(), (400, "webauthn_challenge_expired"));
    world.post(VERIFY, exact).await.expect(200);
    assert_eq!(challenges(&world).await, "0");
}

#[tokio::test]
async fn unconfirmed_or_banned_user_is_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    for (state, refusal) in [
        ("email_confirmed_at = NULL", (403, "email_not_confirmed")),
        ("email_confirmed_at = now(), phone = '15550100'", (403, "phone_not_confirmed")),
        ("phone_confirmed_at = now(), banned_until = '2036-01-01'", (403, "user_banned")),
    ] {
        ann.set(&world, state).await;
        assert_eq!(world.sign_in_with_passkey(&mut device).await.refusal(), refusal);
    }
    assert_eq!(stored(&world, "sign_count").await, "0");
}

#[tokio::test]
async fn passkey_without_counter_is_accepted_repeatedly() {
    let world = World::builder().as_served().policy(enable_webauthn).build().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    device.has_counter = false;
    for _ in 0..2 {
        world.sign_in_with_passkey(&mut device).await.expect(200);
    }
}

#[tokio::test]
async fn deleted_passkey_is_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (id, mut device) = world.create_passkey(&ann).await;
    super::management::delete(&world, &ann.access_token, &id).await.expect(204);
    assert_eq!(world.sign_in_with_passkey(&mut device).await.refusal(), (400, "webauthn_verification_failed"));
}

#[tokio::test]
async fn challenge_requests_are_rate_limited() {
    let world = super::world_with(|policy| {
        policy.limits.key = LimitKey::Header("x-client".to_owned());
        policy.limits.passkey.burst = 2.0;
    })
    .await;
    let mut ends = Vec::new();
    for _ in 0..3 {
        ends.push(world.request(Method::POST, OPTIONS, &[("x-client", "one")], Some(json!({}))).await.status.as_u16());
    }
    assert_eq!(ends, [200, 200, 429]);
}

#[tokio::test]
async fn user_handle_must_be_the_user_id_as_registered() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    let id = ann.id.clone();
    for handle in [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}"), format!("urn:uuid:{id}")] {
        device.user_handle = Some(URL_SAFE_NO_PAD.encode(&handle));
        let refused = world.sign_in_with_passkey(&mut device).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{handle}");
        assert_eq!(refused.str("msg"), "Credential verification failed");
    }
    device.user_handle = Some(URL_SAFE_NO_PAD.encode(&id));
    world.sign_in_with_passkey(&mut device).await.expect(200);
}

#[tokio::test]
async fn line_breaks_in_members_are_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    for member in ["rawId", "response/clientDataJSON", "response/signature", "response/userHandle"] {
        for line_break in ["\n", "\r"] {
            let mut body = answer(&world, &mut device).await;
            let value = body.pointer_mut(&format!("/credential/{member}")).expect("a member");
            *value = format!("{}{line_break}", value.as_str().expect("a string")).into();
            let refused = world.post(VERIFY, body).await;
            assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{member}");
            assert_eq!(refused.str("msg"), "Invalid credential response");
        }
    }
}

#[tokio::test]
async fn client_data_must_have_an_exact_origin_and_challenge() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let mut device = world.create_passkey(&ann).await.1;
    let right = device.origin.clone();
    for origin in [format!(" {right}"), format!("{right} "), format!("\t{right}"), right.replace("shop", "sh\nop")] {
        device.origin = origin;
        let refused = world.sign_in_with_passkey(&mut device).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{:?}", device.origin);
        assert_eq!(refused.str("msg"), "Credential verification failed");
    }
    device.origin = right;
    for end in ["=", "\n"] {
        let response = world.post(OPTIONS, json!({})).await.expect(200);
        device.challenge = Some(format!("{}{end}", response.str("options/challenge")));
        let credential = device.get(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        let refused = world.post(VERIFY, body).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{end:?}");
        assert_eq!(refused.str("msg"), "Credential verification failed");
    }
    device.challenge = None;
    world.sign_in_with_passkey(&mut device).await.expect(200);
}
