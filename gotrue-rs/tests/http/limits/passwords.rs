//! Wrong passwords for one account: slowed down from however many networks, and the owner not locked out.

use std::net::IpAddr;

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::join_all;
use gotrue_rs::testing::{Answer, PASSWORD, World};
use gotrue_rules::domain::policy::{Bucket, PasswordHash, Policy};
use serde_json::{Value, json};

use super::{ANN, HOME, NUMBER, let_through, network, served, wait};

const PATH: &str = "/token?grant_type=password";
const CODE: &str = "over_request_rate_limit";

fn with(password: &str) -> Value {
    json!({"email": ANN, "password": password})
}

async fn sign_in(world: &World, from: IpAddr) -> Answer {
    world.post_from(from, PATH, &[], with(PASSWORD)).await
}

#[tokio::test]
async fn guesses_from_many_networks_are_slowed_down_and_come_back_one_by_one() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    assert_eq!(let_through(&world, 100, PATH, |_| with("a guess")).await, 30);
    let refused = world.post_from(network(100), PATH, &[], with("a guess")).await;
    assert_eq!(wait(&refused, CODE), 120);
    assert!(refused.str("msg").contains("wrong passwords for this account"), "{}", refused.text);
    world.advance(TimeDelta::seconds(119));
    assert_eq!(let_through(&world, 5, PATH, |_| with("a guess")).await, 0);
    world.advance(TimeDelta::seconds(1));
    assert_eq!(let_through(&world, 5, PATH, |_| with("a guess")).await, 1);
}

#[tokio::test]
async fn guesses_at_once_count_before_they_are_looked_at() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    let guesses = (0..60).map(|n| world.post_from(network(n), PATH, &[], with("a guess")));
    let answers = join_all(guesses.collect::<Vec<_>>()).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 400).count(), 30);
}

#[tokio::test]
async fn one_network_gets_a_third_and_the_owner_elsewhere_notices_nothing() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    for guesser in ["203.0.113.7", "2001:db8:1:2::1"] {
        let mut through = 0;
        for n in 0..20 {
            // Every address of an IPv6 network is the same guesser.
            let from = guesser.replace("::1", &format!("::{n}")).parse().expect("an address");
            through += usize::from(world.post_from(from, PATH, &[], with("a guess")).await.status != 429);
        }
        assert_eq!(through, 10, "{guesser}");
    }
    let refused = world.post_from("203.0.113.7".parse().expect("an address"), PATH, &[], with("a guess")).await;
    assert_eq!(wait(&refused, CODE), 360);
    assert!(refused.str("msg").contains("from your network"), "{}", refused.text);
    sign_in(&world, HOME).await.expect(200);
}

#[tokio::test]
async fn who_is_known_from_this_network_is_not_held_up_by_others() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    let home: IpAddr = "2001:db8:1:2::7".parse().expect("an address");
    sign_in(&world, home).await.expect(200);
    let_through(&world, 40, PATH, |_| with("a guess")).await;

    for header in ["x-forwarded-for", "sb-forwarded-for", "x-real-ip", "forwarded"] {
        let forged = [(header, "2001:db8:1:2::7")];
        let answer = world.post_from(network(50), PATH, &forged, with(PASSWORD)).await;
        assert_eq!(answer.status, 429, "{header} names a home that is not the sender's");
    }
    let neighbour = "2001:db8:1:2:ffff::1".parse().expect("an address");
    sign_in(&world, neighbour).await.expect(200);
    let elsewhere = sign_in(&world, HOME).await;
    let seconds = wait(&elsewhere, CODE);
    world.advance(TimeDelta::seconds(seconds));
    sign_in(&world, HOME).await.expect(200);
}

#[tokio::test]
async fn being_known_from_a_network_gives_no_guesses_at_another_account() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    let eve = json!({"email": "eve@example.com", "password": PASSWORD});
    world.person("eve@example.com").await;
    world.post_from(HOME, PATH, &[], eve).await.expect(200);
    let_through(&world, 40, PATH, |_| with("a guess")).await;
    assert_eq!(sign_in(&world, HOME).await.status, 429);
}

#[tokio::test]
async fn right_passwords_are_not_counted() {
    let world = served(|policy| policy.limits.token_refresh = Bucket::in_an_hour(1000.0)).await;
    world.person(ANN).await;
    for _ in 0..40 {
        sign_in(&world, HOME).await.expect(200);
    }
}

/// A world in which passwords take a while, so that many are looked at while more come.
async fn slow() -> World {
    let change = |policy: &mut Policy| {
        policy.password.hash = PasswordHash::Bcrypt { cost: 7 };
        policy.limits.token_refresh = Bucket::in_an_hour(1000.0);
    };
    let world = World::builder().as_served().policy(change).hashing(1, 256).build().await;
    world.person(ANN).await;
    world
}

/// How many of these were answered with a session, with a refusal of the password, and by a limit.
fn counted(answers: &[Answer]) -> [usize; 3] {
    [200, 400, 429].map(|status| answers.iter().filter(|answer| answer.status == status).count())
}

