use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World, enable_webauthn, new_authenticator};
use serde_json::{Value, json};

use super::{ANN, assurance, factors};

/// A world in which security keys are on.
async fn world() -> World {
    World::with(enable_webauthn).await
}

#[tokio::test]
async fn first_challenge_registers_the_key_and_later_ones_use_it() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let weak = world.sign_in(ANN).await;
    world.advance(TimeDelta::seconds(1));
    let (strong, factor, mut device) = world.enroll_security_key(&ann, "key").await;
    assert_eq!(
        world.journal().statements()[1..],
        ["challenges.with_secret", "elevation.lock", "webauthn_factors.consume_challenge", "elevation.elevate",]
    );
    assert_eq!(assurance(&world, &strong.access_token), ("aal2".into(), vec!["mfa/webauthn".into(), "otp".into()]));
    assert_eq!(factors(&world, &strong).await, ["key: verified"]);
    let ended = world.get_as(&weak.access_token, "/user").await;
    assert_eq!(ended.refusal(), (403, "session_not_found"), "weaker sessions end");
    let other = world.sign_in(ANN).await;
    let lifted = world.verify_security_key(&other, &factor, &mut device).await.expect(200);
    assert_eq!(assurance(&world, lifted.str("access_token")).0, "aal2");
    assert_eq!(world.verify_security_key(&other, &factor, &mut device).await.status, 200, "any number of times");
}

#[tokio::test]
async fn the_options_are_those_of_the_ceremony() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    assert_eq!((response.str("type"), response.str("webauthn/type")), ("webauthn", "create"));
    let options = &response.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(options["user"]["name"], ANN);
    assert_eq!(options["authenticatorSelection"], json!({}));
    assert!(options.get("attestation").is_none() && options.get("excludeCredentials").is_none());
    assert_eq!(response.json["expires_at"], world.now().timestamp() + 300);
    let mut device = new_authenticator();
    let answer = device.create(options);
    let answer = world.verify_webauthn_challenge(&ann, &factor, response.str("id"), ("create", answer)).await;
    let ann = TestUser::from_session(&answer);
    let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let options = &response.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(response.str("webauthn/type"), "request");
    assert_eq!(options["allowCredentials"][0]["transports"], json!(["internal", "hybrid"]));
    let second = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "two"})).await;
    let response = world.create_challenge(&ann.access_token, second.expect(200).str("id")).await.expect(200);
    let excluded = &response.json["webauthn"]["credential_options"]["publicKey"]["excludeCredentials"];
    assert_eq!(excluded[0]["id"], device.create(&json!({}))["id"]);
}

#[tokio::test]
async fn user_response_shows_credential_id_without_credential_data() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (strong, _, device) = world.enroll_security_key(&ann, "key").await;
    let shown = world.get_as(&strong.access_token, "/user").await.expect(200);
    let factor = &shown.json["factors"][0];
    assert_eq!(factor["web_authn_aaguid"], device.aaguid.to_string());
    let last = &factor["last_webauthn_challenge_data"];
    assert_eq!((last["type"].as_str(), &last["credential_response"]["rawId"].is_string()), (Some("create"), &true));
    assert!(!shown.text.contains("attestationObject") && !shown.text.contains("signature"));
}

#[tokio::test]
async fn malformed_bodies_report_missing_members() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let path = format!("/factors/{factor}/verify");
    let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let id = response.str("id");
    for (webauthn, message) in [
        (Value::Null, "WebAuthn config required"),
        (json!({}), "WebAuthn type must be create or request"),
        (json!({"type": "else"}), "WebAuthn type must be create or request"),
        (json!({"type": "create"}), "credential_response required"),
        (json!({"type": "create", "credential_response": "text"}), "Invalid credential_response"),
        (json!({"type": "request", "credential_response": {}}), "Invalid credential_response"),
    ] {
        let answer = world.post_as(&ann.access_token, &path, json!({"challenge_id": id, "webauthn": webauthn})).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((400, "validation_failed"), message));
    }
    let mut device = new_authenticator();
    let answer = device.create(&response.json["webauthn"]["credential_options"]["publicKey"]);
    world.verify_webauthn_challenge(&ann, &factor, id, ("create", answer)).await.expect(200);
}

#[tokio::test]
async fn invalid_response_keeps_the_challenge_and_valid_response_consumes_it() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (_, factor, mut device) = world.enroll_security_key(&ann, "key").await;
    let weak = world.sign_in(ANN).await;
    let response = world.create_challenge(&weak.access_token, &factor).await.expect(200);
    let options = &response.json["webauthn"]["credential_options"]["publicKey"];
    "https://evil.example.net".clone_into(&mut device.origin);
    let wrong = device.get(options);
    let refused =
        world.verify_webauthn_challenge(&weak, &factor, response.str("id"), ("request", wrong)).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to validate WebAuthn MFA response");
    gotrue_rs::testing::ORIGIN.clone_into(&mut device.origin);
    let (right, again) = (device.get(options), device.get(options));
    let answers = tokio::join!(
        world.verify_webauthn_challenge(&weak, &factor, response.str("id"), ("request", right)),
        world.verify_webauthn_challenge(&weak, &factor, response.str("id"), ("request", again)),
    );
    let mut ends = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 422]);
}

#[tokio::test]
async fn without_relying_party_factors_can_only_be_enrolled() {
    let world =
        World::builder().policy(enable_webauthn).policy(|policy| policy.webauthn.relying_party = None).build().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    world.create_challenge(&ann.access_token, made.expect(200).str("id")).await.expect(500);
}

