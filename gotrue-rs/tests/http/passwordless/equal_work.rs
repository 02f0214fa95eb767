//! With the hardened policy, mail requests do equal work for known and unknown e-mail addresses.
//!
//! `make timing` measures the time; these tests compare the statements.

use chrono::TimeDelta;
use gotrue_rs::journal::Step;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::{Policy, Quota};
use http::StatusCode;
use serde_json::{Value, json};

const CONFIRMED: &str = "confirmed@example.com";
const WAITING: &str = "waiting@example.com";
const UNKNOWN: &str = "unknown@example.com";

/// A server with a confirmed account and one that waits for its confirmation.
async fn served_with(change: impl FnOnce(&mut Policy)) -> World {
    let world = World::builder().as_served().with_outbox().policy(change).build().await;
    let account =
        |email: &str, confirmed: bool| json!({"email": email, "password": PASSWORD, "email_confirm": confirmed});
    for (email, confirmed) in [(CONFIRMED, true), (WAITING, false)] {
        world.post_as(&world.service_token(), "/admin/users", account(email, confirmed)).await.expect(200);
    }
    world
}

async fn served() -> World {
    served_with(|_| {}).await
}

/// How often the latest request wrote to the database, and within what transactions.
fn round_trips(world: &World) -> (usize, usize) {
    let steps = world.journal().steps();
    let transactions = steps.iter().filter(|step| matches!(step, Step::Transaction(_))).count();
    (world.journal().statements().len(), transactions)
}

fn flow(mut body: Value) -> Value {
    body["code_challenge"] = json!("c".repeat(43));
    body["code_challenge_method"] = json!("s256");
    body
}

#[tokio::test]
async fn mail_requests_send_equal_statements_for_unknown_email() {
    let world = served().await;
    let requests: [(&str, Value, &[&str]); 5] = [
        ("/recover", json!({}), &[CONFIRMED, WAITING, UNKNOWN]),
        ("/resend", json!({"type": "signup"}), &[CONFIRMED, WAITING, UNKNOWN]),
        // Of these the unknown address comes first: it has an account afterwards.
        ("/otp", json!({}), &["first@example.com", CONFIRMED, WAITING]),
        ("/magiclink", json!({}), &["second@example.com", CONFIRMED, WAITING]),
        ("/signup", json!({"password": "another password"}), &["third@example.com", CONFIRMED]),
    ];
    for (path, body, addresses) in requests {
        for body in [body.clone(), flow(body)] {
            let mut seen = Vec::new();
            for (number, address) in addresses.iter().enumerate() {
                world.advance(TimeDelta::minutes(2));
                // The first address must still be unknown in the second round.
                let is_flow = body.get("code_challenge").is_some();
                let address = if is_flow && number == 0 { format!("flow-{address}") } else { (*address).to_owned() };
                let mut body = body.clone();
                body["email"] = json!(address);
                let answer = world.post(path, body).await;
                assert_eq!(answer.status, StatusCode::OK, "{path} {address}: {}", answer.text);
                seen.push((round_trips(&world), address, world.journal().statements()));
            }
            let all: Vec<_> = seen.iter().map(|(trips, ..)| *trips).collect();
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{path}: {seen:#?}");
        }
    }
}

#[tokio::test]
async fn unknown_email_writes_and_mails_nothing() {
    let world = served().await;
    for (path, body) in [("/recover", json!({})), ("/resend", json!({"type": "signup"}))] {
        for body in [body.clone(), flow(body)] {
            world.advance(TimeDelta::minutes(2));
            let mut body = body;
            body["email"] = json!(UNKNOWN);
            world.post(path, body).await.expect(200);
        }
    }
    for table in ["auth.users WHERE email", "basalt.outbox WHERE recipient", "basalt.decoys d WHERE d::text"] {
        let kept = format!("SELECT count(*) FROM {table} LIKE '%unknown%'");
        assert_eq!(world.database.query(&kept).await, ["0"], "{table}");
    }
    for table in ["auth.one_time_tokens", "auth.flow_state", "basalt.outbox"] {
        assert_eq!(world.database.query(&format!("SELECT count(*) FROM {table}")).await, ["0"], "{table}");
    }
    // Rows without a meaning do not pile up.
    for _ in 0..10 {
        world.advance(TimeDelta::minutes(2));
        world.post("/recover", json!({"email": UNKNOWN})).await.expect(200);
    }
    let left: i64 = world.database.query("SELECT count(*) FROM basalt.decoys").await[0].parse().expect("a number");
    assert!(left <= 4, "{left} rows are left");
}

/// The mail quota applies to unknown addresses too; otherwise an exhausted quota reveals users.
#[tokio::test]
async fn exhausted_quota_refuses_known_and_unknown_emails() {
    let two = |policy: &mut Policy| {
        policy.limits.email_sent = Quota::Window { events: 2.0, per: std::time::Duration::from_hours(1) };
    };
    for (path, body) in [
        ("/recover", json!({})),
        ("/resend", json!({"type": "signup"})),
        ("/signup", json!({"password": "another password"})),
    ] {
        let world = served_with(two).await;
        let ask = |address: &str| {
            let mut body = body.clone();
            body["email"] = json!(address);
            world.post(path, body)
        };
        for address in ["nobody-1@example.com", "nobody-2@example.com"] {
            ask(address).await.expect(200);
        }
        let answers = [ask(CONFIRMED).await, ask(WAITING).await, ask(UNKNOWN).await];
        for answer in answers {
            assert_eq!(answer.refusal(), (429, "over_email_send_rate_limit"), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn wrong_code_sends_equal_statements_for_unknown_email() {
    let world = served().await;
    for address in [CONFIRMED, WAITING, UNKNOWN] {
        let code = json!({"type": "email", "email": address, "token": "123456"});
        assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
        let mut statements = world.journal().statements();
        statements.sort_unstable();
        let other = if address == UNKNOWN { "users.any" } else { "users.by_email" };
        assert_eq!(statements, [other, "users.by_email"], "{address}");
    }
}

/// The drop-in does what the reference does.
#[tokio::test]
async fn gotrue_mode_skips_work_for_unknown_email() {
    let world = World::new().await;
    for (path, body) in
        [("/recover", json!({"email": UNKNOWN})), ("/resend", json!({"type": "signup", "email": UNKNOWN}))]
    {
        world.post(path, body).await.expect(200);
        assert_eq!(world.journal().statements(), ["users.by_email"]);
    }
}
