//! Statements per request, without `BEGIN` and `COMMIT`.

use chrono::TimeDelta;
use gotrue_rs::testing::{FakeProvider, PASSWORD, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

const ANN: &str = "ann@example.com";

#[track_caller]
fn assert_statement_count(world: &World, most: usize) {
    let statements = world.journal().statements();
    assert!(statements.len() <= most, "{} statements instead of {most}: {statements:?}", statements.len());
    assert!(!statements.is_empty(), "the journal was not kept");
}

#[tokio::test]
async fn get_user_sends_one_statement() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.get_as(&user.access_token, "/user").await.expect(200);
    assert_statement_count(&world, 1);
}

#[tokio::test]
async fn refresh_sends_one_statement() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.refresh(&user.refresh_token).await.expect(200);
    assert_statement_count(&world, 1);
}

#[tokio::test]
async fn refresh_with_signed_token_sends_two_statements() {
    let world = World::with(|policy| policy.refresh.algorithm_version = 2).await;
    let user = world.create_user(ANN).await;
    world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(world.journal().statements(), ["sessions.with_account", "sessions.advance_fast"]);
}

#[tokio::test]
async fn password_sign_in_sends_two_statements_and_refusal_one() {
    let world = World::new().await;
    world.create_user(ANN).await;
    world.sign_in(ANN).await;
    assert_statement_count(&world, 2);
    world.try_password(ANN, "wrong password").await.expect(400);
    assert_statement_count(&world, 1);
    world.try_password("nobody@example.com", PASSWORD).await.expect(400);
    assert_statement_count(&world, 1);
}

#[tokio::test]
async fn sign_up_with_autoconfirm_sends_three_statements() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.create_user(ANN).await;
    assert_statement_count(&world, 3);
}

#[tokio::test]
async fn sign_up_with_confirmation_sends_three_statements() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    assert_statement_count(&world, 3);
}

#[tokio::test]
async fn anonymous_sign_up_sends_two_statements() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    world.post("/signup", json!({})).await.expect(200);
    assert_statement_count(&world, 2);
}

#[tokio::test]
async fn verification_sends_at_most_four_statements() {
    let world = World::new().await;
    world.create_user(ANN).await;
    assert_statement_count(&world, 4);
}

/// Message requests for an existing user, and their statements beyond lookup and token.
#[tokio::test]
async fn otp_request_sends_two_statements_and_pkce_one_more() {
    let world = World::builder().with_phones().build().await;
    world.create_user(ANN).await;
    for path in ["/otp", "/magiclink", "/recover"] {
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN})).await.expect(200);
        assert_statement_count(&world, 2);
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN, "create_user": false})).await.expect(200);
        assert_statement_count(&world, 2);
        world.advance(TimeDelta::seconds(1));
        let challenge = "c".repeat(43);
        let flow = json!({"email": ANN, "code_challenge": challenge, "code_challenge_method": "plain"});
        world.post(path, flow).await.expect(200);
        assert_statement_count(&world, 3);
    }
    let number = json!({"phone": "15550100"});
    world.post("/otp", number.clone()).await.expect(200);
    let code = json!({"type": "sms", "phone": "15550100", "token": world.phones.latest("15550100").code});
    world.post("/verify", code).await.expect(200);
    assert_statement_count(&world, 4);
    world.advance(TimeDelta::seconds(1));
    world.post("/otp", number).await.expect(200);
    assert_statement_count(&world, 2);
}

#[tokio::test]
async fn resend_sends_two_statements_and_one_for_unknown_user() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    world.post("/resend", json!({"type": "signup", "email": ANN})).await.expect(200);
    assert_statement_count(&world, 2);
    for path in ["/resend", "/recover"] {
        world.post(path, json!({"type": "signup", "email": "nobody@example.com"})).await.expect(200);
        assert_statement_count(&world, 1);
    }
}

#[tokio::test]
async fn every_verification_type_sends_at_most_four_statements() {
    let world = World::with(|policy| policy.mail.secure_email_change = true).await;
    let ann = world.create_user(ANN).await;
    let flow =
        |email: &str| json!({"email": email, "code_challenge": "c".repeat(43), "code_challenge_method": "plain"});
    for path in ["/otp", "/recover"] {
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN})).await.expect(200);
        world.post("/verify", json!({"type": "email", "email": ANN, "token": world.code(ANN)})).await.expect(200);
        assert_statement_count(&world, 4);
        world.advance(TimeDelta::seconds(1));
        world.post(path, flow(ANN)).await.expect(200);
        let followed = world.get(&world.link(ANN)).await.expect(303);
        assert_statement_count(&world, 4);
        let (_, code) = followed.header("location").split_once("code=").expect("a code");
        let exchange = json!({"auth_code": code, "code_verifier": "c".repeat(43)});
        world.post("/token?grant_type=pkce", exchange).await.expect(200);
        assert_statement_count(&world, 3);
    }
    world.advance(TimeDelta::seconds(1));
    world.put_as(&ann.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
    for to in [ANN, "new@example.com"] {
        world.get(&world.link(to)).await.expect(303);
        assert_statement_count(&world, 4);
    }
}

#[tokio::test]
async fn logout_sends_two_statements() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.post_as(&user.access_token, "/logout", json!({})).await.expect(204);
    assert_statement_count(&world, 2);
}

#[tokio::test]
async fn metadata_update_sends_two_statements() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.put_as(&user.access_token, "/user", json!({"data": {"name": "Ann"}})).await.expect(200);
    assert_statement_count(&world, 2);
}

#[tokio::test]
async fn routes_without_database_send_no_statement() {
    let world = World::new().await;
    for path in ["/health", "/settings", "/.well-known/jwks.json", "/.well-known/openid-configuration", "/user"] {
        world.get(path).await;
        assert_eq!(world.journal().statements(), Vec::<&str>::new(), "{path}");
    }
}

#[tokio::test]
async fn factor_requests_send_the_documented_statements() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let app = world.enroll_totp(&user, "").await;
    // The account is locked before its factors are counted.
    assert_statement_count(&world, 3);
    let response = world.create_challenge(&user.access_token, &app.id).await.expect(200);
    assert_statement_count(&world, 2);
    let code = world.totp_code(&app);
    let lifted = world.verify_challenge(&user.access_token, &app.id, response.str("id"), &code).await.expect(200);
    assert_statement_count(&world, 5);
    world.unenroll(lifted.str("access_token"), &app.id).await.expect(200);
    assert_statement_count(&world, 3);
}

#[tokio::test]
async fn provider_sign_in_sends_one_and_at_most_six_statements() {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let token = json!({"access_token": "a"});
    provider.answer("/x/2/oauth2/token", token);
    provider.answer("/x/2/users/me", json!({"data": {"id": "7", "confirmed_email": ANN}}));
    let set_up =
        |policy: &mut Policy| ["github", "x"].into_iter().for_each(|name| provider.enable_provider(policy, name));
    let world = World::with(set_up).await;
    let challenge = format!("&code_challenge={}&code_challenge_method=plain", "c".repeat(43));
    for (query, most) in [
        ("github".to_owned(), 5),
        ("github".to_owned(), 5),
        (format!("github{challenge}"), 4),
        ("x".to_owned(), 6),
        (format!("x{challenge}"), 5),
    ] {
        let state = world.start_provider_sign_in(&query).await;
        assert_statement_count(&world, 1);
        world.finish_provider_sign_in(&state).await;
        assert_statement_count(&world, most);
    }
}
