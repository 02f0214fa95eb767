use chrono::TimeDelta;
use gotrue_rs::testing::{Authenticator, Person, World, with_keys};
use serde_json::{Value, json};

use super::{ANN, assurance, factors};

/// A world in which security keys are on.
async fn world() -> World {
    World::with(with_keys).await
}

#[tokio::test]
async fn a_key_is_made_by_the_first_challenge_and_used_by_later_ones() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let weak = world.sign_in(ANN).await;
    world.advance(TimeDelta::seconds(1));
    let (strong, factor, mut device) = world.key_factor(&ann, "key").await;
    assert_eq!(
        world.journal().statements()[1..],
        ["challenges.with_secret", "elevation.lock", "webauthn_factors.spend", "elevation.elevate",]
    );
    assert_eq!(assurance(&world, &strong.access_token), ("aal2".into(), vec!["mfa/webauthn".into(), "otp".into()]));
    assert_eq!(factors(&world, &strong).await, ["key: verified"]);
    let ended = world.get_as(&weak.access_token, "/user").await;
    assert_eq!(ended.refusal(), (403, "session_not_found"), "weaker sessions end");
    let other = world.sign_in(ANN).await;
    let lifted = world.try_key(&other, &factor, &mut device).await.expect(200);
    assert_eq!(assurance(&world, lifted.str("access_token")).0, "aal2");
    assert_eq!(world.try_key(&other, &factor, &mut device).await.status, 200, "as often as asked");
}

#[tokio::test]
async fn the_options_are_those_of_the_ceremony() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let asked = world.challenge(&ann.access_token, &factor).await.expect(200);
    assert_eq!((asked.str("type"), asked.str("webauthn/type")), ("webauthn", "create"));
    let options = &asked.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(options["user"]["name"], ANN);
    assert_eq!(options["authenticatorSelection"], json!({}));
    assert!(options.get("attestation").is_none() && options.get("excludeCredentials").is_none());
    assert_eq!(asked.json["expires_at"], world.now().timestamp() + 300);
    let mut device = Authenticator::default();
    let answer = device.create(options);
    let answer = world.answer_key(&ann, &factor, asked.str("id"), ("create", answer)).await;
    let ann = Person::of(&answer);
    let asked = world.challenge(&ann.access_token, &factor).await.expect(200);
    let options = &asked.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(asked.str("webauthn/type"), "request");
    assert_eq!(options["allowCredentials"][0]["transports"], json!(["internal", "hybrid"]));
    let second = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "two"})).await;
    let asked = world.challenge(&ann.access_token, second.expect(200).str("id")).await.expect(200);
    let excluded = &asked.json["webauthn"]["credential_options"]["publicKey"]["excludeCredentials"];
    assert_eq!(excluded[0]["id"], device.create(&json!({}))["id"]);
}

#[tokio::test]
async fn the_account_shows_which_key_answered_and_not_what_it_said() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let (strong, _, device) = world.key_factor(&ann, "key").await;
    let shown = world.get_as(&strong.access_token, "/user").await.expect(200);
    let factor = &shown.json["factors"][0];
    assert_eq!(factor["web_authn_aaguid"], device.aaguid.to_string());
    let last = &factor["last_webauthn_challenge_data"];
    assert_eq!((last["type"].as_str(), &last["credential_response"]["rawId"].is_string()), (Some("create"), &true));
    assert!(!shown.text.contains("attestationObject") && !shown.text.contains("signature"));
}

#[tokio::test]
async fn bodies_that_cannot_be_are_told_what_they_miss() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let path = format!("/factors/{factor}/verify");
    let asked = world.challenge(&ann.access_token, &factor).await.expect(200);
    let id = asked.str("id");
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
    let mut device = Authenticator::default();
    let answer = device.create(&asked.json["webauthn"]["credential_options"]["publicKey"]);
    world.answer_key(&ann, &factor, id, ("create", answer)).await.expect(200);
}

#[tokio::test]
async fn a_wrong_answer_leaves_the_challenge_good_and_a_right_one_uses_it_up() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let (_, factor, mut device) = world.key_factor(&ann, "key").await;
    let weak = world.sign_in(ANN).await;
    let asked = world.challenge(&weak.access_token, &factor).await.expect(200);
    let options = &asked.json["webauthn"]["credential_options"]["publicKey"];
    "https://evil.example.net".clone_into(&mut device.origin);
    let wrong = device.get(options);
    let refused = world.answer_key(&weak, &factor, asked.str("id"), ("request", wrong)).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to validate WebAuthn MFA response");
    gotrue_rs::testing::ORIGIN.clone_into(&mut device.origin);
    let (right, again) = (device.get(options), device.get(options));
    let answers = tokio::join!(
        world.answer_key(&weak, &factor, asked.str("id"), ("request", right)),
        world.answer_key(&weak, &factor, asked.str("id"), ("request", again)),
    );
    let mut ends = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 422]);
}

