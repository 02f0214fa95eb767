//! Wrong passwords for one user: limited across networks without locking out the owner.

use std::net::IpAddr;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::Bucket;
use futures::FutureExt;
use futures::future::join_all;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, NUMBER, OWNER_NETWORK, count_accepted, network, retry_after_seconds, served};

const PATH: &str = "/token?grant_type=password";
const CODE: &str = "over_request_rate_limit";

fn with(password: &str) -> Value {
    json!({"email": ANN, "password": password})
}

async fn sign_in(world: &World, from: IpAddr) -> Answer {
    world.post_from(from, PATH, &[], with(PASSWORD)).await
}

#[tokio::test]
async fn password_guesses_are_limited_and_refilled_one_by_one() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    assert_eq!(count_accepted(&world, 100, PATH, |_| with("a guess")).await, 30);
    let refused = world.post_from(network(100), PATH, &[], with("a guess")).await;
    assert_eq!(retry_after_seconds(&refused, CODE), 120);
    assert!(refused.str("msg").contains("wrong passwords for this account"), "{}", refused.text);
    world.advance(TimeDelta::seconds(119));
    assert_eq!(count_accepted(&world, 5, PATH, |_| with("a guess")).await, 0);
    world.advance(TimeDelta::seconds(1));
    assert_eq!(count_accepted(&world, 5, PATH, |_| with("a guess")).await, 1);
}

#[tokio::test]
async fn concurrent_guesses_are_counted_before_comparison() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    let guesses = (0..60).map(|n| world.post_from(network(n), PATH, &[], with("a guess")));
    let answers = join_all(guesses.collect::<Vec<_>>()).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 400).count(), 30);
}

#[tokio::test]
async fn one_network_gets_a_third_of_the_guesses() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
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
    assert_eq!(retry_after_seconds(&refused, CODE), 360);
    assert!(refused.str("msg").contains("from your network"), "{}", refused.text);
    sign_in(&world, OWNER_NETWORK).await.expect(200);
}

#[tokio::test]
async fn known_network_is_not_limited_by_other_networks() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    let home: IpAddr = "2001:db8:1:2::7".parse().expect("an address");
    sign_in(&world, home).await.expect(200);
    count_accepted(&world, 40, PATH, |_| with("a guess")).await;

    for header in ["x-forwarded-for", "sb-forwarded-for", "x-real-ip", "forwarded"] {
        let forged = [(header, "2001:db8:1:2::7")];
        let answer = world.post_from(network(50), PATH, &forged, with(PASSWORD)).await;
        assert_eq!(answer.status, 429, "{header} names a home that is not the sender's");
    }
    let neighbour = "2001:db8:1:2:ffff::1".parse().expect("an address");
    sign_in(&world, neighbour).await.expect(200);
    let elsewhere = sign_in(&world, OWNER_NETWORK).await;
    let seconds = retry_after_seconds(&elsewhere, CODE);
    world.advance(TimeDelta::seconds(seconds));
    sign_in(&world, OWNER_NETWORK).await.expect(200);
}

#[tokio::test]
async fn known_network_grants_no_guesses_at_another_user() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    let eve = json!({"email": "eve@example.com", "password": PASSWORD});
    world.create_user("eve@example.com").await;
    world.post_from(OWNER_NETWORK, PATH, &[], eve).await.expect(200);
    count_accepted(&world, 40, PATH, |_| with("a guess")).await;
    assert_eq!(sign_in(&world, OWNER_NETWORK).await.status, 429);
}

#[tokio::test]
async fn valid_passwords_are_not_counted() {
    let world = served(|policy| policy.limits.token_refresh = Bucket::per_hour(1000.0)).await;
    world.create_user(ANN).await;
    for _ in 0..40 {
        sign_in(&world, OWNER_NETWORK).await.expect(200);
    }
}

/// A world with slow hashing, so that many comparisons overlap.
async fn slow_hashing_world() -> World {
    let change = |policy: &mut Policy| {
        policy.password.hash = PasswordHash::Bcrypt { cost: 7 };
        policy.limits.token_refresh = Bucket::per_hour(1000.0);
    };
    let world = World::builder().as_served().policy(change).shared_hashing_pool(1, 256).build().await;
    world.create_user(ANN).await;
    world
}

/// The numbers of sessions, password refusals and rate-limit refusals.
fn count_outcomes(answers: &[Answer]) -> [usize; 3] {
    [200, 400, 429].map(|status| answers.iter().filter(|answer| answer.status == status).count())
}

#[tokio::test]
async fn forty_concurrent_valid_passwords_all_succeed() {
    let world = slow_hashing_world().await;
    let here = join_all((0..40).map(|_| sign_in(&world, OWNER_NETWORK))).await;
    assert_eq!(count_outcomes(&here), [40, 0, 0]);
    let everywhere = join_all((0..40).map(|n| sign_in(&world, network(n)))).await;
    assert_eq!(count_outcomes(&everywhere), [40, 0, 0]);
    assert_eq!(world.app.limits.count_pending_keys(), 0);
}

#[tokio::test]
async fn concurrent_wrong_passwords_are_compared_up_to_the_limit() {
    let world = slow_hashing_world().await;
    let guess = |from| world.post_from(from, PATH, &[], with("a guess"));
    let here = join_all((0..100).map(|_| guess(OWNER_NETWORK))).await;
    assert_eq!(count_outcomes(&here), [0, 10, 90]);
    let everywhere = join_all((0..100).map(|n| guess(network(n)))).await;
    assert_eq!(count_outcomes(&everywhere), [0, 20, 80]);
    assert_eq!(world.app.limits.count_pending_keys(), 0);
}

