//! E: security keys as second factors.

use gotrue_rs::testing::{TestUser, World, enable_webauthn, new_authenticator};
use platform::software_authenticator::Authenticator;
use platform::testing::Answer;
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

async fn served() -> World {
    World::builder().as_served().policy(enable_webauthn).build().await
}

/// A factor of that name without a key.
async fn named(world: &World, user: &TestUser, name: &str) -> String {
    let body = json!({"factor_type": "webauthn", "friendly_name": name});
    world.enroll(&user.access_token, body).await.expect(200).str("id").to_owned()
}

fn options(requested: &Answer) -> &Value {
    &requested.json["webauthn"]["credential_options"]["publicKey"]
}

/// A decreasing counter indicates a cloned key. GoTrue accepts it; the hardened policy refuses it.
#[tokio::test]
async fn e1_decreasing_counter_is_refused_with_hardened_policy() {
    for (world, lets_it_pass) in [(World::with(enable_webauthn).await, true), (served().await, false)] {
        let ann = world.create_user(ANN).await;
        let (strong, factor, mut device) = world.enroll_security_key(&ann, "key").await;
        device.counter = 4;
        world.verify_security_key(&strong, &factor, &mut device).await.expect(200);
        for counter in [2, 4] {
            device.counter = counter;
            let answer = world.verify_security_key(&strong, &factor, &mut device).await;
            assert_eq!(answer.status == 200, lets_it_pass, "counter {}: {}", device.counter, answer.text);
        }
        device.counter = 5;
        world.verify_security_key(&strong, &factor, &mut device).await.expect(200);
        let count = "SELECT web_authn_credential #>> '{authenticator,signCount}' FROM auth.mfa_factors";
        assert_eq!(world.database.query(count).await, ["6"]);
    }
}

/// A user with only the password cannot replace the key of a verified factor.
#[tokio::test]
async fn e1_unregistered_key_does_not_verify_a_factor() {
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    let (_, factor, _) = world.enroll_security_key(&ann, "key").await;
    let attacker = world.sign_in(ANN).await;
    let mut own = new_authenticator();
    let response = world.create_challenge(&attacker.access_token, &factor).await.expect(200);
    let made = own.create(&with_user(options(&response)));
    let answer = world.verify_webauthn_challenge(&attacker, &factor, response.str("id"), ("create", made)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    let used = own.get(options(&response));
    let answer = world.verify_webauthn_challenge(&attacker, &factor, response.str("id"), ("request", used)).await;
    assert_eq!(answer.status, 500);
    let level = world.refresh(&attacker.refresh_token).await.expect(200);
    assert_eq!(world.decode_claims(level.str("access_token"))["aal"], "aal1");
}

/// A registration challenge from before the verification registers no key afterwards.
#[tokio::test]
async fn e1_earlier_challenge_cannot_replace_the_key_of_a_verified_factor() {
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    let factor = named(&world, &ann, "key").await;
    let early = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let response = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let made = new_authenticator().create(options(&response));
    world.verify_webauthn_challenge(&ann, &factor, response.str("id"), ("create", made)).await.expect(200);
    let attacker = world.sign_in(ANN).await;
    let made = new_authenticator().create(options(&early));
    let answer = world.verify_webauthn_challenge(&attacker, &factor, early.str("id"), ("create", made)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
}

/// Two concurrent registrations for one factor: one key is stored and one session is elevated.
#[tokio::test]
async fn e1_concurrent_registrations_keep_one_key() {
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    let factor = named(&world, &ann, "key").await;
    let first = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let second = world.create_challenge(&ann.access_token, &factor).await.expect(200);
    let answer = |requested: &Answer| ("create", new_authenticator().create(options(requested)));
    let answers = tokio::join!(
        world.verify_webauthn_challenge(&ann, &factor, first.str("id"), answer(&first)),
        world.verify_webauthn_challenge(&ann, &factor, second.str("id"), answer(&second)),
    );
    let mut ends = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    ends.sort_unstable();
    assert!(ends[0] == 200 && ends[1] != 200, "{ends:?}");
}

/// The key of another user does not verify this factor.
#[tokio::test]
async fn e1_key_of_another_user_elevates_nothing() {
    let world = World::with(enable_webauthn).await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let (ann, factor, anns) = world.enroll_security_key(&ann, "key").await;
    let (_, _, mut bobs) = world.enroll_security_key(&bob, "key").await;
    for handle in [bobs.user_handle.clone(), anns.user_handle.clone(), None] {
        bobs.user_handle = handle;
        let answer = world.verify_security_key(&ann, &factor, &mut bobs).await;
        assert_eq!(answer.status, 500, "{:?}", bobs.user_handle);
    }
}

/// A response for another origin, relying party or challenge is refused.
#[tokio::test]
async fn e1_mismatching_response_is_refused() {
    let lies: [fn(&mut Authenticator); 6] = [
        |device| "https://evil.example.net".clone_into(&mut device.origin),
        |device| "https://shop.example.com:8443".clone_into(&mut device.origin),
        |device| "example.net".clone_into(&mut device.rp_id),
        |device| device.challenge = Some("AAAA".to_owned()),
        |device| device.ceremony = Some("webauthn.create"),
        |device| device.is_user_present = false,
    ];
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    let (ann, factor, mut device) = world.enroll_security_key(&ann, "key").await;
    for (n, lie) in lies.into_iter().enumerate() {
        let mut liar = new_authenticator();
        std::mem::swap(&mut liar, &mut device);
        let (origin, rp_id) = (liar.origin.clone(), liar.rp_id.clone());
        lie(&mut liar);
        assert_eq!(world.verify_security_key(&ann, &factor, &mut liar).await.status, 500, "{n}");
        device = Authenticator { origin, rp_id, challenge: None, ceremony: None, is_user_present: true, ..liar };
    }
    world.verify_security_key(&ann, &factor, &mut device).await.expect(200);
}

/// A passkey is not a second factor, and the key of a factor does not sign in.
#[tokio::test]
async fn e1_passkeys_and_factors_are_not_interchangeable() {
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    let (_, mut passkey) = world.create_passkey(&ann).await;
    let (strong, factor, mut key) = world.enroll_security_key(&ann, "key").await;
    assert_eq!(world.verify_security_key(&strong, &factor, &mut passkey).await.status, 500);
    assert_eq!(world.sign_in_with_passkey(&mut key).await.refusal(), (400, "webauthn_verification_failed"));
    let session = world.sign_in_with_passkey(&mut passkey).await.expect(200);
    assert_eq!(world.decode_claims(session.str("access_token"))["aal"], "aal1");
}

/// Request options converted to creation options for the authenticator.
fn with_user(options: &Value) -> Value {
    let mut options = options.clone();
    options["user"] = json!({"id": "AAAA"});
    options
}
