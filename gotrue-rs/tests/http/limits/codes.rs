//! Wrong codes for one e-mail or phone: limited across networks without locking out the owner.

use std::sync::Arc;

use chrono::TimeDelta;
use foundation::limits::Bucket;
use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, NUMBER, OWNER_NETWORK, count_accepted, network, retry_after_seconds, served};

const CODE: &str = "over_request_rate_limit";

/// A code that is not the one that was sent.
fn wrong_code(n: usize, right: &str) -> String {
    let guess = format!("{n:06}");
    if guess == right { "999999".to_owned() } else { guess }
}

async fn request_code_from_home_network(world: &World) -> String {
    world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    world.post_from(OWNER_NETWORK, "/otp", &[], json!({"email": ANN})).await.expect(200);
    world.code(ANN)
}

fn code(token: &str) -> Value {
    json!({"type": "email", "email": ANN, "token": token})
}

async fn verify(world: &World, n: usize, token: &str) -> Answer {
    world.post_from(network(n), "/verify", &[], code(token)).await
}

#[tokio::test]
async fn code_guesses_from_many_networks_are_limited() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    assert_eq!(count_accepted(&world, 100, "/verify", |n| code(&wrong_code(n, &right))).await, 30);
    let refused = verify(&world, 100, &right).await;
    assert_eq!(retry_after_seconds(&refused, CODE), 120);
    assert!(refused.str("msg").contains("wrong codes"), "{}", refused.text);
    world.advance(TimeDelta::seconds(120));
    verify(&world, 101, &right).await.expect(200);
}

#[tokio::test]
async fn requesting_network_keeps_a_few_attempts_despite_other_guesses() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    count_accepted(&world, 50, "/verify", |n| code(&wrong_code(n, &right))).await;
    for n in 0..2 {
        let typo = world.post_from(OWNER_NETWORK, "/verify", &[], code(&wrong_code(n, &right))).await;
        assert_eq!(typo.refusal(), (403, "otp_expired"));
    }
    world.post_from(OWNER_NETWORK, "/verify", &[], code(&right)).await.expect(200);
}

#[tokio::test]
async fn requesting_codes_grants_few_guesses() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    count_accepted(&world, 50, "/verify", |n| code(&wrong_code(n, &right))).await;
    let (mut requested, mut guessed) = (0, 0);
    for n in 100..140 {
        world.advance(TimeDelta::milliseconds(2));
        requested += usize::from(world.post_from(network(n), "/otp", &[], json!({"email": ANN})).await.status == 200);
        for guess in 0..10 {
            let guess = wrong_code(guess, &world.code(ANN));
            guessed += usize::from(verify(&world, n, &guess).await.status != 429);
        }
    }
    // Ann got two messages before: for the sign-up and for the own request.
    assert_eq!((requested, guessed), (10, 30));
}

#[tokio::test]
async fn mailed_link_works_despite_guesses() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    let link = world.link(ANN);
    count_accepted(&world, 50, "/verify", |n| code(&wrong_code(n, &right))).await;
    let answer = world.request(Method::GET, &link, &[], None).await.expect(303);
    assert!(answer.header("location").contains("access_token="), "{}", answer.header("location"));
}

#[tokio::test]
async fn guesses_of_every_type_and_spelling_share_one_limit() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    let kinds = ["email", "magiclink", "recovery", "signup", "invite", "email_change"];
    let names = [ANN, "ANN@example.com"];
    let guess = |n: usize| json!({"type": kinds[n % 6], "email": names[n % 2], "token": wrong_code(n, &right)});
    assert_eq!(count_accepted(&world, 90, "/verify", guess).await, 30);

    let world = served(|_| {}).await;
    world.post_from(OWNER_NETWORK, "/otp", &[], json!({"phone": NUMBER})).await.expect(200);
    let right = world.phones.latest(NUMBER).code;
    let (kinds, names) = (["sms", "phone_change"], [NUMBER, "+15550100", "1 555 0100"]);
    let guess = |n: usize| json!({"type": kinds[n % 2], "phone": names[n % 3], "token": wrong_code(n, &right)});
    assert_eq!(count_accepted(&world, 90, "/verify", guess).await, 30);
    let body = json!({"type": "sms", "phone": NUMBER, "token": right});
    world.post_from(OWNER_NETWORK, "/verify", &[], body).await.expect(200);
}

#[tokio::test]
async fn unknown_email_is_limited_identically() {
    let world = served(|_| {}).await;
    let right = request_code_from_home_network(&world).await;
    let mut reported = Vec::new();
    for email in [ANN, "unknown@example.com"] {
        let guess = |n: usize| json!({"type": "email", "email": email, "token": wrong_code(n, &right)});
        let through = count_accepted(&world, 40, "/verify", guess).await;
        let refused = world.post_from(network(41), "/verify", &[], guess(0)).await;
        reported.push((through, refused.text.clone(), retry_after_seconds(&refused, CODE), world.journal().steps()));
    }
    assert_eq!(reported[0], reported[1]);
}

#[tokio::test]
async fn valid_codes_are_not_counted() {
    let world = served(|policy| {
        policy.limits.targets.messages = None;
        policy.limits.verify = Bucket::per_hour(1000.0);
        policy.limits.otp = Bucket::per_hour(1000.0);
    })
    .await;
    world.create_user(ANN).await;
    for _ in 0..40 {
        world.advance(TimeDelta::milliseconds(2));
        world.post_from(OWNER_NETWORK, "/otp", &[], json!({"email": ANN})).await.expect(200);
        world.post_from(OWNER_NETWORK, "/verify", &[], code(&world.code(ANN))).await.expect(200);
    }
}

#[tokio::test]
async fn reauthentication_code_guesses_are_counted() {
    let world = served(|policy| policy.security.update_password_require_reauthentication = true).await;
    let token = world.create_user(ANN).await.access_token;
    world.advance(TimeDelta::hours(25));
    let token = world.sign_claims(&{
        let claims = world.app.keys.verify(&token, world.now() - TimeDelta::hours(25)).expect("a token of ours");
        let mut claims = Arc::unwrap_or_clone(claims);
        claims.insert("exp".to_owned(), json!(world.now().timestamp() + 3600));
        Value::Object(claims)
    });
    world.get_as(&token, "/reauthenticate").await.expect(200);
    let guess = |n: usize| json!({"password": "another password", "nonce": wrong_code(n, &world.code(ANN))});
    for n in 0..10 {
        assert_ne!(world.put_as(&token, "/user", guess(n)).await.status, 429);
    }
    retry_after_seconds(&world.put_as(&token, "/user", guess(10)).await, CODE);
}
