use gotrue_rs::testing::{TestUser, World, enable_webauthn, new_authenticator};
use platform::software_authenticator::Authenticator;

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

/// How an authenticator is made to say something else than the truth.
type Tampering = fn(&mut Authenticator);

/// A user with a passkey and its authenticator.
async fn holder(world: &World) -> (TestUser, Authenticator) {
    let ann = world.create_user(ANN).await;
    let device = world.create_passkey(&ann).await.1;
    (ann, device)
}

async fn sign_count(world: &World) -> String {
    world.database.query("SELECT sign_count::text FROM auth.webauthn_credentials").await.concat()
}

/// A decreasing counter indicates a cloned key. GoTrue accepts it; the hardened policy refuses it.
#[tokio::test]
async fn e1_decreasing_counter_is_refused_with_hardened_policy() {
    for (world, lets_it_pass) in [
        (World::with(enable_webauthn).await, true),
        (World::builder().as_served().policy(enable_webauthn).build().await, false),
    ] {
        let (_, mut device) = holder(&world).await;
        device.counter = 4;
        world.sign_in_with_passkey(&mut device).await.expect(200);
        for counter in [2, 4] {
            device.counter = counter;
            let answer = world.sign_in_with_passkey(&mut device).await;
            assert_eq!(answer.status == 200, lets_it_pass, "counter {}: {}", device.counter, answer.text);
            assert_eq!(sign_count(&world).await, "5", "the higher one is kept");
        }
        device.counter = 5;
        world.sign_in_with_passkey(&mut device).await.expect(200);
        assert_eq!(sign_count(&world).await, "6");
    }
}

/// Two clones of one key that reach the same counter concurrently: one signs in.
#[tokio::test]
async fn e1_concurrent_cloned_keys_succeed_once_with_hardened_policy() {
    let world = World::builder().as_served().policy(enable_webauthn).build().await;
    let (_, mut device) = holder(&world).await;
    device.has_counter = false;
    device.counter = 7;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let response = world.post("/passkeys/authentication/options", serde_json::json!({})).await.expect(200);
        let credential = device.get(&response.json["options"]);
        bodies.push(serde_json::json!({"challenge_id": response.str("challenge_id"), "credential": credential}));
    }
    let verify = |body: &serde_json::Value| world.post("/passkeys/authentication/verify", body.clone());
    let (one, other) = tokio::join!(verify(&bodies[0]), verify(&bodies[1]));
    let mut ends = [one.status.as_u16(), other.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 400], "{} {}", one.text, other.text);
}

/// A response for a foreign origin, a subdomain or another port is refused.
#[tokio::test]
async fn e1_response_for_another_origin_is_refused() {
    let world = World::with(enable_webauthn).await;
    let (_, mut device) = holder(&world).await;
    for origin in [
        "https://evil.example.net",
        "https://evil.shop.example.com",
        "https://example.com",
        "https://shop.example.com.evil.net",
        "https://shop.example.com:8443",
        "http://shop.example.com",
        "null",
        "",
    ] {
        origin.clone_into(&mut device.origin);
        let answer = world.sign_in_with_passkey(&mut device).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{origin}: {}", answer.text);
    }
}

/// A signature for another relying party, challenge or ceremony is refused.
#[tokio::test]
async fn e1_mismatching_response_is_refused() {
    let lies: [(&str, Tampering); 6] = [
        ("another relying party", |device| "example.net".clone_into(&mut device.rp_id)),
        ("another challenge", |device| device.challenge = Some("AAAA".to_owned())),
        ("the ceremony of a registration", |device| device.ceremony = Some("webauthn.create")),
        ("no user present", |device| device.is_user_present = false),
        ("a key that may be copied all at once", |device| device.is_backup_eligible = true),
        ("a key that is copied, which it cannot be", |device| device.is_backed_up = true),
    ];
    for (what, lie) in lies {
        let world = World::with(enable_webauthn).await;
        let (_, mut device) = holder(&world).await;
        lie(&mut device);
        let answer = world.sign_in_with_passkey(&mut device).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{what}: {}", answer.text);
    }
}

/// Knowing a credential id or its user is not possession of the key.
#[tokio::test]
async fn e1_credential_id_alone_is_refused() {
    let world = World::with(enable_webauthn).await;
    let (_, anns) = holder(&world).await;
    let mut copied =
        Authenticator { id: anns.id.clone(), user_handle: anns.user_handle.clone(), ..new_authenticator() };
    assert_eq!(world.sign_in_with_passkey(&mut copied).await.refusal(), (400, "webauthn_verification_failed"));
    let mut own = Authenticator { user_handle: anns.user_handle.clone(), ..new_authenticator() };
    assert_eq!(world.sign_in_with_passkey(&mut own).await.refusal(), (400, "webauthn_verification_failed"));
}

/// A key signs in only its user, whatever the user handle is.
#[tokio::test]
async fn b1_passkey_signs_in_only_its_user() {
    let world = World::with(enable_webauthn).await;
    let (_, mut anns) = holder(&world).await;
    let bob = world.create_user(BOB).await;
    let (_, bobs) = world.create_passkey(&bob).await;
    for handle in [bobs.user_handle.clone(), None, Some(String::new()), Some("AAAA".to_owned())] {
        anns.user_handle = handle;
        let answer = world.sign_in_with_passkey(&mut anns).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{:?}", anns.user_handle);
    }
}

#[tokio::test]
async fn b1_registered_key_cannot_be_registered_by_another_user() {
    let world = World::with(enable_webauthn).await;
    let (_, mut anns) = holder(&world).await;
    let handle = anns.user_handle.clone();
    let bob = world.create_user(BOB).await;
    let taken = world.register_passkey(&bob, &mut anns).await;
    assert_eq!((taken.status.as_u16(), taken.str("code")), (500, "23505"));
    anns.user_handle = handle;
    let session = world.sign_in_with_passkey(&mut anns).await.expect(200);
    assert_eq!(session.str("user/email"), ANN);
}

/// A found security key alone must not sign in. GoTrue accepts it; the hardened policy refuses it.
#[tokio::test]
async fn e1_user_verification_is_required_with_hardened_policy() {
    let recorded = World::with(enable_webauthn).await;
    let (_, mut device) = holder(&recorded).await;
    device.is_user_verified = false;
    recorded.sign_in_with_passkey(&mut device).await.expect(200);

    let served = World::builder().as_served().policy(enable_webauthn).build().await;
    let (ann, mut device) = holder(&served).await;
    let response = served.post("/passkeys/authentication/options", serde_json::json!({})).await.expect(200);
    assert_eq!(response.str("options/userVerification"), "required");
    device.is_user_verified = false;
    assert_eq!(served.sign_in_with_passkey(&mut device).await.refusal(), (400, "webauthn_verification_failed"));
    let mut unverified = Authenticator { is_user_verified: false, ..new_authenticator() };
    let made = served.register_passkey(&ann, &mut unverified).await;
    assert_eq!(made.refusal(), (400, "webauthn_verification_failed"));
}

/// Unverifiable public keys are refused at registration, not at first use.
#[tokio::test]
async fn g1_malformed_key_bytes_are_refused() {
    let world = World::with(enable_webauthn).await;
    let ann = world.create_user(ANN).await;
    for id in [Vec::new(), vec![7; 1024]] {
        let mut device = Authenticator { id, ..new_authenticator() };
        let answer = world.register_passkey(&ann, &mut device).await;
        assert!(answer.status != 500, "{}", answer.text);
    }
}
