//! `GET /oauth/authorizations/{authorization_id}` and `POST …/consent`.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use gotrue_rs::testing::{World, parse_query};
use http::Method;
use platform::testing::Answer;
use serde_json::json;

use super::{ANN, BOB, world, world_with};

const GONE: (u16, &str) = (404, "oauth_authorization_not_found");

fn returned(answer: &Answer) -> Vec<String> {
    parse_query(answer.str("redirect_url")).into_keys().collect()
}

async fn status(world: &World) -> Vec<String> {
    world.database.query("SELECT status::text FROM auth.oauth_authorizations").await
}

#[tokio::test]
async fn authorization_request_belongs_to_the_first_user() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let app = world.create_oauth_client(json!({})).await;
    let path = world.request_authorization(&app, &[]).await;
    let (a, b) = join(world.get_as(&ann.access_token, &path), world.get_as(&bob.access_token, &path)).await;
    let (owner, other, shown) = if a.status == 200 { (&ann, &bob, a) } else { (&bob, &ann, b) };
    assert_eq!(shown.str("user/email"), owner.email);
    assert_eq!(world.get_as(&other.access_token, &path).await.refusal(), GONE);
    assert_eq!(world.consent(other, &path, "approve").await.refusal(), GONE);
    world.get_as(&owner.access_token, &path).await.expect(200);
    world.consent(owner, &path, "approve").await.expect(200);
}

#[tokio::test]
async fn concurrent_consents_count_once() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[("state", "s")]).await;
    assert_eq!(world.consent(&ann, &path, "approve").await.refusal(), GONE);
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answers =
        join_all((0..6).map(|n| world.consent(&ann, &path, if n % 2 == 0 { "approve" } else { "deny" }))).await;
    let (counted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(counted.len(), 1);
    assert!(refused.iter().all(|answer| matches!(answer.refusal(), (400, "validation_failed"))));
    assert!(returned(counted[0]).contains(&"state".to_owned()));
    assert_eq!(world.get_as(&ann.access_token, &path).await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn existing_consent_with_the_scopes_is_reused() {
    let world = world().await;
    let (app, ann, bob) =
        (world.create_oauth_client(json!({})).await, world.create_user(ANN).await, world.create_user(BOB).await);
    world.obtain_code(&app, &ann, "email profile").await;
    for (user, scope, needs_consent) in
        [(&ann, "profile", false), (&ann, "email phone", true), (&bob, "email", true), (&ann, "email profile", false)]
    {
        let path = world.request_authorization(&app, &[("scope", scope), ("state", "s")]).await;
        let answer = world.get_as(&user.access_token, &path).await.expect(200);
        assert_eq!(answer.str("redirect_url").is_empty(), needs_consent, "{scope}");
        if !needs_consent {
            assert_eq!(returned(&answer), ["code", "state"]);
        }
    }
    let other = world.create_oauth_client(json!({})).await;
    let path = world.request_authorization(&other, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn new_consent_replaces_the_previous_one() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    world.obtain_code(&app, &ann, "email profile").await;
    world.obtain_code(&app, &ann, "phone phone").await;
    let grants = world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
    assert_eq!(grants.json[0]["scopes"], json!(["phone"]));
    let path = world.request_authorization(&app, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn denied_consent_grants_nothing() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[("state", "s")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "deny").await.expect(200);
    let query = parse_query(answer.str("redirect_url"));
    assert_eq!((&*query["error"], &*query["state"]), ("access_denied", "s"));
    assert_eq!(status(&world).await, ["denied"]);
    assert_eq!(world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200).json, json!([]));
}

#[tokio::test]
async fn expired_authorization_request_is_refused() {
    let world = world_with(|policy| policy.oauth_server.authorization_ttl = std::time::Duration::from_mins(1)).await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let (seen, unseen) = (world.request_authorization(&app, &[]).await, world.request_authorization(&app, &[]).await);
    world.advance(TimeDelta::minutes(1));
    world.get_as(&ann.access_token, &seen).await.expect(200);
    world.advance(TimeDelta::microseconds(1));
    assert_eq!(world.consent(&ann, &seen, "approve").await.refusal(), GONE);
    assert_eq!(world.get_as(&ann.access_token, &unseen).await.refusal(), GONE);
    assert_eq!(status(&world).await, ["expired", "expired"]);
}

#[tokio::test]
async fn consent_requires_an_origin_of_the_site() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[]).await;
    let bearer = format!("Bearer {}", ann.access_token);
    let consent = format!("{path}/consent");
    for (origin, is_good) in [
        ("https://evil.example.org", false),
        ("https://shop.example.com.evil.example", false),
        ("null", false),
        ("http://shop.example.com", true),
        ("", true),
    ] {
        let headers = [("authorization", &*bearer), ("origin", origin)];
        let looked = world.request(Method::GET, &path, &headers, None).await;
        let answered = world.request(Method::POST, &consent, &headers, Some(json!({"action": "yes"}))).await;
        if is_good {
            looked.expect(200);
            assert_eq!(answered.str("msg"), "action must be 'approve' or 'deny'");
        } else {
            assert_eq!(
                (looked.str("msg"), answered.str("msg")),
                ("unauthorized request origin", "unauthorized request origin")
            );
        }
    }
}

#[tokio::test]
async fn consent_sends_one_statement_besides_guard_and_lookup() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    assert_eq!(world.journal().statements().len(), 3);
    world.consent(&ann, &path, "approve").await.expect(200);
    assert_eq!(world.journal().statements().len(), 3);
}
