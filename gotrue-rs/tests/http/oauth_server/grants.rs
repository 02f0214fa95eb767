//! `GET /user/oauth/grants` and `DELETE`.

use futures::future::join;
use gotrue_rs::testing::{OAuthClient, TestUser, World};
use http::Method;
use platform::testing::Answer;
use serde_json::json;

use super::{ANN, BOB, world};

async fn revoke(world: &World, user: &TestUser, app: &OAuthClient) -> Answer {
    let bearer = format!("Bearer {}", user.access_token);
    let path = format!("/user/oauth/grants?client_id={}", app.id);
    world.request(Method::DELETE, &path, &[("authorization", &bearer)], None).await
}

async fn sessions_of(world: &World, app: &OAuthClient) -> usize {
    let found = format!("SELECT id::text FROM auth.sessions WHERE oauth_client_id = '{}'", app.id);
    world.database.query(&found).await.len()
}

#[tokio::test]
async fn grants_are_listed_newest_first_and_revoking_ends_sessions() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let (first, second) = (
        world.create_oauth_client(json!({"client_name": "First"})).await,
        world.create_oauth_client(json!({"client_name": "Second"})).await,
    );
    let mut tokens = Vec::new();
    for (app, user) in [(&first, &ann), (&first, &bob), (&second, &ann)] {
        world.advance(chrono::TimeDelta::seconds(1));
        let code = world.obtain_code(app, user, "email").await;
        tokens.push(world.exchange_code(app, &code).await.expect(200));
    }
    let grants = world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
    let names: Vec<&str> = (0..2).map(|n| grants.str(&format!("{n}/client/name"))).collect();
    assert_eq!(names, ["Second", "First"]);

    revoke(&world, &ann, &first).await.expect(204);
    assert_eq!(revoke(&world, &ann, &first).await.refusal(), (404, "oauth_consent_not_found"));
    let gone = world.get_as(tokens[0].str("access_token"), "/oauth/userinfo").await;
    assert_eq!(gone.refusal(), (403, "session_not_found"));
    assert_eq!(
        world.refresh_client_session(&first, tokens[0].str("refresh_token")).await.refusal(),
        (400, "refresh_token_not_found")
    );
    world.get_as(tokens[1].str("access_token"), "/oauth/userinfo").await.expect(200);
    world.get_as(tokens[2].str("access_token"), "/oauth/userinfo").await.expect(200);
    world.get_as(&ann.access_token, "/user").await.expect(200);
    let reported =
        "SELECT payload ->> 'traits' FROM auth.audit_log_entries WHERE payload #>> '{traits,action}' IS NOT NULL";
    assert_eq!(world.database.query(reported).await.len(), 1);
    let path = world.request_authorization(&first, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn code_of_a_revoked_grant_is_refused() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    revoke(&world, &ann, &app).await.expect(204);
    assert_eq!(world.exchange_code(&app, &code).await.str("error_description"), "Invalid authorization code");
    assert_eq!(sessions_of(&world, &app).await, 0);
}

#[tokio::test]
async fn exchange_concurrent_with_revocation_opens_no_session() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    for _ in 0..12 {
        let code = world.obtain_code(&app, &ann, "email").await;
        let (_, revoked) = join(world.exchange_code(&app, &code), revoke(&world, &ann, &app)).await;
        revoked.expect(204);
        assert_eq!(sessions_of(&world, &app).await, 0);
    }
}

#[tokio::test]
async fn malformed_client_id_is_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let unknown = |id: &str| OAuthClient { id: id.to_owned(), secret: String::new() };
    for (id, refusal) in [
        ("", (400, "validation_failed")),
        ("shop", (400, "validation_failed")),
        ("00000000-0000-4000-8000-000000000000", (404, "oauth_consent_not_found")),
    ] {
        assert_eq!(revoke(&world, &ann, &unknown(id)).await.refusal(), refusal, "{id}");
    }
}
