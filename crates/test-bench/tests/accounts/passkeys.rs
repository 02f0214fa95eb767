//! Passkeys of a software authenticator, against the endpoints of the API.

use gotrue_rs::testing::{ORIGIN, TestUser, World, enable_webauthn};
use serde_json::{Value, json};
use test_bench::authenticators;

fn answer(world: &World, body: &Value) -> Value {
    authenticators::passkeys(&world.app, body.to_string().as_bytes()).expect("valid options")
}

async fn register(world: &World, user: &TestUser) -> Value {
    let token = &user.access_token;
    let options = world.post_as(token, "/passkeys/registration/options", json!({})).await.expect(200);
    let created = answer(world, &json!({"options": options.json["options"]}));
    let body = json!({"challenge_id": options.str("challenge_id"), "credential": created["credential"]});
    world.post_as(token, "/passkeys/registration/verify", body).await.expect(200);
    created["passkey"].clone()
}

#[tokio::test]
async fn created_passkey_signs_in_repeatedly() {
    let world = World::with(enable_webauthn).await;
    let user = world.create_user("ann@example.com").await;
    let mut passkey = register(&world, &user).await;
    assert_eq!((&passkey["rp_id"], &passkey["sign_count"]), (&json!("example.com"), &json!(0)));
    for count in 1..3 {
        let options = world.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let asserted =
            answer(&world, &json!({"options": options.json["options"], "passkey": passkey, "origin": ORIGIN}));
        let body = json!({"challenge_id": options.str("challenge_id"), "credential": asserted["credential"]});
        let session = world.post("/passkeys/authentication/verify", body).await.expect(200);
        assert_eq!(session.str("user/id"), user.id);
        passkey = asserted["passkey"].clone();
        assert_eq!(passkey["sign_count"], count);
    }
}

#[tokio::test]
async fn response_from_another_origin_is_refused_by_the_server() {
    let world = World::with(enable_webauthn).await;
    let user = world.create_user("ann@example.com").await;
    let passkey = register(&world, &user).await;
    let options = world.post("/passkeys/authentication/options", json!({})).await.expect(200);
    let body = json!({"options": options.json["options"], "passkey": passkey, "origin": "https://evil.example"});
    let asserted = answer(&world, &body);
    let body = json!({"challenge_id": options.str("challenge_id"), "credential": asserted["credential"]});
    let refused = world.post("/passkeys/authentication/verify", body).await;
    assert!(refused.status.is_client_error(), "{}", refused.text);
}

#[tokio::test]
async fn passkey_is_a_second_factor() {
    let world = World::with(enable_webauthn).await;
    let user = world.create_user("ann@example.com").await;
    let enrolled = world.enroll(&user.access_token, json!({"factor_type": "webauthn", "friendly_name": "key"})).await;
    let factor = enrolled.expect(200).str("id").to_owned();
    let challenge = world.create_challenge(&user.access_token, &factor).await.expect(200);
    let created = answer(&world, &json!({"options": challenge.json["webauthn"]["credential_options"]}));
    let response = ("create", created["credential"].clone());
    let verified = world.verify_webauthn_challenge(&user, &factor, challenge.str("id"), response).await.expect(200);
    assert_eq!(world.decode_claims(verified.str("access_token"))["aal"], "aal2");
}
