//! G: injection, expensive requests, hostile bytes, and what an error tells.

use std::cell::RefCell;
use std::time::Duration;

use crate::bodies::member_names;
use crate::structure::list_statements;
use axum::body::Body;
use foundation::limits::Quota;
use futures::future::{join, join_all};
use gotrue_rs::routes::list_routes;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use gotrue_rules::domain::policy::PasswordHash;
use http::{Method, Request};
use platform::journal::Step;
use platform::testing::Answer;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const PANIC: &str = "Internal Server Error";
/// Internal errors that GoTrue returns for such input too.
const RECORDED: [&str; 10] = [
    "Database error saving new user",
    "Database error finding user",
    "Database error updating user",
    "Database error querying schema",
    "Database error creating anonymous user",
    "Error sending confirmation email",
    "Error updating user",
    "Unable to get SMS provider",
    "Unable to process request",
    "Unexpected failure, please check server logs for more information",
];
/// Every error code of these routes.
const CODES: [&str; 37] = [
    "anonymous_provider_disabled",
    "bad_code_verifier",
    "bad_json",
    "bad_jwt",
    "conflict",
    "current_password_invalid",
    "current_password_required",
    "email_exists",
    "email_not_confirmed",
    "email_provider_disabled",
    "feature_disabled",
    "flow_state_expired",
    "flow_state_not_found",
    "insufficient_aal",
    "invalid_credentials",
    "no_authorization",
    "not_admin",
    "otp_expired",
    "over_email_send_rate_limit",
    "over_request_rate_limit",
    "passkey_disabled",
    "phone_exists",
    "phone_provider_disabled",
    "reauthentication_needed",
    "refresh_token_not_found",
    "request_entity_too_large",
    "request_timeout",
    "same_password",
    "saml_provider_disabled",
    "session_not_found",
    "signup_disabled",
    "sso_provider_not_found",
    "unexpected_failure",
    "user_banned",
    "user_not_found",
    "validation_failed",
    "weak_password",
];

async fn send(world: &World, method: &Method, path: &str, token: &str, body: Vec<u8>) -> Answer {
    let request =
        Request::builder().method(method.clone()).uri(path).header("authorization", format!("Bearer {token}"));
    world.send(request.body(Body::from(body)).expect("the test's request is well-formed")).await
}

