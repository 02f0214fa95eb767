//! Every duration of `docs/configuration.md` follows the clock of a world, or is listed with a reason.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::bench::{TestServer, World};

const REAL_TIME: &str = "a limit on waiting, which moving a clock must not end";
const CLEANUP: &str = "ages of rows that no request reads; gotrue-rs/tests/http/upkeep/cleanup.rs crosses them";

/// Settings, and the test of this file or of `world_durations.rs` that crosses them.
const CROSSED: &[(&str, &str)] = &[
    ("GOTRUE_JWT_EXP", "access_tokens_expire"),
    ("GOTRUE_SESSIONS_TIMEBOX", "sessions_end_after_their_time_box"),
    ("GOTRUE_SESSIONS_INACTIVITY_TIMEOUT", "unused_sessions_end"),
    ("GOTRUE_SESSIONS_ALLOW_LOW_AAL", "sessions_must_be_raised_in_time"),
    ("GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", "used_refresh_tokens_are_accepted_for_a_while"),
    ("GOTRUE_SMTP_MAX_FREQUENCY", "mails_have_a_pause"),
    ("GOTRUE_MAILER_OTP_EXP", "mailed_codes_expire"),
    ("GOTRUE_SMS_MAX_FREQUENCY", "sms_have_a_pause_and_their_codes_expire"),
    ("GOTRUE_SMS_OTP_EXP", "sms_have_a_pause_and_their_codes_expire"),
    ("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", "challenges_of_factors_expire"),
    ("GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", "authorization_codes_expire"),
    ("GOTRUE_MAILER_TEMPLATE_MAX_AGE", "fetched_templates_are_cached_for_a_while"),
    ("GOTRUE_MAILER_TEMPLATE_RETRY_INTERVAL", "failed_templates_are_fetched_again_after_a_while"),
    ("GOTRUE_MAILER_TEMPLATE_RELOADING_MAX_IDLE", "templates_without_use_are_not_fetched_in_the_background"),
    ("GOTRUE_MFA_FACTOR_EXPIRY_DURATION", "unverified_factors_make_room_after_a_while"),
    ("GOTRUE_MFA_PHONE_MAX_FREQUENCY", "codes_of_phone_factors_have_a_pause"),
    ("GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION", "challenges_of_passkeys_expire"),
    ("GOTRUE_EXTERNAL_OIDC_PROVIDER_CACHE_TTL", "documents_of_issuers_are_cached_for_a_while"),
    ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "saml_requests_expire"),
    ("GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL", "authorization_requests_expire"),
    ("GOTRUE_EXTERNAL_WEB3_SOLANA_MAXIMUM_VALIDITY_DURATION", "messages_of_wallets_expire"),
    ("GOTRUE_EXTERNAL_WEB3_ETHEREUM_MAXIMUM_VALIDITY_DURATION", "messages_of_wallets_expire"),
];

/// Settings that the tests here do not cross, and why.
const NOT_CROSSED: &[(&str, &str)] = &[
    ("GOTRUE_API_MAX_REQUEST_DURATION", REAL_TIME),
    ("GOTRUE_INTERNAL_HTTP_TIMEOUT", REAL_TIME),
    ("GOTRUE_SECURITY_CAPTCHA_TIMEOUT", REAL_TIME),
    ("GOTRUE_DB_CONN_MAX_LIFETIME", "connections, not data"),
    ("GOTRUE_DB_CONN_MAX_IDLE_TIME", "connections, not data"),
    ("GOTRUE_DB_START_TIMEOUT", REAL_TIME),
    ("GOTRUE_DB_FAILOVER_WAIT", REAL_TIME),
    ("GOTRUE_DB_REPLICA_MAX_LAG", "worlds have no replica"),
    ("GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION", "crossed by `factors::recovery_codes` of the auth API"),
    ("GOTRUE_RETENTION_AUDIT_ENTRIES", CLEANUP),
    ("GOTRUE_RETENTION_REVOKED_TOKENS", CLEANUP),
    ("GOTRUE_RETENTION_ENDED_SESSIONS", CLEANUP),
    ("GOTRUE_RATE_LIMIT_STORE_TIMEOUT", REAL_TIME),
    ("GOTRUE_SHUTDOWN_DRAIN", REAL_TIME),
    ("GOTRUE_RELOADING_POLLER_INTERVAL", "worlds read no files"),
    ("GOTRUE_RELOADING_GRACE_PERIOD_INTERVAL", "worlds read no files"),
];

async fn gotrue_world<'s>(server: &'s TestServer, name: &str, value: &str) -> World<'s> {
    server.world(json!({"profile": "gotrue", "env": {"GOTRUE_MAILER_AUTOCONFIRM": "true", name: value}})).await
}

