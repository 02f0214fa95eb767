//! Messages asked for one address or number: no mailbox is flooded, and the answers tell nothing of who has an account.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::routes::lines;
use gotrue_rs::testing::PASSWORD;
use gotrue_rules::domain::policy::Policy;
use serde_json::{Value, json};

use super::{ANN, NUMBER, network, served, wait};

const MAILS: &str = "over_email_send_rate_limit";
const TEXTS: &str = "over_sms_send_rate_limit";

/// Requests that mail somebody, whoever asks.
fn requests(email: &str) -> [(&'static str, Value); 5] {
    [
        ("/signup", json!({"email": email, "password": PASSWORD})),
        ("/otp", json!({"email": email})),
        ("/magiclink", json!({"email": email})),
        ("/recover", json!({"email": email})),
        ("/resend", json!({"email": email, "type": "signup"})),
    ]
}

#[test]
fn every_route_that_mails_whoever_asks_is_among_the_requests() {
    let ours: Vec<&str> = requests(ANN).iter().map(|(path, _)| *path).collect();
    for line in lines().iter().filter(|line| line.guards.contains(&"Captcha")) {
        let sends_nothing = ["/token", "/sso", "/passkeys/authentication/options"];
        assert!(ours.contains(&&*line.path) || sends_nothing.contains(&&*line.path), "{line:?}");
    }
}

#[tokio::test]
async fn a_mailbox_gets_twelve_mails_an_hour_by_all_ways_together() {
    let world = served(|_| {}).await;
    world.person("known@example.com").await;
    for n in 0..100 {
        world.advance(TimeDelta::milliseconds(2));
        for (path, body) in &requests(["new@example.com", "known@example.com"][n % 2]) {
            world.post_from(network(n), path, &[], body.clone()).await;
            world.advance(TimeDelta::milliseconds(2));
        }
    }
    for who in ["new@example.com", "known@example.com"] {
        let mails = world.mailbox.all().iter().filter(|mail| mail.to == who).count();
        // Not every request that is allowed mails: a confirmed account is not asked to confirm again.
        assert!((6..=12).contains(&mails), "{mails} to {who}");
    }
}

#[tokio::test]
async fn all_addresses_of_one_mailbox_count_together() {
    let world = served(|_| {}).await;
    let flooded = |name: &str| world.mailbox.all().iter().filter(|mail| mail.to.ends_with(name)).count();
    for n in 0..40 {
        let shop = format!("ann+{n}@example.com");
        world.post_from(network(n), "/otp", &[], json!({"email": shop})).await;
        let dots: String = "annlee".chars().enumerate().fold(String::new(), |all, (at, letter)| {
            if at > 0 && n & (1 << (at - 1)) > 0 { format!("{all}.{letter}") } else { format!("{all}{letter}") }
        });
        world.post_from(network(n), "/otp", &[], json!({"email": format!("{dots}@gmail.com")})).await;
    }
    assert_eq!((flooded("@example.com"), flooded("@gmail.com")), (12, 12));
}

#[tokio::test]
async fn who_is_flooded_still_has_a_code_that_works() {
    let world = served(|_| {}).await;
    world.person(ANN).await;
    for n in 0..20 {
        world.advance(TimeDelta::milliseconds(2));
        world.post_from(network(n), "/otp", &[], json!({"email": ANN})).await;
    }
    world.advance(TimeDelta::milliseconds(2));
    let refused = world.post_from(network(21), "/recover", &[], json!({"email": ANN})).await;
    assert!(refused.str("msg").contains("the latest is still good"), "{}", refused.text);
    let seconds = wait(&refused, MAILS);
    let body = json!({"type": "email", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", body).await.expect(200);
    world.advance(TimeDelta::seconds(seconds));
    world.post_from(network(22), "/recover", &[], json!({"email": ANN})).await.expect(200);
}

#[tokio::test]
async fn answers_do_not_tell_who_has_an_account_however_often_one_asks() {
    let slow = |policy: &mut Policy| policy.mail.max_frequency = Duration::from_mins(1);
    for path in ["/otp", "/magiclink", "/recover", "/resend"] {
        let mut told = Vec::new();
        for email in ["known@example.com", "nobody@example.com"] {
            let world = served(slow).await;
            world.person("known@example.com").await;
            world.advance(TimeDelta::minutes(10));
            let mut answers = Vec::new();
            for n in 0..60 {
                let body = json!({"email": email, "type": "signup"});
                let answer = world.post_from(network(n), path, &[], body).await;
                answers.push((answer.status, answer.header("retry-after").to_owned(), answer.text));
                world.advance(TimeDelta::seconds(25));
            }
            assert!(answers.iter().any(|(status, ..)| *status == 429), "{path} {email}");
            told.push(answers);
        }
        // Ann's sign-up took one of the messages that the other has left at the end.
        let alike = told[0].iter().zip(&told[1]).take_while(|(known, unknown)| known == unknown).count();
        assert!(alike >= 30, "{path}: alike for {alike} only: {:?} {:?}", told[0].get(alike), told[1].get(alike));
    }
}

#[tokio::test]
async fn a_number_gets_twelve_texts_an_hour_and_one_with_a_fixed_code_as_many_as_it_likes() {
    let world = served(|policy| {
        policy.sms.test_otp.insert("15550101".to_owned(), "123456".to_owned());
    })
    .await;
    for n in 0..30 {
        world.advance(TimeDelta::milliseconds(2));
        let spelling = [NUMBER, "+15550100", "1 555 0100"][n % 3];
        world.post_from(network(n), "/otp", &[], json!({"phone": spelling})).await;
        world.post_from(network(n), "/otp", &[], json!({"phone": "15550101"})).await.expect(200);
    }
    assert_eq!(world.phones.all().len(), 12);
    world.advance(TimeDelta::milliseconds(2));
    wait(&world.post_from(network(31), "/otp", &[], json!({"phone": NUMBER})).await, TEXTS);
}

#[tokio::test]
async fn nobody_floods_a_stranger_by_changing_an_address_to_his() {
    let world = served(|policy| policy.mail.secure_email_change = false).await;
    for n in 0..4 {
        let eve = world.person(&format!("eve{n}@example.com")).await;
        for m in 0..6 {
            world.advance(TimeDelta::milliseconds(2));
            world.put_as(&eve.access_token, "/user", json!({"email": format!("ann+{m}@example.com")})).await;
            world.advance(TimeDelta::milliseconds(2));
            let again = json!({"type": "email_change", "email": format!("eve{n}@example.com")});
            world.post_from(network(n), "/resend", &[], again).await;
        }
    }
    let mails = world.mailbox.all().iter().filter(|mail| mail.to.starts_with("ann")).count();
    assert_eq!(mails, 12);
}

#[tokio::test]
async fn what_is_refused_for_another_reason_is_not_counted() {
    let world = served(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    let weak = world.post("/signup", json!({"email": ANN, "password": "x"})).await;
    assert_eq!(weak.status, 422);
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
}
