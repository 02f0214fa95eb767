//! How many statements the hot requests send. `BEGIN` and `COMMIT` are not counted.

use gotrue_rs::testing::{PASSWORD, World};
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