#[tokio::test]
async fn without_a_relying_party_a_factor_can_be_named_and_nothing_more() {
    let world = World::builder().policy(with_keys).policy(|policy| policy.webauthn.relying_party = None).build().await;
    let ann = world.person(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    world.challenge(&ann.access_token, made.expect(200).str("id")).await.expect(500);
}

#[tokio::test]
async fn without_a_name_to_show_no_key_is_made_and_those_there_are_can_be_used() {
    let mut world = world().await;
    let ann = world.person(ANN).await;
    let (strong, factor, mut device) = world.key_factor(&ann, "key").await;
    world.reload(|policy| {
        policy.webauthn.relying_party.as_mut().expect("a relying party").display_name.clear();
    });
    let made = world.enroll(&strong.access_token, json!({"factor_type": "webauthn", "friendly_name": "two"})).await;
    let refused = world.challenge(&strong.access_token, made.expect(200).str("id")).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to generate WebAuthn registration data");
    let refused = world.post_as(&strong.access_token, "/passkeys/registration/options", json!({})).await.expect(500);
    assert_eq!(refused.str("msg"), "Failed to generate WebAuthn registration options");
    world.post("/passkeys/authentication/options", json!({})).await.expect(200);
    assert_eq!(world.try_key(&strong, &factor, &mut device).await.status, 200);
}

#[tokio::test]
async fn factors_stand_in_the_order_in_which_they_were_touched() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let (ann, first, mut device) = world.key_factor(&ann, "first").await;
    world.advance(TimeDelta::seconds(1));
    let (ann, _, _) = world.key_factor(&ann, "second").await;
    assert_eq!(factors(&world, &ann).await, ["first: verified", "second: verified"]);
    world.advance(TimeDelta::seconds(1));
    world.challenge(&ann.access_token, &first).await.expect(200);
    assert_eq!(factors(&world, &ann).await, ["second: verified", "first: verified"]);
    let asked = world.challenge(&ann.access_token, &first).await.expect(200);
    let options = &asked.json["webauthn"]["credential_options"]["publicKey"];
    assert_eq!(options["allowCredentials"][1]["id"], device.get(options)["id"]);
}

#[tokio::test]
async fn a_key_is_kept_with_all_members_that_the_reference_keeps() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let made = world.enroll(&ann.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = made.expect(200).str("id").to_owned();
    let asked = world.challenge(&ann.access_token, &factor).await.expect(200);
    let mut credential = Authenticator::default().create(&asked.json["webauthn"]["credential_options"]["publicKey"]);
    credential["authenticatorAttachment"] = json!("cross-platform");
    credential["response"]["transports"] = json!(["cable", "other"]);
    world.answer_key(&ann, &factor, asked.str("id"), ("create", credential.clone())).await.expect(200);
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
async fn parts_of_a_credential_that_are_missing_or_null_are_judged_as_the_reference_does() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let (_, factor, mut device) = world.key_factor(&ann, "key").await;
    let weak = world.sign_in(ANN).await;
    let asked = world.challenge(&weak.access_token, &factor).await.expect(200);
    let right = device.get(&asked.json["webauthn"]["credential_options"]["publicKey"]);
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
        let answer = world.answer_key(&weak, &factor, asked.str("id"), ("request", credential)).await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (status, message), "{path} {value}");
    }
    let mut credential = right.clone();
    credential["clientExtensionResults"] = Value::Null;
    credential["authenticatorAttachment"] = Value::Null;
    world.answer_key(&weak, &factor, asked.str("id"), ("request", credential)).await.expect(200);
}

#[tokio::test]
async fn a_key_taken_away_lifts_nothing() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let (strong, factor, _) = world.key_factor(&ann, "key").await;
    world.unenroll(&strong.access_token, &factor).await.expect(200);
    let refused = world.challenge(&strong.access_token, &factor).await;
    assert_eq!(refused.refusal(), (404, "mfa_factor_not_found"));
    let refreshed = world.refresh(&strong.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal1");
}
