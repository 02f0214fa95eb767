//! With the hardened policy, mail requests do equal work for known and unknown e-mail addresses.
//!
//! `make timing` measures the time; these tests compare the statements.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use foundation::limits::Quota;
use gotrue_rs::services::cleanup;
use gotrue_rs::store;
use gotrue_rs::testing::{PASSWORD, World, clone_migrated};
use gotrue_rules::domain::policy::Policy;
use http::StatusCode;
use platform::journal::Step;
use platform::testing::Recording;
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

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

#[tokio::test]
async fn refused_code_is_answered_at_the_end_of_a_time_step() {
    let world = served().await;
    let started = Instant::now();
    world.post("/verify", json!({})).await.expect(400);
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(5), "{elapsed:?}");
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

/// A look-up that finds a user returns a row, which takes time to read; so must one that finds none.
#[tokio::test]
async fn look_ups_return_equally_many_rows_for_unknown_email() {
    let world = served().await;
    let wrong = json!({"password": "a wrong password"});
    for (path, body, addresses) in [
        ("/recover", json!({}), [CONFIRMED, UNKNOWN]),
        ("/resend", json!({"type": "signup"}), [CONFIRMED, UNKNOWN]),
        ("/otp", json!({}), [CONFIRMED, "first@example.com"]),
        ("/magiclink", json!({}), [CONFIRMED, "second@example.com"]),
        ("/signup", json!({"password": "another password"}), [CONFIRMED, "third@example.com"]),
        ("/token?grant_type=password", wrong, [CONFIRMED, UNKNOWN]),
    ] {
        let mut seen = Vec::new();
        for address in addresses {
            world.advance(TimeDelta::minutes(2));
            let mut body = body.clone();
            body["email"] = json!(address);
            Recording::start();
            world.post(path, body).await;
            let recording = Recording::stop();
            let statements = recording.spans_named("statement").into_iter().map(|span| &span.fields);
            let look_ups: Vec<(String, String)> = statements
                .map(|of| ["db.query.summary", "db.response.returned_rows"].map(|name| of.get(name)))
                .filter(|[name, _]| name.starts_with("users."))
                .map(|[name, rows]| (name.to_owned(), rows.to_owned()))
                .collect();
            assert!(!look_ups.is_empty(), "{path} {address}: {recording:?}");
            seen.push(look_ups);
        }
        assert_eq!(seen[0], seen[1], "{path}: known and unknown");
    }
}

/// A statement that PostgreSQL plans for each request takes as long to plan as to run.
#[tokio::test]
async fn statements_for_unknown_email_are_not_planned_for_each_request() {
    let database = clone_migrated().await;
    let options = database.admin_options().options([("search_path", "auth")]);
    let mut connection = PgConnection::connect_with(&options).await.expect("the test server answers");
    let written = store::list_statements().filter(|statement| statement.name().starts_with("decoys."));
    let mut count = 0;
    for statement in written {
        let mut run = async |sql: String| {
            sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection).await.expect("the statement fits the schema")
        };
        run(format!("PREPARE written AS {}", statement.sql())).await;
        let of = "FROM pg_prepared_statements WHERE name = 'written'";
        let types = run(format!("SELECT unnest(parameter_types)::text {of}")).await;
        let value = |row: &PgRow| match row.try_get_unchecked::<String, _>(0).expect("a text") {
            name if name.ends_with("[]") => "'{}'",
            name if name.starts_with("timestamp") => "now()",
            _ => "NULL",
        };
        let values: Vec<&str> = types.iter().map(value).collect();
        for _ in 0..12 {
            run(format!("EXECUTE written ({})", values.join(", "))).await;
        }
        let plans = run(format!("SELECT generic_plans::text {of}")).await;
        let plans: String = plans[0].try_get_unchecked(0).expect("a text");
        assert_eq!(plans, "7", "{}: PostgreSQL decides after five plans", statement.name());
        run("DEALLOCATE written".to_owned()).await;
        count += 1;
    }
    assert_eq!(count, 5);
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
}

#[tokio::test]
async fn clean_up_deletes_the_rows_of_unknown_email() {
    let world = served().await;
    world.post("/recover", json!({"email": UNKNOWN})).await.expect(200);
    world.advance(TimeDelta::minutes(2));
    // Each write starts one kind of the clean-up.
    for _ in 0..20 {
        world.app.cleanup_signal.notify();
        cleanup::run(world.app.clone(), std::future::ready(())).await;
    }
    assert_eq!(world.database.query("SELECT count(*) FROM basalt.decoys").await, ["0"]);
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
