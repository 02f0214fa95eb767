//! `GET /oauth/authorizations/{authorization_id}` and `POST …/consent`.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use gotrue_rs::testing::{Answer, World, query_of};
use http::Method;
use serde_json::json;

use super::{ANN, BOB, world, world_with};

const GONE: (u16, &str) = (404, "oauth_authorization_not_found");

fn returned(answer: &Answer) -> Vec<String> {
    query_of(answer.str("redirect_url")).into_keys().collect()
}

async fn status(world: &World) -> Vec<String> {
    world.database.query("SELECT status::text FROM auth.oauth_authorizations").await
}

#[tokio::test]
async fn a_request_belongs_to_the_first_who_looks() {
    let world = world().await;
    let (ann, bob) = (world.person(ANN).await, world.person(BOB).await);
    let app = world.oauth_app(json!({})).await;
    let path = world.asked_by(&app, &[]).await;
    let (a, b) = join(world.get_as(&ann.access_token, &path), world.get_as(&bob.access_token, &path)).await;
    let (owner, other, shown) = if a.status == 200 { (&ann, &bob, a) } else { (&bob, &ann, b) };
    assert_eq!(shown.str("user/email"), owner.email);
    assert_eq!(world.get_as(&other.access_token, &path).await.refusal(), GONE);
    assert_eq!(world.consent(other, &path, "approve").await.refusal(), GONE);
    world.get_as(&owner.access_token, &path).await.expect(200);
    world.consent(owner, &path, "approve").await.expect(200);
}

#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[("state", "s")]).await;
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
async fn who_has_agreed_to_as_much_is_not_asked_again() {
    let world = world().await;
    let (app, ann, bob) = (world.oauth_app(json!({})).await, world.person(ANN).await, world.person(BOB).await);
    world.code_for(&app, &ann, "email profile").await;
    for (person, scope, is_asked) in
        [(&ann, "profile", false), (&ann, "email phone", true), (&bob, "email", true), (&ann, "email profile", false)]
    {
        let path = world.asked_by(&app, &[("scope", scope), ("state", "s")]).await;
        let answer = world.get_as(&person.access_token, &path).await.expect(200);
        assert_eq!(answer.str("redirect_url").is_empty(), is_asked, "{scope}");
        if !is_asked {
            assert_eq!(returned(&answer), ["code", "state"]);
        }
    }
    let other = world.oauth_app(json!({})).await;
    let path = world.asked_by(&other, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn a_new_consent_takes_the_place_of_the_one_before() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    world.code_for(&app, &ann, "email profile").await;
    world.code_for(&app, &ann, "phone phone").await;
    let grants = world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
    assert_eq!(grants.json[0]["scopes"], json!(["phone"]));
    let path = world.asked_by(&app, &[]).await;
    assert_eq!(world.get_as(&ann.access_token, &path).await.expect(200).str("redirect_url"), "");
}

#[tokio::test]
async fn a_no_grants_nothing() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[("state", "s")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "deny").await.expect(200);
    let query = query_of(answer.str("redirect_url"));
    assert_eq!((&*query["error"], &*query["state"]), ("access_denied", "s"));
    assert_eq!(status(&world).await, ["denied"]);
    assert_eq!(world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200).json, json!([]));
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_none() {
    let world = world_with(|policy| policy.oauth_server.authorization_ttl = std::time::Duration::from_mins(1)).await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let (seen, unseen) = (world.asked_by(&app, &[]).await, world.asked_by(&app, &[]).await);
    world.advance(TimeDelta::minutes(1));
    world.get_as(&ann.access_token, &seen).await.expect(200);
    world.advance(TimeDelta::microseconds(1));
    assert_eq!(world.consent(&ann, &seen, "approve").await.refusal(), GONE);
    assert_eq!(world.get_as(&ann.access_token, &unseen).await.refusal(), GONE);
    assert_eq!(status(&world).await, ["expired", "expired"]);
}

#[tokio::test]
async fn only_pages_of_the_site_may_answer_for_somebody() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[]).await;
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
async fn an_answer_is_one_statement_beside_the_guards_and_the_look() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    assert_eq!(world.journal().statements().len(), 3);
    world.consent(&ann, &path, "approve").await.expect(200);
    assert_eq!(world.journal().statements().len(), 3);
}