#[tokio::test]
async fn g1_sql_in_input_is_treated_as_text() {
    let world = World::new().await;
    let imported_user = world.create_user(ANN).await;
    for text in
        ["' OR '1'='1", "'; DROP TABLE auth.users; --", "\\'; SELECT 1; --", "%", "_", "$1", "ann@example.com' --"]
    {
        for body in [json!({"email": text, "password": PASSWORD}), json!({"phone": text, "password": PASSWORD})] {
            world.post("/token?grant_type=password", body.clone()).await.expect(400);
            world.post("/signup", body).await.expect(400);
        }
        world.post("/verify", json!({"type": "signup", "token_hash": text})).await.expect(403);
        world.post("/verify", json!({"type": text, "token_hash": text})).await.expect(400);
        world.post("/token?grant_type=pkce", json!({"auth_code": text, "code_verifier": text})).await.expect(404);
        let headers = [("x-jwt-aud", text)];
        let body = json!({"email": ANN, "password": PASSWORD});
        world.request(Method::POST, "/token?grant_type=password", &headers, Some(body)).await.expect(400);
        let data = json!({"data": {text: text}});
        let user = world.put_as(&imported_user.access_token, "/user", data).await.expect(200);
        assert_eq!(user.json["user_metadata"][text], json!(text));
    }
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn g3_hashing_overload_is_refused_without_affecting_other_requests() {
    let world =
        World::builder().shared_hashing_pool(1, 2).policy(|policy| policy.mail.autoconfirm = true).build().await;
    let user = world.create_user(ANN).await;
    let slow = bcrypt::hash(PASSWORD, 10).expect("it can be hashed");
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{slow}'")).await;
    let flood = join_all((0..12).map(|_| world.try_password(ANN, "a guess")));
    let other = join_all((0..5).map(|_| world.get_as(&user.access_token, "/user")));
    let (flood, other) = join(flood, other).await;
    assert!(other.iter().all(|answer| answer.status == 200));
    let refused: Vec<&Answer> = flood.iter().filter(|answer| answer.status != 400).collect();
    assert!(!refused.is_empty() && refused.len() < 12, "{} of 12 refused", refused.len());
    for answer in refused {
        assert_eq!(answer.refusal(), (503, "over_request_rate_limit"));
        assert!(answer.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    }
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn g3_overlong_password_costs_no_hashing() {
    let world = World::with(|policy| policy.password.hash = PasswordHash::Bcrypt { cost: 4 }).await;
    let body = json!({"email": ANN, "password": "x".repeat(100_000)});
    world.post("/signup", body).await.expect(400);
    let steps = world.journal().steps();
    assert!(steps.iter().all(|step| matches!(step, Step::Guard(_))), "{steps:?}");
}

/// Values that no member is meant to have.
fn hostile_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".*".prop_map(Value::from),
        "[\\x00-\\x20]{0,4}".prop_map(Value::from),
        prop::sample::select(vec![
            ANN,
            "15550100",
            "+1 555 0100",
            "signup",
            "recovery",
            "sms",
            "email_change",
            "s256",
            "plain",
            PASSWORD,
            "pkce_ab",
            "abcdefgh2345",
            "123456",
            "\u{0}",
            "..@example.com",
            "\u{feff}",
            "1e999",
        ])
        .prop_map(Value::from),
        Just(json!("x".repeat(5000))),
        Just(json!("A".repeat(43))),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

fn hostile_bodies() -> impl Strategy<Value = Vec<u8>> {
    let names: Vec<String> = member_names().into_iter().chain(["EMAIL".to_owned(), String::new()]).collect();
    let members = prop::collection::btree_map(prop::sample::select(names), hostile_values(), 0..25);
    prop_oneof![
        6 => members.prop_map(|members| json!(members).to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => hostile_values().prop_map(|value| value.to_string().into_bytes()),
        1 => (0..60_usize).prop_map(|depth| "[{\"a\":".repeat(depth * 40).into_bytes()),
    ]
}

#[test]
fn g4_malformed_bodies_cause_only_recorded_failures() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (world, admin) = runtime.block_on(async {
        let world = World::with(|policy| {
            policy.sign_up.anonymous_enabled = true;
            policy.sms.test_otp.insert("15550100".to_owned(), "123456".to_owned());
            policy.limits.email_sent = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
        })
        .await;
        let admin = world.service_token();
        (world, admin)
    });
    let routes: Vec<_> =
        list_routes().into_iter().filter(|line| matches!(line.method, Method::POST | Method::PUT)).collect();
    let user: RefCell<Option<TestUser>> = RefCell::new(None);
    let number = RefCell::new(0);
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    // The same bodies each time: what fails here is found again.
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let run = TestRunner::new_with_rng(config, chance).run(&hostile_bodies(), |body| {
        for line in &routes {
            if user.borrow().is_none() {
                *number.borrow_mut() += 1;
                let email = format!("p{}@example.com", number.borrow());
                *user.borrow_mut() = Some(runtime.block_on(world.create_user(&email)));
            }
            let token = if line.guards.contains(&"Admin") {
                admin.clone()
            } else {
                user.borrow().as_ref().map(|user| user.access_token.clone()).unwrap_or_default()
            };
            if line.path == "/logout" {
                user.borrow_mut().take();
            }
            let grants = ["?grant_type=password", "?grant_type=refresh_token", "?grant_type=pkce"];
            let queries = if line.path == "/token" { &grants[..] } else { &[""] };
            for query in queries {
                let path = format!("{}{query}", line.path.replace(['{', '}'], ""));
                let answer = runtime.block_on(send(&world, &line.method, &path, &token, body.clone()));
                let (status, reported) = (answer.status.as_u16(), answer.str("msg"));
                let shown = String::from_utf8_lossy(&body);
                prop_assert!(!answer.text.contains(PANIC), "{path} panicked at {shown}");
                let is_recorded = RECORDED.contains(&reported) || answer.str("code").len() == 5;
                prop_assert!(status < 500 || is_recorded, "{path} answers {} to {shown}", answer.text);
            }
        }
        Ok(())
    });
    run.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test]
async fn g4_malformed_stored_hash_never_panics() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.create_user(ANN).await;
    for hash in [
        "plain",
        "$2a$04$",
        "$2a$99$abc",
        "$2b$04$é",
        "$argon2id$v=19$m=1,t=1,p=1$YQ$YQ",
        "$argon2id$",
        "$fbscrypt$v=1,n=0",
        "$",
    ] {
        world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{hash}'")).await;
        let answer = world.try_password(ANN, PASSWORD).await;
        assert!(matches!(answer.status.as_u16(), 400 | 500), "{hash}");
        assert!(!answer.text.contains(PANIC), "{hash}: {}", answer.text);
    }
}

#[tokio::test]
async fn g4_arbitrary_header_bytes_never_panic() {
    let world = World::new().await;
    let names = [
        "authorization",
        "x-jwt-aud",
        "x-forwarded-for",
        "user-agent",
        "redirect_to",
        "referer",
        "origin",
        "content-type",
    ];
    for name in names {
        for value in [&b"\xff\xfe"[..], b"", b"Bearer \xff", b"a\tb", &[b'x'; 9000]] {
            let body = Body::from(json!({"email": ANN, "password": "x"}).to_string());
            let request = Request::post("/token?grant_type=password").header(name, value).body(body);
            let answer = world.send(request.expect("a header")).await;
            assert!(answer.status.is_client_error(), "{name} {value:?}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn g5_out_of_range_numbers_are_refused() {
    use gotrue_rules::domain::refresh::{RefreshTokenKey, SignedToken};
    let world = World::with(|policy| policy.refresh.algorithm_version = 2).await;
    let user = world.create_user(ANN).await;
    let stored = world.database.query("SELECT refresh_token_hmac_key FROM auth.sessions").await.concat();
    let key = RefreshTokenKey::from_stored(&stored).expect("a key");
    let session = user.session.parse().expect("an id");
    for counter in [1, i64::from(u32::MAX), i64::MAX] {
        let answer = world.refresh(&SignedToken::encode(session, counter, &key)).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{counter}");
    }
    world.database.query(&format!("UPDATE auth.sessions SET refresh_token_counter = {}", i64::MAX)).await;
    let answer = world.refresh(&SignedToken::encode(session, i64::MAX, &key)).await;
    assert!(!answer.text.contains(PANIC), "{}", answer.text);
    let body = format!("{{\"email\": \"{ANN}\", \"password\": {}}}", "9".repeat(400));
    send(&world, &Method::POST, "/signup", "", body.into_bytes()).await.expect(400);
}

/// What no answer may hold: names of our parts, of tables and statements, of files.
const INSIDE: [&str; 12] = [
    "sqlx",
    "postgres",
    "fault struck",
    "SELECT",
    "INSERT",
    "UPDATE",
    "src/",
    ".rs",
    "panicked",
    "encrypted_password",
    "$2",
    "argon2",
];

#[tokio::test]
async fn g8_internal_error_reveals_no_details() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let user = world.create_user(ANN).await;
    let mut failed = 0;
    for statement in list_statements() {
        world.faults.fail(statement.name(), 1);
        world.advance(chrono::TimeDelta::seconds(1));
        let answers = [
            world.try_password(ANN, PASSWORD).await,
            world.refresh(&user.refresh_token).await,
            world.post("/signup", json!({"email": "bob@example.com", "password": PASSWORD})).await,
            world.post("/signup", json!({})).await,
            world.post("/recover", json!({"email": ANN})).await,
            world.post("/verify", json!({"type": "signup", "token_hash": "x"})).await,
            world.put_as(&user.access_token, "/user", json!({"data": {"a": 1}})).await,
            world.get_as(&user.access_token, "/user").await,
        ];
        for answer in answers {
            failed += usize::from(answer.status.as_u16() >= 500);
            for word in INSIDE {
                let is_token = answer.status == 200;
                assert!(is_token || !answer.text.contains(word), "{word} in {}", answer.text);
            }
            assert!(!answer.text.contains(statement.name()), "{}", answer.text);
        }
    }
    assert!(failed >= 8, "only {failed} answers failed");
}

#[tokio::test]
async fn g8_every_error_has_a_documented_code() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let bodies = [
        json!({}),
        json!([]),
        json!({"email": "x"}),
        json!({"email": ANN, "password": "y", "type": "z", "token": "1"}),
        Value::Null,
    ];
    for line in list_routes() {
        for token in ["", "x", user.access_token.as_str()] {
            for body in &bodies {
                let path = line.path.replace(['{', '}'], "");
                let answer = send(&world, &line.method, &path, token, body.to_string().into_bytes()).await;
                let code = answer.str("error_code");
                let is_error = answer.status.is_client_error() || answer.status.is_server_error();
                assert!(!is_error || CODES.contains(&code), "{} {path}: {}", line.method, answer.text);
            }
        }
    }
}
