//! An authorization code that is presented again (RFC 6749 §4.1.2).

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::World;
use serde_json::json;

use super::ANN;

/// How many sessions of OAuth clients there are.
async fn sessions(world: &World) -> String {
    world.database.query("SELECT count(*) FROM auth.sessions WHERE oauth_client_id IS NOT NULL").await.concat()
}

async fn served() -> World {
    World::builder().with_oauth_server().as_served().with_outbox().build().await
}

#[tokio::test]
async fn replayed_code_revokes_issued_tokens() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let (code, other) = (world.obtain_code(&app, &ann, "email").await, world.obtain_code(&app, &ann, "email").await);
    let first = world.exchange_code(&app, &code).await.expect(200);
    world.exchange_code(&app, &other).await.expect(200);
    let renewed = world.refresh_client_session(&app, first.str("refresh_token")).await.expect(200);
    assert_eq!(sessions(&world).await, "2");

    let replayed = world.exchange_code(&app, &code).await.expect(400);
    assert_eq!(replayed.str("error"), "invalid_grant");
    for token in [&first, &renewed].map(|answer| answer.str("refresh_token")) {
        assert_eq!(world.refresh_client_session(&app, token).await.expect(400).str("error"), "invalid_grant");
    }
    for token in [&first, &renewed].map(|answer| answer.str("access_token")) {
        assert_eq!(world.get_as(token, "/oauth/userinfo").await.status, 403);
    }
    assert_eq!(sessions(&world).await, "1", "the other code's session stays");
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn concurrent_exchanges_treat_the_second_as_replay() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    for _ in 0..10 {
        let code = world.obtain_code(&app, &ann, "email").await;
        let answers = join_all((0..4).map(|_| world.exchange_code(&app, &code))).await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(won.len(), 1);
        assert_eq!(world.refresh_client_session(&app, won[0].str("refresh_token")).await.status, 400);
        assert_eq!(sessions(&world).await, "0");
    }
}

#[tokio::test]
async fn code_presented_by_another_client_revokes_nothing() {
    let world = served().await;
    let (app, other, ann) = (
        world.create_oauth_client(json!({})).await,
        world.create_oauth_client(json!({})).await,
        world.create_user(ANN).await,
    );
    let code = world.obtain_code(&app, &ann, "email").await;
    world.exchange_code(&app, &code).await.expect(200);
    assert_eq!(world.exchange_code(&other, &code).await.expect(400).str("error"), "invalid_grant");
    assert_eq!(sessions(&world).await, "1");
}

#[tokio::test]
async fn unexchanged_code_revokes_nothing() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let (used, late) = (world.obtain_code(&app, &ann, "email").await, world.obtain_code(&app, &ann, "email").await);
    world.exchange_code(&app, &used).await.expect(200);
    world.advance(TimeDelta::minutes(11));
    for _ in 0..2 {
        world.exchange_code(&app, &late).await.expect(400);
    }
    assert_eq!(sessions(&world).await, "1");
}

/// The reference refuses the code and leaves the session.
#[tokio::test]
async fn gotrue_mode_keeps_the_session_of_a_replayed_code() {
    let world = super::world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    let first = world.exchange_code(&app, &code).await.expect(200);
    world.exchange_code(&app, &code).await.expect(400);
    world.refresh_client_session(&app, first.str("refresh_token")).await.expect(200);
}
