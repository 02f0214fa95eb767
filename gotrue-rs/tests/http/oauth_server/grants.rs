//! `GET /user/oauth/grants` and `DELETE`.

use futures::future::join;
use gotrue_rs::testing::{Answer, OAuthApp, Person, World};
use http::Method;
use serde_json::json;

use super::{ANN, BOB, world};

async fn revoke(world: &World, person: &Person, app: &OAuthApp) -> Answer {
    let bearer = format!("Bearer {}", person.access_token);
    let path = format!("/user/oauth/grants?client_id={}", app.id);
    world.request(Method::DELETE, &path, &[("authorization", &bearer)], None).await
}

async fn sessions_of(world: &World, app: &OAuthApp) -> usize {
    let found = format!("SELECT id::text FROM auth.sessions WHERE oauth_client_id = '{}'", app.id);
    world.database.query(&found).await.len()
}

#[tokio::test]
async fn grants_are_listed_newest_first_and_end_with_the_clients_sessions() {
    let world = world().await;
    let (ann, bob) = (world.person(ANN).await, world.person(BOB).await);
    let (first, second) = (
        world.oauth_app(json!({"client_name": "First"})).await,
        world.oauth_app(json!({"client_name": "Second"})).await,
    );
    let mut tokens = Vec::new();
    for (app, person) in [(&first, &ann), (&first, &bob), (&second, &ann)] {
        world.advance(chrono::TimeDelta::seconds(1));
        let code = world.code_for(app, person, "email").await;
        tokens.push(world.exchange(app, &code).await.expect(200));
    }
    let grants = world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
    let names: Vec<&str> = (0..2).map(|n| grants.str(&format!("{n}/client/name"))).collect();
    assert_eq!(names, ["Second", "First"]);

    revoke(&world, &ann, &first).await.expect(204);
    assert_eq!(revoke(&world, &ann, &first).await.refusal(), (404, "oauth_consent_not_found"));
    let gone = world.get_as(tokens[0].str("access_token"), "/oauth/userinfo").await;
    assert_eq!(gone.refusal(), (403, "session_not_found"));
    assert_eq!(
        world.refresh_by(&first, tokens[0].str("refresh_token")).await.refusal(),
        (400, "refresh_token_not_found")
    );
    world.get_as(tokens[1].str("access_token"), "/oauth/userinfo").await.expect(200);
    world.get_as(tokens[2].str("access_token"), "/oauth/userinfo").await.expect(200);
    world.get_as(&ann.access_token, "/user").await.expect(200);
    let told =
        "SELECT payload ->> 'traits' FROM auth.audit_log_entries WHERE payload #>> '{traits,action}' IS NOT NULL";
    assert_eq!(world.database.query(told).await.len(), 1);
    let path = world.asked_by(&first, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn a_code_is_worth_nothing_once_the_grant_is_taken_back() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email").await;
    revoke(&world, &ann, &app).await.expect(204);
    assert_eq!(world.exchange(&app, &code).await.str("error_description"), "Invalid authorization code");
    assert_eq!(sessions_of(&world, &app).await, 0);
}

#[tokio::test]
async fn no_session_slips_past_a_grant_that_is_taken_back_at_the_same_time() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    for _ in 0..12 {
        let code = world.code_for(&app, &ann, "email").await;
        let (_, revoked) = join(world.exchange(&app, &code), revoke(&world, &ann, &app)).await;
        revoked.expect(204);
        assert_eq!(sessions_of(&world, &app).await, 0);
    }
}

#[tokio::test]
async fn a_client_must_be_named_rightly() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let nobody = |id: &str| OAuthApp { id: id.to_owned(), secret: String::new() };
    for (id, refusal) in [
        ("", (400, "validation_failed")),
        ("shop", (400, "validation_failed")),
        ("00000000-0000-4000-8000-000000000000", (404, "oauth_consent_not_found")),
    ] {
        assert_eq!(revoke(&world, &ann, &nobody(id)).await.refusal(), refusal, "{id}");
    }
}
