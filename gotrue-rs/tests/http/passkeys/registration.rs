use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World, new_authenticator};
use gotrue_rules::domain::policy::RelyingParty;
use platform::software_authenticator::Authenticator;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, BOB, challenges, stored, world, world_with};

const OPTIONS: &str = "/passkeys/registration/options";
const VERIFY: &str = "/passkeys/registration/verify";

#[tokio::test]
async fn passkey_is_stored_as_created() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let aaguid = "fbfc3007-154e-4ecc-8c0b-6e020557d7bd".parse().unwrap();
    let mut device = Authenticator { aaguid, counter: 7, is_backup_eligible: true, ..new_authenticator() };
    let made = world.register_passkey(&ann, &mut device).await.expect(200);
    assert_eq!(made.str("friendly_name"), "Apple Passwords");
    assert_eq!(
        world.journal().statements(),
        [
            "users.with_session",
            "webauthn_challenges.consume",
            "webauthn_credentials.lock_owner",
            "webauthn_credentials.insert",
        ]
    );
    let row = "concat_ws(' ', id, user_id, attestation_type, sign_count, transports, backup_eligible, backed_up)";
    let expected = format!("{} {} none 7 [\"internal\", \"hybrid\"] t f", made.str("id"), ann.id);
    assert_eq!(stored(&world, row).await, expected);
    assert_eq!(stored(&world, "encode(credential_id, 'hex')").await, hex::encode(&device.id));
}

#[tokio::test]
async fn options_require_a_discoverable_credential() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    world.put_as(&ann.access_token, "/user", json!({"data": {"name": "Ann"}})).await.expect(200);
    let device = world.create_passkey(&ann).await.1;
    let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
    let options = &response.json["options"];
    assert_eq!(options["rp"], json!({"id": "example.com", "name": "The Shop"}));
    let handle = URL_SAFE_NO_PAD.encode(&ann.id);
    assert_eq!(options["user"], json!({"id": handle, "name": ANN, "displayName": "Ann"}));
    assert_eq!(
        options["excludeCredentials"],
        json!([{"type": "public-key", "id": URL_SAFE_NO_PAD.encode(&device.id)}])
    );
    assert_eq!(options["authenticatorSelection"], json!({"residentKey": "required", "userVerification": "preferred"}));
    let challenge = options["challenge"].as_str().unwrap_or_default();
    assert_eq!(URL_SAFE_NO_PAD.decode(challenge).unwrap().len(), 32);
    assert_eq!(response.json["expires_at"], world.now().timestamp() + 300);
    let again = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
    assert_ne!(again.str("/options/challenge"), challenge);
}

#[tokio::test]
async fn invalid_response_consumes_the_challenge() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let lies: [fn(&mut Authenticator); 7] = [
        |device| "https://evil.example.net".clone_into(&mut device.origin),
        |device| "example.net".clone_into(&mut device.rp_id),
        |device| device.challenge = Some("AAAA".to_owned()),
        |device| device.ceremony = Some("webauthn.get"),
        |device| device.is_user_present = false,
        |device| device.is_cross_origin = true,
        |device| device.is_backed_up = true,
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        let mut device = new_authenticator();
        lie(&mut device);
        let answer = world.register_passkey(&ann, &mut device).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{n}: {}", answer.text);
        assert_eq!(challenges(&world).await, "0");
    }
    assert_eq!(stored(&world, "1").await, "");
}

#[tokio::test]
async fn malformed_credential_is_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let broken: [fn(Value) -> Value; 6] = [
        |_| json!({}),
        |_| json!("text"),
        |_| json!([]),
        |reported| with(reported, "/type", json!("password")),
        |reported| with(reported, "/response/clientDataJSON", json!("***")),
        |reported| with(reported, "/id", json!("")),
    ];
    for (n, broken) in broken.into_iter().enumerate() {
        let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
        let credential = broken(new_authenticator().create(&response.json["options"]));
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        let answer = world.post_as(&ann.access_token, VERIFY, body).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{n}: {}", answer.text);
        assert_eq!(answer.str("msg"), "Invalid credential response", "{n}");
    }
    for attestation in ["", "AA", "oA", "pGNmbXRkbm9uZQ"] {
        let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
        let credential = new_authenticator().create(&response.json["options"]);
        let credential = with(credential, "/response/attestationObject", json!(attestation));
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        let answer = world.post_as(&ann.access_token, VERIFY, body).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{attestation}");
    }
}

#[tokio::test]
async fn challenge_is_bound_to_its_user_single_use_and_expires() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
    let body = json!({
        "challenge_id": response.str("challenge_id"),
        "credential": new_authenticator().create(&response.json["options"]),
    });
    let foreign = world.post_as(&bob.access_token, VERIFY, body.clone()).await;
    assert_eq!(foreign.refusal(), (400, "webauthn_challenge_not_found"));
    world.advance(TimeDelta::seconds(301));
    let late = world.post_as(&ann.access_token, VERIFY, body.clone()).await;
    assert_eq!(late.refusal(), (400, "webauthn_challenge_expired"));
    let again = world.post_as(&ann.access_token, VERIFY, body).await;
    assert_eq!(again.refusal(), (400, "webauthn_challenge_not_found"));
}

#[tokio::test]
async fn registered_credential_cannot_be_registered_again() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let mut device = new_authenticator();
    world.register_passkey(&ann, &mut device).await.expect(200);
    for user in [&bob, &ann] {
        let again = world.register_passkey(user, &mut device).await;
        assert_eq!((again.status.as_u16(), &again.json["code"]), (500, &json!("23505")));
    }
    assert_eq!(stored(&world, "user_id::text").await, ann.id);
}

