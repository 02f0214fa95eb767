//! E: security keys as second factors.

use gotrue_rs::testing::{Answer, Authenticator, Person, World, with_keys};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

async fn served() -> World {
    World::builder().as_served().policy(with_keys).build().await
}

/// A factor of that name without a key.
async fn named(world: &World, person: &Person, name: &str) -> String {
    let body = json!({"factor_type": "webauthn", "friendly_name": name});
    world.enroll(&person.access_token, body).await.expect(200).str("id").to_owned()
}

fn options(asked: &Answer) -> &Value {
    &asked.json["webauthn"]["credential_options"]["publicKey"]
}

/// E1: a counter that goes back tells of a copy. The reference lets it pass; what is served does not.
#[tokio::test]
async fn e1_a_counter_that_goes_back_is_refused_where_we_serve() {
    for (world, lets_it_pass) in [(World::with(with_keys).await, true), (served().await, false)] {
        let ann = world.person(ANN).await;
        let (strong, factor, mut device) = world.key_factor(&ann, "key").await;
        device.counter = 4;
        world.try_key(&strong, &factor, &mut device).await.expect(200);
        for counter in [2, 4] {
            device.counter = counter;
            let answer = world.try_key(&strong, &factor, &mut device).await;
            assert_eq!(answer.status == 200, lets_it_pass, "counter {}: {}", device.counter, answer.text);
        }
        device.counter = 5;
        world.try_key(&strong, &factor, &mut device).await.expect(200);
        let count = "SELECT web_authn_credential #>> '{authenticator,signCount}' FROM auth.mfa_factors";
        assert_eq!(world.database.query(count).await, ["6"]);
    }
}

/// E1: who has the password only must not bring a key of his own to a factor that has one.
#[tokio::test]
async fn e1_a_key_of_ones_own_is_none_of_a_verified_factor() {
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    let (_, factor, _) = world.key_factor(&ann, "key").await;
    let thief = world.sign_in(ANN).await;
    let mut own = Authenticator::default();
    let asked = world.challenge(&thief.access_token, &factor).await.expect(200);
    let made = own.create(&with_user(options(&asked)));
    let answer = world.answer_key(&thief, &factor, asked.str("id"), ("create", made)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    let used = own.get(options(&asked));
    let answer = world.answer_key(&thief, &factor, asked.str("id"), ("request", used)).await;
    assert_eq!(answer.status, 500);
    let level = world.refresh(&thief.refresh_token).await.expect(200);
    assert_eq!(world.claims(level.str("access_token"))["aal"], "aal1");
}

/// E1: a challenge to make a key that was asked for before the factor was verified makes none after.
#[tokio::test]
async fn e1_a_challenge_from_before_makes_no_key_of_a_verified_factor() {
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    let factor = named(&world, &ann, "key").await;
    let early = world.challenge(&ann.access_token, &factor).await.expect(200);
    let asked = world.challenge(&ann.access_token, &factor).await.expect(200);
    let made = Authenticator::default().create(options(&asked));
    world.answer_key(&ann, &factor, asked.str("id"), ("create", made)).await.expect(200);
    let thief = world.sign_in(ANN).await;
    let made = Authenticator::default().create(options(&early));
    let answer = world.answer_key(&thief, &factor, early.str("id"), ("create", made)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
}

/// E1: two keys made at once for one factor: one is kept, and one session is lifted.
#[tokio::test]
async fn e1_of_two_keys_made_at_once_one_is_kept() {
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    let factor = named(&world, &ann, "key").await;
    let first = world.challenge(&ann.access_token, &factor).await.expect(200);
    let second = world.challenge(&ann.access_token, &factor).await.expect(200);
    let answer = |asked: &Answer| ("create", Authenticator::default().create(options(asked)));
    let answers = tokio::join!(
        world.answer_key(&ann, &factor, first.str("id"), answer(&first)),
        world.answer_key(&ann, &factor, second.str("id"), answer(&second)),
    );
    let mut ends = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    ends.sort_unstable();
    assert!(ends[0] == 200 && ends[1] != 200, "{ends:?}");
}

/// E1: the key of another account is no key of this one, whatever it says.
#[tokio::test]
async fn e1_the_key_of_another_account_lifts_nothing() {
    let world = World::with(with_keys).await;
    let (ann, bob) = (world.person(ANN).await, world.person("bob@example.com").await);
    let (ann, factor, anns) = world.key_factor(&ann, "key").await;
    let (_, _, mut bobs) = world.key_factor(&bob, "key").await;
    for handle in [bobs.user_handle.clone(), anns.user_handle.clone(), None] {
        bobs.user_handle = handle;
        let answer = world.try_key(&ann, &factor, &mut bobs).await;
        assert_eq!(answer.status, 500, "{:?}", bobs.user_handle);
    }
}

/// E1: an answer that was given to another page, to another party or to nobody is none.
#[tokio::test]
async fn e1_an_answer_that_does_not_fit_is_refused() {
    let lies: [fn(&mut Authenticator); 6] = [
        |device| "https://evil.example.net".clone_into(&mut device.origin),
        |device| "https://shop.example.com:8443".clone_into(&mut device.origin),
        |device| "example.net".clone_into(&mut device.rp_id),
        |device| device.challenge = Some("AAAA".to_owned()),
        |device| device.ceremony = Some("webauthn.create"),
        |device| device.user_present = false,
    ];
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    let (ann, factor, mut device) = world.key_factor(&ann, "key").await;
    for (n, lie) in lies.into_iter().enumerate() {
        let mut liar = Authenticator::default();
        std::mem::swap(&mut liar, &mut device);
        let (origin, rp_id) = (liar.origin.clone(), liar.rp_id.clone());
        lie(&mut liar);
        assert_eq!(world.try_key(&ann, &factor, &mut liar).await.status, 500, "{n}");
        device = Authenticator { origin, rp_id, challenge: None, ceremony: None, user_present: true, ..liar };
    }
    world.try_key(&ann, &factor, &mut device).await.expect(200);
}

/// E1: a passkey is no second factor, and the key of a factor is no way in.
#[tokio::test]
async fn e1_passkeys_and_factors_are_two_things() {
    let world = World::with(with_keys).await;
    let ann = world.person(ANN).await;
    let (_, mut passkey) = world.passkey(&ann).await;
    let (strong, factor, mut key) = world.key_factor(&ann, "key").await;
    assert_eq!(world.try_key(&strong, &factor, &mut passkey).await.status, 500);
    assert_eq!(world.try_passkey(&mut key).await.refusal(), (400, "webauthn_verification_failed"));
    let session = world.try_passkey(&mut passkey).await.expect(200);
    assert_eq!(world.claims(session.str("access_token"))["aal"], "aal1");
}

/// Options to use a key, as an authenticator that is asked to make one would see them.
fn with_user(options: &Value) -> Value {
    let mut options = options.clone();
    options["user"] = json!({"id": "AAAA"});
    options
}
