//! Wrong codes for one address or number: slowed down from however many networks, and the owner not locked out.

use chrono::TimeDelta;
use gotrue_rs::testing::{Answer, World};
use gotrue_rules::domain::policy::Bucket;
use http::Method;
use serde_json::{Value, json};

use super::{ANN, HOME, NUMBER, let_through, network, served, wait};

const CODE: &str = "over_request_rate_limit";

/// A code that is not the one that was sent.
fn wrong(n: usize, right: &str) -> String {
    let guess = format!("{n:06}");
    if guess == right { "999999".to_owned() } else { guess }
}

async fn asked_from_home(world: &World) -> String {
    world.person(ANN).await;
    world.advance(TimeDelta::seconds(1));
    world.post_from(HOME, "/otp", &[], json!({"email": ANN})).await.expect(200);
    world.code(ANN)
}

fn code(token: &str) -> Value {
    json!({"type": "email", "email": ANN, "token": token})
}

async fn verify(world: &World, n: usize, token: &str) -> Answer {
    world.post_from(network(n), "/verify", &[], code(token)).await
}

#[tokio::test]
async fn guesses_from_many_networks_are_slowed_down() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    assert_eq!(let_through(&world, 100, "/verify", |n| code(&wrong(n, &right))).await, 30);
    let refused = verify(&world, 100, &right).await;
    assert_eq!(wait(&refused, CODE), 120);
    assert!(refused.str("msg").contains("wrong codes"), "{}", refused.text);
    world.advance(TimeDelta::seconds(120));
    verify(&world, 101, &right).await.expect(200);
}

#[tokio::test]
async fn who_asked_for_the_code_may_try_it_a_few_times_whatever_others_guess() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    let_through(&world, 50, "/verify", |n| code(&wrong(n, &right))).await;
    for n in 0..2 {
        let typo = world.post_from(HOME, "/verify", &[], code(&wrong(n, &right))).await;
        assert_eq!(typo.refusal(), (403, "otp_expired"));
    }
    world.post_from(HOME, "/verify", &[], code(&right)).await.expect(200);
}

#[tokio::test]
async fn asking_for_codes_buys_few_guesses() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    let_through(&world, 50, "/verify", |n| code(&wrong(n, &right))).await;
    let (mut asked, mut guessed) = (0, 0);
    for n in 100..140 {
        world.advance(TimeDelta::milliseconds(2));
        asked += usize::from(world.post_from(network(n), "/otp", &[], json!({"email": ANN})).await.status == 200);
        for guess in 0..10 {
            let guess = wrong(guess, &world.code(ANN));
            guessed += usize::from(verify(&world, n, &guess).await.status != 429);
        }
    }
    // Two messages went to Ann before: the sign-up's, and her own.
    assert_eq!((asked, guessed), (10, 30));
}

#[tokio::test]
async fn the_link_of_a_mail_works_whatever_is_guessed() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    let link = world.link(ANN);
    let_through(&world, 50, "/verify", |n| code(&wrong(n, &right))).await;
    let answer = world.request(Method::GET, &link, &[], None).await.expect(303);
    assert!(answer.header("location").contains("access_token="), "{}", answer.header("location"));
}

#[tokio::test]
async fn guesses_of_every_type_and_spelling_count_together() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    let kinds = ["email", "magiclink", "recovery", "signup", "invite", "email_change"];
    let names = [ANN, "ANN@example.com"];
    let guess = |n: usize| json!({"type": kinds[n % 6], "email": names[n % 2], "token": wrong(n, &right)});
    assert_eq!(let_through(&world, 90, "/verify", guess).await, 30);

    let world = served(|_| {}).await;
    world.post_from(HOME, "/otp", &[], json!({"phone": NUMBER})).await.expect(200);
    let right = world.phones.latest(NUMBER).code;
    let (kinds, names) = (["sms", "phone_change"], [NUMBER, "+15550100", "1 555 0100"]);
    let guess = |n: usize| json!({"type": kinds[n % 2], "phone": names[n % 3], "token": wrong(n, &right)});
    assert_eq!(let_through(&world, 90, "/verify", guess).await, 30);
    let body = json!({"type": "sms", "phone": NUMBER, "token": right});
    world.post_from(HOME, "/verify", &[], body).await.expect(200);
}

#[tokio::test]
async fn an_address_that_nobody_has_is_refused_alike() {
    let world = served(|_| {}).await;
    let right = asked_from_home(&world).await;
    let mut told = Vec::new();
    for email in [ANN, "nobody@example.com"] {
        let guess = |n: usize| json!({"type": "email", "email": email, "token": wrong(n, &right)});
        let through = let_through(&world, 40, "/verify", guess).await;
        let refused = world.post_from(network(41), "/verify", &[], guess(0)).await;
        told.push((through, refused.text.clone(), wait(&refused, CODE), world.journal().steps()));
    }
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn right_codes_are_not_counted() {
    let world = served(|policy| {
        policy.limits.targets.messages = None;
        policy.limits.verify = Bucket::in_an_hour(1000.0);
        policy.limits.otp = Bucket::in_an_hour(1000.0);
    })
    .await;
    world.person(ANN).await;
    for _ in 0..40 {
        world.advance(TimeDelta::milliseconds(2));
        world.post_from(HOME, "/otp", &[], json!({"email": ANN})).await.expect(200);
        world.post_from(HOME, "/verify", &[], code(&world.code(ANN))).await.expect(200);
    }
}

#[tokio::test]
async fn guesses_at_the_code_of_a_new_password_count_as_well() {
    let world = served(|policy| policy.security.update_password_require_reauthentication = true).await;
    let token = world.person(ANN).await.access_token;
    world.advance(TimeDelta::hours(25));
    let token = world.signed(&{
        let mut claims = world.app.keys.verify(&token, world.now() - TimeDelta::hours(25)).expect("a token of ours");
        claims.insert("exp".to_owned(), json!(world.now().timestamp() + 3600));
        Value::Object(claims)
    });
    world.get_as(&token, "/reauthenticate").await.expect(200);
    let guess = |n: usize| json!({"password": "another password", "nonce": wrong(n, &world.code(ANN))});
    for n in 0..10 {
        assert_ne!(world.put_as(&token, "/user", guess(n)).await.status, 429);
    }
    wait(&world.put_as(&token, "/user", guess(10)).await, CODE);
}