#[tokio::test]
async fn without_display_name_keys_are_used_but_not_registered() {
    let mut world = world().await;
    let ann = world.create_user(ANN).await;
    let (strong, factor, mut device) = world.enroll_security_key(&ann, "key").await;
    world.reload(|policy| {
        policy.webauthn.relying_party.as_mut().expect("a relying party").display_name.clear();
    });
    let made = world.enroll(&strong.access_token, json!({"factor_type": "webauthn", "friendly_name": "two"})).await;
    let refused = world.create_challenge(&strong.access_token, made.expect(200).str("id")).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to generate WebAuthn registration data");
    let refused = world.post_as(&strong.access_token, "/passkeys/registration/options", json!({})).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to generate WebAuthn registration options");
    world.post("/passkeys/authentication/options", json!({})).await.expect(200);
    assert_eq!(world.verify_security_key(&strong, &factor, &mut device).await.status, 200);
}

#[tokio::test]
async fn factors_are_listed_by_last_update() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (ann, first, mut device) = world.enroll_security_key(&ann, "first").await;
    world.advance(TimeDelta::seconds(1));
    let (ann, _, _) = world.enroll_security_key(&ann, "second").await;
    assert_eq!(factors(&world, &ann).await, ["first: verified", "second: verified"]);
    world.advance(TimeDelta::seconds(1));
    world.create_challenge(&ann.access_token, &first).await.expect(200);
    assert_eq!(factors(&world, &ann).await, ["second: verified", "first: verified"]);
    let response = world.create_challenge(&ann.access_token, &first).await.expect(200);
    let options = &response.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(options["allowCredentials"][1]["id"], device.get(options)["id"]);
}

#[tokio::test]
async fn credential_is_stored_with_all_gotrue_members() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let mut credential = new_authenticator().create(&response.json["webauthn"]["credential_options"]["publicKey"]);
    credential["authenticatorAttachment"] = json!("cross-platform");
    credential["response"]["transports"] = json!(["cable", "other"]);
    world
        .verify_webauthn_challenge(&ann, &factor, response.str("id"), ("create", credential.clone()))
        .await
        .expect(200);
    let stored = world.database.query("SELECT web_authn_credential FROM auth.mfa_factors").await.concat();
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    assert_eq!(stored["transport"], json!(["hybrid", "other"]));
    let authenticator = &stored["authenticator"];
    assert_eq!(authenticator["attachment"], "cross-platform");
    assert_eq!(authenticator["cloneWarning"], false);
    let attestation = stored["attestation"].as_object().expect("an object");
    let mut members: Vec<&str> = attestation.keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["authenticatorData", "clientDataHash", "clientDataJSON", "object", "publicKeyAlgorithm"]);
    assert_eq!((&attestation["authenticatorData"], &attestation["publicKeyAlgorithm"]), (&Value::Null, &json!(0)));
    let sent = credential["response"]["attestationObject"].as_str().expect("text").replace('-', "+").replace('_', "/");
    assert_eq!(attestation["object"].as_str().expect("text").trim_end_matches('='), sent);
}

#[tokio::test]
async fn missing_or_null_credential_members_are_handled_like_gotrue() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (_, factor, mut device) = world.enroll_security_key(&ann, "key").await;
    let weak = world.sign_in(ANN).await;
    let response = world.create_challenge(&weak.access_token, &factor).await.expect(200);
    let right = device.get(&response.json["webauthn"]["credential_options"]["publicKey"]);
    let (unreadable, wrong) = ("Invalid credential_response", "Failed to validate WebAuthn MFA response");
    for (path, value, status, message) in [
        ("/rawId", Value::Null, 500, wrong),
        ("/response/signature", Value::Null, 500, wrong),
        ("/id", json!("!!"), 400, unreadable),
        ("/id", Value::Null, 400, unreadable),
        ("/type", Value::Null, 400, unreadable),
        ("/response", Value::Null, 400, unreadable),
        ("/response/clientDataJSON", json!(""), 400, unreadable),
        ("/response/authenticatorData", json!("AAAA"), 400, unreadable),
        ("/authenticatorAttachment", json!(1), 400, unreadable),
        ("", Value::Null, 400, unreadable),
    ] {
        let mut credential = right.clone();
        match path.rsplit_once('/') {
            None => credential = value.clone(),
            Some((parent, name)) => credential.pointer_mut(parent).expect("an object")[name] = value.clone(),
        }
        let answer = world.verify_webauthn_challenge(&weak, &factor, response.str("id"), ("request", credential)).await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (status, message), "{path} {value}");
    }
    let mut credential = right.clone();
    credential["clientExtensionResults"] = Value::Null;
    credential["authenticatorAttachment"] = Value::Null;
    world.verify_webauthn_challenge(&weak, &factor, response.str("id"), ("request", credential)).await.expect(200);
}

#[tokio::test]
async fn unenrolled_key_elevates_nothing() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (strong, factor, _) = world.enroll_security_key(&ann, "key").await;
    world.unenroll(&strong.access_token, &factor).await.expect(200);
    let refused = world.create_challenge(&strong.access_token, &factor).await;
    assert_eq!(refused.refusal(), (404, "mfa_factor_not_found"));
    let refreshed = world.refresh(&strong.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal1");
}

#[tokio::test]
async fn line_breaks_in_members_are_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    for member in ["/rawId", "/response/clientDataJSON", "/response/attestationObject"] {
        let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
        let mut made = new_authenticator().create(&response.json["webauthn"]["credential_options"]["publicKey"]);
        if let Some(Value::String(text)) = made.pointer_mut(member) {
            text.insert(4, '\n');
        }
        let refused = world.verify_webauthn_challenge(&ann, &factor, response.str("id"), ("create", made)).await;
        assert_eq!(refused.refusal(), (400, "validation_failed"), "{member}");
        assert_eq!(refused.str("msg"), "Invalid credential_response");
    }
}
