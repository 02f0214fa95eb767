//! How many statements the hot requests send. `BEGIN` and `COMMIT` are not counted.

use chrono::TimeDelta;
use gotrue_rs::testing::{FakeProvider, PASSWORD, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

const ANN: &str = "ann@example.com";

#[track_caller]
fn sent(world: &World, most: usize) {
    let statements = world.journal().statements();
    assert!(statements.len() <= most, "{} statements instead of {most}: {statements:?}", statements.len());
    assert!(!statements.is_empty(), "the journal was not kept");
}

#[tokio::test]
async fn reading_the_own_account_is_one_statement() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.get_as(&person.access_token, "/user").await.expect(200);
    sent(&world, 1);
}

#[tokio::test]
async fn a_refresh_is_one_statement() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.refresh(&person.refresh_token).await.expect(200);
    sent(&world, 1);
}

#[tokio::test]
async fn a_sign_in_by_password_is_two_statements_and_a_refused_one_is_one() {
    let world = World::new().await;
    world.person(ANN).await;
    world.sign_in(ANN).await;
    sent(&world, 2);
    world.try_password(ANN, "wrong password").await.expect(400);
    sent(&world, 1);
    world.try_password("nobody@example.com", PASSWORD).await.expect(400);
    sent(&world, 1);
}

#[tokio::test]
async fn a_sign_up_confirmed_at_once_is_three_statements() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.person(ANN).await;
    sent(&world, 3);
}

#[tokio::test]
async fn a_sign_up_to_confirm_is_three_statements() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    sent(&world, 3);
}

#[tokio::test]
async fn an_anonymous_sign_up_is_two_statements() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    world.post("/signup", json!({})).await.expect(200);
    sent(&world, 2);
}

#[tokio::test]
async fn a_verification_is_at_most_four_statements() {
    let world = World::new().await;
    world.person(ANN).await;
    sent(&world, 4);
}

/// Requests for a message to an account that exists, and what they may send beyond the look-up and the secret.
#[tokio::test]
async fn asking_for_a_code_or_a_link_is_two_statements_and_a_flow_is_one_more() {
    let world = World::builder().with_phones().build().await;
    world.person(ANN).await;
    for path in ["/otp", "/magiclink", "/recover"] {
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN})).await.expect(200);
        sent(&world, 2);
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN, "create_user": false})).await.expect(200);
        sent(&world, 2);
        world.advance(TimeDelta::seconds(1));
        let challenge = "c".repeat(43);
        let flow = json!({"email": ANN, "code_challenge": challenge, "code_challenge_method": "plain"});
        world.post(path, flow).await.expect(200);
        sent(&world, 3);
    }
    let number = json!({"phone": "15550100"});
    world.post("/otp", number.clone()).await.expect(200);
    let code = json!({"type": "sms", "phone": "15550100", "token": world.phones.latest("15550100").code});
    world.post("/verify", code).await.expect(200);
    sent(&world, 4);
    world.advance(TimeDelta::seconds(1));
    world.post("/otp", number).await.expect(200);
    sent(&world, 2);
}

#[tokio::test]
async fn asking_again_is_two_statements_and_of_nobody_one() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    world.post("/resend", json!({"type": "signup", "email": ANN})).await.expect(200);
    sent(&world, 2);
    for path in ["/resend", "/recover"] {
        world.post(path, json!({"type": "signup", "email": "nobody@example.com"})).await.expect(200);
        sent(&world, 1);
    }
}

#[tokio::test]
async fn a_verification_of_every_type_is_at_most_four_statements_and_an_exchange_three() {
    let world = World::with(|policy| policy.mail.secure_email_change = true).await;
    let ann = world.person(ANN).await;
    let flow =
        |email: &str| json!({"email": email, "code_challenge": "c".repeat(43), "code_challenge_method": "plain"});
    for path in ["/otp", "/recover"] {
        world.advance(TimeDelta::seconds(1));
        world.post(path, json!({"email": ANN})).await.expect(200);
        world.post("/verify", json!({"type": "email", "email": ANN, "token": world.code(ANN)})).await.expect(200);
        sent(&world, 4);
        world.advance(TimeDelta::seconds(1));
        world.post(path, flow(ANN)).await.expect(200);
        let followed = world.get(&world.link(ANN)).await.expect(303);
        sent(&world, 4);
        let (_, code) = followed.header("location").split_once("code=").expect("a code");
        let exchange = json!({"auth_code": code, "code_verifier": "c".repeat(43)});
        world.post("/token?grant_type=pkce", exchange).await.expect(200);
        sent(&world, 3);
    }
    world.advance(TimeDelta::seconds(1));
    world.put_as(&ann.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
    for to in [ANN, "new@example.com"] {
        world.get(&world.link(to)).await.expect(303);
        sent(&world, 4);
    }
}

#[tokio::test]
async fn a_logout_is_two_statements() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.post_as(&person.access_token, "/logout", json!({})).await.expect(204);
    sent(&world, 2);
}

#[tokio::test]
async fn a_change_of_the_own_metadata_is_two_statements() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.put_as(&person.access_token, "/user", json!({"data": {"name": "Ann"}})).await.expect(200);
    sent(&world, 2);
}

#[tokio::test]
async fn what_needs_no_database_sends_nothing() {
    let world = World::new().await;
    for path in ["/health", "/settings", "/.well-known/jwks.json", "/.well-known/openid-configuration", "/user"] {
        world.get(path).await;
        assert_eq!(world.journal().statements(), Vec::<&str>::new(), "{path}");
    }
}

#[tokio::test]
async fn a_factor_is_set_up_by_three_statements_challenged_by_two_and_verified_by_five() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let app = world.app_factor(&person, "").await;
    // The account is locked before its factors are counted.
    sent(&world, 3);
    let asked = world.challenge(&person.access_token, &app.id).await.expect(200);
    sent(&world, 2);
    let code = world.app_code(&app);
    let lifted = world.answer(&person.access_token, &app.id, asked.str("id"), &code).await.expect(200);
    sent(&world, 5);
    world.unenroll(lifted.str("access_token"), &app.id).await.expect(200);
    sent(&world, 3);
}

#[tokio::test]
async fn a_sign_in_through_a_provider_is_one_statement_there_and_at_most_six_back() {
    let provider = FakeProvider::start().await;
    provider.knows_on_github(4711, ANN, true);
    let token = json!({"access_token": "a"});
    provider.answer("/x/2/oauth2/token", token);
    provider.answer("/x/2/users/me", json!({"data": {"id": "7", "confirmed_email": ANN}}));
    let set_up = |policy: &mut Policy| ["github", "x"].into_iter().for_each(|name| provider.set_up(policy, name));
    let world = World::with(set_up).await;
    let challenge = format!("&code_challenge={}&code_challenge_method=plain", "c".repeat(43));
    for (query, most) in [
        ("github".to_owned(), 5),
        ("github".to_owned(), 5),
        (format!("github{challenge}"), 4),
        ("x".to_owned(), 6),
        (format!("x{challenge}"), 5),
    ] {
        let state = world.begin(&query).await;
        sent(&world, 1);
        world.finish(&state).await;
        sent(&world, most);
    }
}
