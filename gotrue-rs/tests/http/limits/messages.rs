//! Message requests for one recipient: limited, without revealing whether a user exists.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::routes::list_routes;
use gotrue_rs::testing::PASSWORD;
use gotrue_rules::domain::policy::Policy;
use serde_json::{Value, json};

use super::{ANN, NUMBER, network, retry_after_seconds, served};

const MAILS: &str = "over_email_send_rate_limit";
const TEXTS: &str = "over_sms_send_rate_limit";

/// Requests without a session that send mail.
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
fn every_unauthenticated_mailing_route_is_tested() {
    let ours: Vec<&str> = requests(ANN).iter().map(|(path, _)| *path).collect();
    for line in list_routes().iter().filter(|line| line.guards.contains(&"Captcha")) {
        let sends_nothing = ["/token", "/sso", "/passkeys/authentication/options"];
        assert!(ours.contains(&&*line.path) || sends_nothing.contains(&&*line.path), "{line:?}");
    }
}

#[tokio::test]
async fn mailbox_gets_twelve_mails_an_hour_across_all_routes() {
    let world = served(|_| {}).await;
    world.create_user("known@example.com").await;
    for n in 0..100 {
        world.advance(TimeDelta::milliseconds(2));
        for (path, body) in &requests(["new@example.com", "known@example.com"][n % 2]) {
            world.post_from(network(n), path, &[], body.clone()).await;
            world.advance(TimeDelta::milliseconds(2));
        }
    }
    for who in ["new@example.com", "known@example.com"] {
        let mails = world.mailbox.all().iter().filter(|mail| mail.to == who).count();
        // Not every accepted request sends mail: a confirmed user gets no second confirmation.
        assert!((6..=12).contains(&mails), "{mails} to {who}");
    }
}

#[tokio::test]
async fn all_addresses_of_one_mailbox_share_one_limit() {
    let world = served(|_| {}).await;
    let flooded = |name: &str| world.mailbox.all().iter().filter(|mail| mail.to.ends_with(name)).count();
    for n in 0..40 {
        let shop = format!("ann+{n}@example.com");
        world.post_from(network(n), "/otp", &[], json!({"email": shop})).await;
        let dots: String = "annlee".chars().enumerate().fold(String::new(), |all, (at, character)| {
            if at > 0 && n & (1 << (at - 1)) > 0 { format!("{all}.{character}") } else { format!("{all}{character}") }
        });
        world.post_from(network(n), "/otp", &[], json!({"email": format!("{dots}@gmail.com")})).await;
    }
    assert_eq!((flooded("@example.com"), flooded("@gmail.com")), (12, 12));
}

#[tokio::test]
async fn limited_mailbox_keeps_a_working_code() {
    let world = served(|_| {}).await;
    world.create_user(ANN).await;
    for n in 0..20 {
        world.advance(TimeDelta::milliseconds(2));
        world.post_from(network(n), "/otp", &[], json!({"email": ANN})).await;
    }
    world.advance(TimeDelta::milliseconds(2));
    let refused = world.post_from(network(21), "/recover", &[], json!({"email": ANN})).await;
    assert!(refused.str("msg").contains("the latest is still good"), "{}", refused.text);
    let seconds = retry_after_seconds(&refused, MAILS);
    let body = json!({"type": "email", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", body).await.expect(200);
    world.advance(TimeDelta::seconds(seconds));
    world.post_from(network(22), "/recover", &[], json!({"email": ANN})).await.expect(200);
}

#[tokio::test]
async fn repeated_requests_do_not_reveal_account_existence() {
    let slow = |policy: &mut Policy| policy.mail.max_frequency = Duration::from_mins(1);
    for path in ["/otp", "/magiclink", "/recover", "/resend"] {
        let mut reported = Vec::new();
        for email in ["known@example.com", "unknown@example.com"] {
            let world = served(slow).await;
            world.create_user("known@example.com").await;
            world.advance(TimeDelta::minutes(10));
            let mut answers = Vec::new();
            for n in 0..60 {
                let body = json!({"email": email, "type": "signup"});
                let answer = world.post_from(network(n), path, &[], body).await;
                answers.push((answer.status, answer.header("retry-after").to_owned(), answer.text));
                world.advance(TimeDelta::seconds(25));
            }
            assert!(answers.iter().any(|(status, ..)| *status == 429), "{path} {email}");
            reported.push(answers);
        }
        // Ann's sign-up took one of the messages that the other has left at the end.
        let alike = reported[0].iter().zip(&reported[1]).take_while(|(known, unknown)| known == unknown).count();
        assert!(
            alike >= 30,
            "{path}: alike for {alike} only: {:?} {:?}",
            reported[0].get(alike),
            reported[1].get(alike)
        );
    }
}

#[tokio::test]
async fn phone_gets_twelve_sms_an_hour_and_test_numbers_are_unlimited() {
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
    retry_after_seconds(&world.post_from(network(31), "/otp", &[], json!({"phone": NUMBER})).await, TEXTS);
}

#[tokio::test]
async fn email_change_to_foreign_address_is_limited() {
    let world = served(|policy| policy.mail.secure_email_change = false).await;
    for n in 0..4 {
        let eve = world.create_user(&format!("eve{n}@example.com")).await;
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
async fn requests_refused_for_other_reasons_are_not_counted() {
    let world = served(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    let weak = world.post("/signup", json!({"email": ANN, "password": "x"})).await;
    assert_eq!(weak.status, 422);
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
}

#[tokio::test]
async fn interval_holds_for_known_and_unknown_without_a_limit_of_messages() {
    let world = served(|policy| {
        policy.limits.targets.messages = None;
        policy.mail.max_frequency = Duration::from_mins(1);
    })
    .await;
    world.create_user("known@example.com").await;
    world.advance(TimeDelta::hours(2));
    for (n, (path, _)) in requests(ANN).iter().enumerate() {
        let mut answers = Vec::new();
        for who in ["known@example.com", "unknown@example.com"] {
            let body = requests(who)[n].1.clone();
            let first = world.post_from(network(n), path, &[], body.clone()).await;
            world.advance(TimeDelta::seconds(10));
            let second = world.post_from(network(n), path, &[], body).await;
            answers.push((first.status, second.status, second.str("error_code").to_owned()));
            world.advance(TimeDelta::hours(2));
        }
        assert_eq!(answers[0], answers[1], "{path}");
        assert_eq!(answers[0].1, 429, "{path}");
    }
}