pub(super) async fn advance(world: &World<'_>, by: &str) {
    world.ok(Method::POST, "/clock", Some(json!({"advance": by}))).await;
}

async fn refresh(world: &World<'_>, session: &Value) -> (u16, Value) {
    world.auth("/token?grant_type=refresh_token", Some(json!({"refresh_token": session["refresh_token"]}))).await
}

/// Returns the code of the latest message to an address or number.
pub(super) async fn code(world: &World<'_>, to: &str) -> String {
    let messages = world.ok(Method::GET, &format!("/messages?wait=5&to={to}"), None).await;
    let latest = messages["messages"].as_array().and_then(|all| all.last()).unwrap_or_else(|| panic!("{messages}"));
    latest["code"].as_str().expect("a code").to_owned()
}

#[test]
fn every_duration_of_the_documentation_is_listed_once() {
    let documented = include_str!("../../../../docs/configuration.md");
    let cells = documented.lines().filter_map(|line| line.strip_prefix("| `GOTRUE_"));
    let is_duration = |kind: &str| kind == "duration" || kind == "seconds" || kind.starts_with("a duration");
    let durations: BTreeSet<String> = cells
        .filter_map(|row| {
            let (name, rest) = row.split_once("` | ")?;
            is_duration(rest.split(" | ").next()?).then(|| format!("GOTRUE_{name}"))
        })
        .collect();
    let listed: Vec<&str> = CROSSED.iter().chain(NOT_CROSSED).map(|(name, _)| *name).collect();
    assert_eq!(durations, listed.iter().map(|name| (*name).to_owned()).collect(), "compare the tables of this file");
    assert_eq!(listed.len(), durations.len(), "a setting is listed twice");
    for (name, test) in CROSSED {
        let sources = [include_str!("world_clock.rs"), include_str!("world_durations.rs")];
        let is_test = |source: &&str| source.contains(&format!("async fn {test}()"));
        assert!(sources.iter().any(is_test), "{name}: no test {test}");
    }
}

#[tokio::test]
async fn access_tokens_expire() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_JWT_EXP", "600").await;
    let session = world.sign_up("ann@example.com").await;
    let token = session["access_token"].as_str().expect("a token");
    advance(&world, "9m50s").await;
    assert_eq!(world.auth_as(token, "/user", None).await.0, 200);
    advance(&world, "15s").await;
    assert_eq!(world.auth_as(token, "/user", None).await.0, 403);
}

#[tokio::test]
async fn sessions_end_after_their_time_box() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_SESSIONS_TIMEBOX", "1h").await;
    let session = world.sign_up("ann@example.com").await;
    advance(&world, "59m").await;
    let (status, session) = refresh(&world, &session).await;
    assert_eq!(status, 200, "{session}");
    advance(&world, "2m").await;
    let (status, refused) = refresh(&world, &session).await;
    assert_eq!((status, refused["error_code"].as_str()), (400, Some("session_expired")), "{refused}");
}

#[tokio::test]
async fn unused_sessions_end() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_SESSIONS_INACTIVITY_TIMEOUT", "30m").await;
    let session = world.sign_up("ann@example.com").await;
    advance(&world, "29m").await;
    let (status, session) = refresh(&world, &session).await;
    assert_eq!(status, 200, "{session}");
    advance(&world, "31m").await;
    let (status, refused) = refresh(&world, &session).await;
    assert_eq!((status, refused["error_code"].as_str()), (400, Some("session_expired")), "{refused}");
}

#[tokio::test]
async fn sessions_must_be_raised_in_time() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_SESSIONS_ALLOW_LOW_AAL", "15m").await;
    let user = json!([{"email": "ann@example.com", "factors": [{}]}]);
    world.ok(Method::POST, "/users", Some(user)).await;
    let session = world.ok(Method::POST, "/sessions", Some(json!({"email": "ann@example.com"}))).await;
    advance(&world, "14m").await;
    let (status, session) = refresh(&world, &session).await;
    assert_eq!(status, 200, "{session}");
    advance(&world, "2m").await;
    let (status, refused) = refresh(&world, &session).await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test]
async fn used_refresh_tokens_are_accepted_for_a_while() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", "60").await;
    let first = world.sign_up("ann@example.com").await;
    let (_, second) = refresh(&world, &first).await;
    assert_eq!(refresh(&world, &second).await.0, 200);
    advance(&world, "50s").await;
    assert_eq!(refresh(&world, &second).await.0, 200, "within the interval");
    advance(&world, "70s").await;
    let (status, refused) = refresh(&world, &first).await;
    assert_eq!((status, refused["error_code"].as_str()), (400, Some("refresh_token_already_used")), "{refused}");
}