#[tokio::test]
async fn valid_passwords_succeed_while_guesses_remain() {
    let world = slow_hashing_world().await;
    let sent = (0..40).map(|n| {
        let (from, body) = if n % 2 == 0 { (OWNER_NETWORK, with(PASSWORD)) } else { (network(n), with("a guess")) };
        world.post_from(from, PATH, &[], body)
    });
    assert_eq!(count_outcomes(&join_all(sent).await), [20, 20, 0]);
}

#[tokio::test]
async fn cancelled_guess_counts_and_blocks_no_other() {
    let world = slow_hashing_world().await;
    for _ in 0..9 {
        world.post_from(OWNER_NETWORK, PATH, &[], with("a guess")).await.expect(400);
    }
    // Occupies the only hashing thread, so that the guess cannot be answered before it is given up.
    let other = PasswordHash::Bcrypt { cost: 12 };
    let mut busy = Box::pin(world.app.hashing.hash("another password", other, &world.app.entropy));
    assert!((&mut busy).now_or_never().is_none());
    let mut given_up = Box::pin(world.post_from(OWNER_NETWORK, PATH, &[], with("a guess")));
    while world.app.limits.count_pending_keys() == 0 {
        assert!((&mut given_up).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let waiting = sign_in(&world, OWNER_NETWORK);
    let leave = async { drop(given_up) };
    let (answer, ()) = tokio::join!(waiting, leave);
    assert_eq!(answer.status, 429, "the tenth guess of this network was used up");
    assert_eq!(world.app.limits.count_pending_keys(), 0);
    sign_in(&world, network(1)).await.expect(200);
}

#[tokio::test]
async fn uncompared_password_is_not_counted() {
    let change = |policy: &mut Policy| policy.limits.token_refresh = Bucket::per_hour(1000.0);
    let world = World::builder().as_served().policy(change).shared_hashing_pool(1, 1).build().await;
    world.create_user(ANN).await;
    let mut refused = 0;
    for _ in 0..10 {
        for email in [ANN, "unknown@example.com"] {
            let body = json!({"email": email, "password": PASSWORD});
            let answers = join_all((0..8).map(|_| world.post_from(OWNER_NETWORK, PATH, &[], body.clone()))).await;
            refused += answers.iter().filter(|answer| answer.status == 503).count();
            assert!(email != ANN || answers.iter().all(|answer| answer.status == 200 || answer.status == 503));
        }
    }
    assert!(refused > 20, "{refused}");
    sign_in(&world, OWNER_NETWORK).await.expect(200);
}

#[tokio::test]
async fn sign_in_that_would_be_hashed_too_late_is_refused_with_retry_after() {
    let change = |policy: &mut Policy| {
        policy.password.hash = PasswordHash::Bcrypt { cost: 10 };
        policy.api.max_request_duration = Duration::from_secs(2);
    };
    let world = World::builder().policy(change).shared_hashing_pool(1, 256).build().await;
    let sign_in = |n: usize| {
        let body = json!({"email": format!("unknown{n}@example.com"), "password": "a guess"});
        world.post_from(network(n), PATH, &[], body)
    };
    // Measures the duration of hashing, which is unknown before.
    sign_in(0).await.expect(400);
    let answers = join_all((1..150).map(sign_in)).await;
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert!(count(503) > 20 && count(503) > 5 * count(504), "{} 503, {} 504", count(503), count(504));
    for refused in answers.iter().filter(|answer| answer.status == 503) {
        let after: u64 = refused.header("retry-after").parse().expect("seconds");
        assert!(after >= 1 && refused.str("error_code") == CODE, "{}", refused.text);
    }
}

#[tokio::test]
async fn spellings_of_one_identifier_share_a_limit_and_two_identifiers_do_not() {
    let world = served(|policy| policy.sms.autoconfirm = true).await;
    let token = world.create_user(ANN).await.access_token;
    world.put_as(&token, "/user", json!({"phone": NUMBER})).await.expect(200);
    let addresses = [ANN, "ANN@Example.com", "Ann@example.COM"];
    let guess = |n: usize| json!({"email": addresses[n % 3], "password": "a guess"});
    assert_eq!(count_accepted(&world, 90, PATH, guess).await, 30);
    // A shared limit would reveal that Ann has this phone number.
    let numbers = [NUMBER.to_owned(), format!("+{NUMBER}"), "1 555 0100".to_owned()];
    let guess = |n: usize| json!({"phone": numbers[n % 3], "password": "a guess"});
    assert_eq!(count_accepted(&world, 90, PATH, guess).await, 30);
}

#[tokio::test]
async fn unknown_user_is_limited_identically() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    let mut reported = Vec::new();
    for email in [ANN, "unknown@example.com"] {
        let guess = |_| json!({"email": email, "password": "a guess"});
        let through = count_accepted(&world, 40, PATH, guess).await;
        let refused = world.post_from(network(41), PATH, &[], guess(0)).await;
        reported.push((through, refused.text.clone(), retry_after_seconds(&refused, CODE), world.journal().steps()));
    }
    assert_eq!(reported[0], reported[1]);
}

#[tokio::test]
async fn current_password_guesses_with_a_session_are_counted() {
    let world = served(|policy| policy.security.update_password_require_current_password = true).await;
    world.create_user(ANN).await;
    let token = world.sign_in(ANN).await.access_token;
    let change = json!({"password": "another password", "current_password": "a guess"});
    for _ in 0..10 {
        assert_ne!(world.put_as(&token, "/user", change.clone()).await.status, 429);
    }
    retry_after_seconds(&world.put_as(&token, "/user", change).await, CODE);
}

#[tokio::test]
async fn disabled_policy_counts_no_guesses() {
    let world = World::new().await;
    world.create_user(ANN).await;
    assert_eq!(count_accepted(&world, 50, PATH, |_| with("a guess")).await, 50);
}