#[tokio::test]
async fn forty_right_passwords_at_once_are_all_let_in() {
    let world = slow().await;
    let here = join_all((0..40).map(|_| sign_in(&world, HOME))).await;
    assert_eq!(counted(&here), [40, 0, 0]);
    let everywhere = join_all((0..40).map(|n| sign_in(&world, network(n)))).await;
    assert_eq!(counted(&everywhere), [40, 0, 0]);
    assert_eq!(world.app.limits.kept_open(), 0);
}

#[tokio::test]
async fn of_a_hundred_wrong_passwords_at_once_no_more_are_compared_than_the_limit_says() {
    let world = slow().await;
    let guess = |from| world.post_from(from, PATH, &[], with("a guess"));
    let here = join_all((0..100).map(|_| guess(HOME))).await;
    assert_eq!(counted(&here), [0, 10, 90]);
    let everywhere = join_all((0..100).map(|n| guess(network(n)))).await;
    assert_eq!(counted(&everywhere), [0, 20, 80]);
    assert_eq!(world.app.limits.kept_open(), 0);
}

#[tokio::test]
async fn right_passwords_between_wrong_ones_are_let_in_while_any_guess_is_left() {
    let world = slow().await;
    let sent = (0..40).map(|n| {
        let (from, body) = if n % 2 == 0 { (HOME, with(PASSWORD)) } else { (network(n), with("a guess")) };
        world.post_from(from, PATH, &[], body)
    });
    assert_eq!(counted(&join_all(sent).await), [20, 20, 0]);
}

#[tokio::test]
async fn a_guess_that_is_given_up_counts_and_holds_nobody_up() {
    let world = slow().await;
    for _ in 0..9 {
        world.post_from(HOME, PATH, &[], with("a guess")).await.expect(400);
    }
    let mut given_up = Box::pin(world.post_from(HOME, PATH, &[], with("a guess")));
    while world.app.limits.kept_open() == 0 {
        assert!((&mut given_up).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let waiting = sign_in(&world, HOME);
    let leave = async { drop(given_up) };
    let (answer, ()) = tokio::join!(waiting, leave);
    assert_eq!(answer.status, 429, "the tenth guess of this network was used up");
    assert_eq!(world.app.limits.kept_open(), 0);
    sign_in(&world, network(1)).await.expect(200);
}

#[tokio::test]
async fn a_password_that_could_not_be_compared_is_no_guess() {
    let change = |policy: &mut Policy| policy.limits.token_refresh = Bucket::in_an_hour(1000.0);
    let world = World::builder().as_served().policy(change).hashing(1, 1).build().await;
    world.person(ANN).await;
    let mut refused = 0;
    for _ in 0..10 {
        for email in [ANN, "nobody@example.com"] {
            let body = json!({"email": email, "password": PASSWORD});
            let answers = join_all((0..8).map(|_| world.post_from(HOME, PATH, &[], body.clone()))).await;
            refused += answers.iter().filter(|answer| answer.status == 503).count();
            assert!(email != ANN || answers.iter().all(|answer| answer.status == 200 || answer.status == 503));
        }
    }
    assert!(refused > 20, "{refused}");
    sign_in(&world, HOME).await.expect(200);
}

#[tokio::test]
async fn all_spellings_of_a_name_count_together_and_two_names_apart() {
    let world = served(|policy| policy.sms.autoconfirm = true).await;
    let token = world.person(ANN).await.access_token;
    world.put_as(&token, "/user", json!({"phone": NUMBER})).await.expect(200);
    let addresses = [ANN, "ANN@Example.com", "Ann@example.COM"];
    let guess = |n: usize| json!({"email": addresses[n % 3], "password": "a guess"});
    assert_eq!(let_through(&world, 90, PATH, guess).await, 30);
    // If they counted together, a refusal would tell that Ann has this number.
    let numbers = [NUMBER.to_owned(), format!("+{NUMBER}"), "1 555 0100".to_owned()];
    let guess = |n: usize| json!({"phone": numbers[n % 3], "password": "a guess"});
    assert_eq!(let_through(&world, 90, PATH, guess).await, 30);
}

#[tokio::test]
async fn an_account_that_does_not_exist_is_refused_alike() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    let mut told = Vec::new();
    for email in [ANN, "nobody@example.com"] {
        let guess = |_| json!({"email": email, "password": "a guess"});
        let through = let_through(&world, 40, PATH, guess).await;
        let refused = world.post_from(network(41), PATH, &[], guess(0)).await;
        told.push((through, refused.text.clone(), wait(&refused, CODE), world.journal().steps()));
    }
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn guesses_at_the_current_password_by_a_thief_with_a_session_count_as_well() {
    let world = served(|policy| policy.security.update_password_require_current_password = true).await;
    world.person(ANN).await;
    let token = world.sign_in(ANN).await.access_token;
    let change = json!({"password": "another password", "current_password": "a guess"});
    for _ in 0..10 {
        assert_ne!(world.put_as(&token, "/user", change.clone()).await.status, 429);
    }
    wait(&world.put_as(&token, "/user", change).await, CODE);
}

#[tokio::test]
async fn without_the_policy_nobody_is_counted() {
    let world = World::new().await;
    world.person(ANN).await;
    assert_eq!(let_through(&world, 50, PATH, |_| with("a guess")).await, 50);
}
