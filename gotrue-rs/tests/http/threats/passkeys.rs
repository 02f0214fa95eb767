use gotrue_rs::testing::{Authenticator, Person, World, with_keys};

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

/// How an authenticator is made to say something else than the truth.
type Lie = fn(&mut Authenticator);

/// Somebody with a passkey, and the device that holds it.
async fn holder(world: &World) -> (Person, Authenticator) {
    let ann = world.person(ANN).await;
    let device = world.passkey(&ann).await.1;
    (ann, device)
}

async fn sign_count(world: &World) -> String {
    world.database.query("SELECT sign_count::text FROM auth.webauthn_credentials").await.concat()
}

/// E1: a counter that goes back tells of a copy. The reference lets it pass; what is served does not.
#[tokio::test]
async fn e1_a_counter_that_goes_back_is_refused_where_we_serve() {
    for (world, lets_it_pass) in
        [(World::with(with_keys).await, true), (World::builder().as_served().policy(with_keys).build().await, false)]
    {
        let (_, mut device) = holder(&world).await;
        device.counter = 4;
        world.try_passkey(&mut device).await.expect(200);
        for counter in [2, 4] {
            device.counter = counter;
            let answer = world.try_passkey(&mut device).await;
            assert_eq!(answer.status == 200, lets_it_pass, "counter {}: {}", device.counter, answer.text);
            assert_eq!(sign_count(&world).await, "5", "the higher one is kept");
        }
        device.counter = 5;
        world.try_passkey(&mut device).await.expect(200);
        assert_eq!(sign_count(&world).await, "6");
    }
}

/// E1: two copies of one key that reach the same counter at once: one of them comes in.
#[tokio::test]
async fn e1_two_copies_at_once_do_not_both_come_in_where_we_serve() {
    let world = World::builder().as_served().policy(with_keys).build().await;
    let (_, mut device) = holder(&world).await;
    device.counts = false;
    device.counter = 7;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let asked = world.post("/passkeys/authentication/options", serde_json::json!({})).await.expect(200);
        let credential = device.get(&asked.json["options"]);
        bodies.push(serde_json::json!({"challenge_id": asked.str("challenge_id"), "credential": credential}));
    }
    let verify = |body: &serde_json::Value| world.post("/passkeys/authentication/verify", body.clone());
    let (one, other) = tokio::join!(verify(&bodies[0]), verify(&bodies[1]));
    let mut ends = [one.status.as_u16(), other.status.as_u16()];
    ends.sort_unstable();
    assert_eq!(ends, [200, 400], "{} {}", one.text, other.text);
}

/// E1: a page of somebody else, of a neighbour or of another port gets nobody in.
#[tokio::test]
async fn e1_an_answer_given_to_another_page_is_refused() {
    let world = World::with(with_keys).await;
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
        let answer = world.try_passkey(&mut device).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{origin}: {}", answer.text);
    }
}

/// E1: what was signed for somebody else, for another challenge or in another ceremony is no proof.
#[tokio::test]
async fn e1_an_answer_that_does_not_fit_is_refused() {
    let lies: [(&str, Lie); 6] = [
        ("another relying party", |device| "example.net".clone_into(&mut device.rp_id)),
        ("another challenge", |device| device.challenge = Some("AAAA".to_owned())),
        ("the ceremony of a registration", |device| device.ceremony = Some("webauthn.create")),
        ("nobody present", |device| device.user_present = false),
        ("a key that may be copied all at once", |device| device.backup_eligible = true),
        ("a key that is copied, which it cannot be", |device| device.backed_up = true),
    ];
    for (what, lie) in lies {
        let world = World::with(with_keys).await;
        let (_, mut device) = holder(&world).await;
        lie(&mut device);
        let answer = world.try_passkey(&mut device).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{what}: {}", answer.text);
    }
}

/// E1: to know the id of a key, or whose it is, is not to hold it.
#[tokio::test]
async fn e1_the_id_of_a_key_is_no_key() {
    let world = World::with(with_keys).await;
    let (_, anns) = holder(&world).await;
    let mut copied =
        Authenticator { id: anns.id.clone(), user_handle: anns.user_handle.clone(), ..Authenticator::default() };
    assert_eq!(world.try_passkey(&mut copied).await.refusal(), (400, "webauthn_verification_failed"));
    let mut own = Authenticator { user_handle: anns.user_handle.clone(), ..Authenticator::default() };
    assert_eq!(world.try_passkey(&mut own).await.refusal(), (400, "webauthn_verification_failed"));
}

/// B1: a key of one account opens no other, whoever it says to belong to.
#[tokio::test]
async fn b1_a_key_opens_the_account_that_it_was_made_for_only() {
    let world = World::with(with_keys).await;
    let (_, mut anns) = holder(&world).await;
    let bob = world.person(BOB).await;
    let (_, bobs) = world.passkey(&bob).await;
    for handle in [bobs.user_handle.clone(), None, Some(String::new()), Some("AAAA".to_owned())] {
        anns.user_handle = handle;
        let answer = world.try_passkey(&mut anns).await;
        assert_eq!(answer.refusal(), (400, "webauthn_verification_failed"), "{:?}", anns.user_handle);
    }
}

/// B1: the key of another cannot be taken over by registering it again.
#[tokio::test]
async fn b1_a_key_that_has_an_owner_is_nobody_elses() {
    let world = World::with(with_keys).await;
    let (_, mut anns) = holder(&world).await;
    let handle = anns.user_handle.clone();
    let bob = world.person(BOB).await;
    let taken = world.try_registering(&bob, &mut anns).await;
    assert_eq!((taken.status.as_u16(), taken.str("code")), (500, "23505"));
    anns.user_handle = handle;
    let session = world.try_passkey(&mut anns).await.expect(200);
    assert_eq!(session.str("user/email"), ANN);
}

/// E1: whoever finds a security key must not come in with it alone. The reference lets that pass; what is served does not.
#[tokio::test]
async fn e1_a_found_key_is_not_enough_where_we_serve() {
    let recorded = World::with(with_keys).await;
    let (_, mut device) = holder(&recorded).await;
    device.user_verified = false;
    recorded.try_passkey(&mut device).await.expect(200);

    let served = World::builder().as_served().policy(with_keys).build().await;
    let (ann, mut device) = holder(&served).await;
    let asked = served.post("/passkeys/authentication/options", serde_json::json!({})).await.expect(200);
    assert_eq!(asked.str("options/userVerification"), "required");
    device.user_verified = false;
    assert_eq!(served.try_passkey(&mut device).await.refusal(), (400, "webauthn_verification_failed"));
    let mut unverified = Authenticator { user_verified: false, ..Authenticator::default() };
    let made = served.try_registering(&ann, &mut unverified).await;
    assert_eq!(made.refusal(), (400, "webauthn_verification_failed"));
}

/// G1: keys whose signatures cannot be verified are refused when they are made, not when they are needed.
#[tokio::test]
async fn g1_bytes_that_are_no_key_are_refused() {
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    for id in [Vec::new(), vec![7; 1024]] {
        let mut device = Authenticator { id, ..Authenticator::default() };
        let answer = world.try_registering(&ann, &mut device).await;
        assert!(answer.status != 500, "{}", answer.text);
    }
}