#[tokio::test]
async fn passkeys_per_user_are_limited_under_concurrency() {
    let world = world_with(|policy| policy.passkeys.max_per_user = 1).await;
    let ann = world.create_user(ANN).await;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(200);
        let credential = new_authenticator().create(&response.json["options"]);
        bodies.push(json!({"challenge_id": response.str("challenge_id"), "credential": credential}));
    }
    let verify = |body: &Value| world.post_as(&ann.access_token, VERIFY, body.clone());
    let (one, other) = tokio::join!(verify(&bodies[0]), verify(&bodies[1]));
    let mut ends = [one.status.as_u16(), other.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 422]);
    let more = world.post_as(&ann.access_token, OPTIONS, json!({})).await;
    assert_eq!(more.refusal(), (422, "too_many_passkeys"));
}

#[tokio::test]
async fn ineligible_user_is_refused_before_the_body_is_read() {
    let world = world_with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let unknown = world.post("/signup", json!({})).await.expect(200);
    let ann = world.create_user(ANN).await;
    for path in [OPTIONS, VERIFY] {
        assert_eq!(world.post(path, json!({})).await.refusal(), (401, "no_authorization"));
        let anonymous = world.post_as(unknown.str("access_token"), path, json!({})).await;
        assert_eq!(anonymous.refusal(), (403, "no_authorization"));
    }
    world.database.query("UPDATE auth.users SET is_sso_user = true WHERE email IS NOT NULL").await;
    for path in [OPTIONS, VERIFY] {
        let by_sso = world.post_as(&ann.access_token, path, json!({})).await;
        assert_eq!(by_sso.refusal(), (422, "validation_failed"));
    }
}

/// A user with a verified factor must have used it in the session.
#[tokio::test]
async fn e3_user_with_verified_factor_needs_aal2_for_passkeys() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (id, _) = world.create_passkey(&ann).await;
    let app = world.enroll_totp(&ann, "app").await;
    world.elevate_session(&ann, &app).await;
    let weak = world.sign_in(ANN).await;
    for path in [OPTIONS, VERIFY] {
        let answer = world.post_as(&weak.access_token, path, json!({})).await;
        assert_eq!(answer.refusal(), (403, "insufficient_aal"));
    }
    let deleted = super::management::delete(&world, &weak.access_token, &id).await;
    assert_eq!(deleted.refusal(), (403, "insufficient_aal"));
}

#[tokio::test]
async fn missing_relying_party_refuses_options() {
    let world = world_with(|policy| policy.webauthn.relying_party = None).await;
    let ann = world.create_user(ANN).await;
    let response = world.post_as(&ann.access_token, OPTIONS, json!({})).await.expect(500);
    assert_eq!(response.str("msg"), "Failed to initialize WebAuthn");
    assert_eq!(challenges(&world).await, "0");
}

#[tokio::test]
async fn every_configured_origin_is_accepted() {
    let world = world_with(|policy| {
        policy.webauthn.relying_party = Some(RelyingParty {
            id: "example.com".into(),
            display_name: "The Shop".into(),
            origins: vec!["https://shop.example.com".into(), "https://example.com".into()],
        });
    })
    .await;
    let ann = world.create_user(ANN).await;
    let mut device = Authenticator { origin: "https://example.com".into(), ..new_authenticator() };
    world.register_passkey(&ann, &mut device).await.expect(200);
}

#[tokio::test]
async fn disabled_passkeys_are_refused() {
    let world = World::new().await;
    for path in [OPTIONS, VERIFY, "/passkeys/authentication/options", "/passkeys/authentication/verify"] {
        assert_eq!(world.post(path, json!({})).await.refusal(), (404, "passkey_disabled"));
    }
    assert_eq!(world.get("/passkeys").await.refusal(), (404, "passkey_disabled"));
}

fn with(mut credential: Value, pointer: &str, value: Value) -> Value {
    *credential.pointer_mut(pointer).expect("the member is there") = value;
    credential
}

/// Attempts to register a passkey whose credential is changed.
async fn register_changed(world: &World, user: &TestUser, change: impl FnOnce(&mut Value)) -> Answer {
    let response = world.post_as(&user.access_token, OPTIONS, json!({})).await.expect(200);
    let mut credential = new_authenticator().create(&response.json["options"]);
    change(&mut credential);
    let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
    world.post_as(&user.access_token, VERIFY, body).await
}

#[tokio::test]
async fn line_breaks_in_members_are_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    for member in ["/rawId", "/response/clientDataJSON", "/response/attestationObject"] {
        let refused = register_changed(&world, &ann, |credential| {
            let value = credential.pointer_mut(member).expect("a member");
            *value = format!("{}\n", value.as_str().expect("a string")).into();
        });
        let refused = refused.await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{member}");
        assert_eq!(refused.str("msg"), "Invalid credential response");
    }
}

#[tokio::test]
async fn token_binding_must_have_a_known_status() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let register = async |binding: &Value| {
        let changed = register_changed(&world, &ann, |credential| {
            let encoded = &mut credential["response"]["clientDataJSON"];
            let text = URL_SAFE_NO_PAD.decode(encoded.as_str().expect("a string")).expect("base64url");
            let mut data: Value = serde_json::from_slice(&text).expect("an object");
            data["tokenBinding"] = binding.clone();
            *encoded = URL_SAFE_NO_PAD.encode(data.to_string()).into();
        });
        changed.await
    };
    for binding in [json!({}), json!({"status": ""}), json!({"status": "other"}), json!({"status": null})] {
        let refused = register(&binding).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{binding}");
        assert_eq!(refused.str("msg"), "Credential verification failed", "{binding}");
    }
    for binding in [Value::Null, json!({"status": "present"}), json!({"status": "not-supported"})] {
        register(&binding).await.expect(200);
    }
}