#[tokio::test]
async fn mails_have_a_pause() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_SMTP_MAX_FREQUENCY", "1m").await;
    world.sign_up("ann@example.com").await;
    let recover = || world.auth("/recover", Some(json!({"email": "ann@example.com"})));
    assert_eq!(recover().await.0, 200);
    advance(&world, "55s").await;
    assert_eq!(recover().await.0, 429);
    advance(&world, "10s").await;
    assert_eq!(recover().await.0, 200);
}

#[tokio::test]
async fn mailed_codes_expire() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_MAILER_OTP_EXP", "600").await;
    for (wait, expected) in [("9m50s", 200), ("10m10s", 403)] {
        let email = format!("{expected}@example.com");
        assert_eq!(world.auth("/otp", Some(json!({"email": email}))).await.0, 200);
        let token = code(&world, &email).await;
        advance(&world, wait).await;
        let body = json!({"type": "email", "email": email, "token": token});
        let (status, verified) = world.auth("/verify", Some(body)).await;
        assert_eq!(status, expected, "{verified}");
    }
}

#[tokio::test]
async fn sms_have_a_pause_and_their_codes_expire() {
    let server = TestServer::start();
    let sms = json!({"enable_signup": true, "enable_confirmations": true, "max_frequency": "60s"});
    let world = server.world(json!({"config": {"auth": {"sms": sms}}})).await;
    let send = |phone: &'static str| world.auth("/otp", Some(json!({"phone": phone})));
    assert_eq!(send("15550001").await.0, 200);
    advance(&world, "50s").await;
    assert_eq!(send("15550001").await.0, 429);
    advance(&world, "15s").await;
    assert_eq!(send("15550001").await.0, 200);
    // The lifetime is that of the Supabase CLI: 6,000 seconds.
    for (phone, wait, expected) in [("15550002", "99m", 200), ("15550003", "101m", 403)] {
        assert_eq!(send(phone).await.0, 200);
        let token = code(&world, phone).await;
        advance(&world, wait).await;
        let body = json!({"type": "sms", "phone": phone, "token": token});
        let (status, verified) = world.auth("/verify", Some(body)).await;
        assert_eq!(status, expected, "{verified}");
    }
}

#[tokio::test]
async fn challenges_of_factors_expire() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", "300").await;
    let user = json!([{"email": "ann@example.com", "factors": [{}]}]);
    let user = world.ok(Method::POST, "/users", Some(user)).await[0].clone();
    let session = world.ok(Method::POST, "/sessions", Some(json!({"email": "ann@example.com"}))).await;
    let token = session["access_token"].as_str().expect("a token");
    let factor = &user["factors"][0];
    let path = format!("/factors/{}", factor["id"].as_str().expect("an id"));
    for (wait, expected) in [("290s", 200), ("310s", 422)] {
        let (status, challenge) = world.auth_as(token, &format!("{path}/challenge"), Some(json!({}))).await;
        assert_eq!(status, 200, "{challenge}");
        advance(&world, wait).await;
        let secret = json!({"secret": factor["secret"]});
        let code = world.ok(Method::POST, "/authenticators/totp", Some(secret)).await["code"].clone();
        let body = json!({"challenge_id": challenge["id"], "code": code});
        let (status, verified) = world.auth_as(token, &format!("{path}/verify"), Some(body)).await;
        assert_eq!(status, expected, "{wait}: {verified}");
    }
}

#[tokio::test]
async fn authorization_codes_expire() {
    let server = TestServer::start();
    let world = gotrue_world(&server, "GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", "5m").await;
    world.sign_up("ann@example.com").await;
    let challenge = json!({"code_challenge": "a".repeat(43), "code_challenge_method": "plain"});
    for (wait, expected) in [("4m50s", 200), ("5m10s", 422)] {
        let mut body = challenge.clone();
        body["email"] = json!("ann@example.com");
        advance(&world, "2m").await;
        assert_eq!(world.auth("/recover", Some(body)).await.0, 200);
        let messages = world.ok(Method::GET, "/messages?wait=5&kind=recovery", None).await;
        let link = messages["messages"].as_array().and_then(|all| all.last()).expect("a mail")["link"].clone();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let answer = client.expect("a client").get(link.as_str().expect("a link")).send().await.expect("an answer");
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let location = location.unwrap_or_else(|| panic!("{}: {messages}", answer.status()));
        let code = location.split("code=").nth(1).unwrap_or_else(|| panic!("{location}"));
        advance(&world, wait).await;
        let body = json!({"auth_code": code, "code_verifier": "a".repeat(43)});
        let (status, exchanged) = world.auth("/token?grant_type=pkce", Some(body)).await;
        assert_eq!(status, expected, "{wait}: {exchanged}");
    }
}
