//! `GET /callback`: unknown states and provider errors.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{FakeProvider, RedirectTarget, World, json_response};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::{ANN, challenge, world};

async fn assert_refused(world: &World, path: &str) -> String {
    let answer = world.get(path).await.expect(303);
    let to = RedirectTarget::from_response(&answer);
    assert_eq!((&*to.base, to.fragment.len(), to.query("error")), ("http://shop.example.com", 0, "invalid_request"));
    to.query("error_description").to_owned()
}

#[tokio::test]
async fn state_must_be_known_and_unexpired() {
    let (world, _) = world().await;
    for (query, message) in [
        ("", "OAuth state parameter missing"),
        ("?state=&code=c", "OAuth state parameter missing"),
        ("?error=access_denied", "OAuth state parameter missing"),
        ("?state=abc&code=c", "OAuth state parameter is invalid"),
        ("?state=7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f&code=c", "OAuth state not found or expired"),
    ] {
        assert_eq!(assert_refused(&world, &format!("/callback{query}")).await, message, "{query}");
    }
    let state = world.start_provider_sign_in("github").await;
    world.advance(TimeDelta::seconds(301));
    assert_eq!(assert_refused(&world, &format!("/callback?state={state}&code=c")).await, "OAuth state has expired");
}

#[tokio::test]
async fn state_works_once_in_any_spelling() {
    let (world, _) = world().await;
    for (query, message) in
        [(String::new(), "OAuth state not found or expired"), (challenge(), "State has already been used")]
    {
        let state = world.start_provider_sign_in(&format!("github{query}")).await;
        world.finish_provider_sign_in(&state.to_uppercase().replace('-', "")).await;
        assert_eq!(assert_refused(&world, &format!("/callback?state={state}&code=c")).await, message);
    }
}

#[tokio::test]
async fn provider_error_is_forwarded_to_the_client() {
    let (world, provider) = world().await;
    let back = "&redirect_to=https%3A%2F%2Fapp.example.com%2Fback";
    for query in [back.to_owned(), format!("{back}{}", challenge())] {
        let state = world.start_provider_sign_in(&format!("github{query}")).await;
        let to = world.get(&format!("/callback?state={state}&error=access_denied&error_description=No&code=c")).await;
        assert_eq!(
            to.expect(302).header("location"),
            "https://app.example.com/back?error=access_denied&error_description=No#error=access_denied\
             &error_description=No&sb="
        );
    }
    let state = world.start_provider_sign_in("github").await;
    let to = RedirectTarget::from_response(&world.get(&format!("/callback?state={state}")).await.expect(302));
    assert_eq!(to.query("error_code"), "bad_oauth_callback");
    assert!(provider.take_requests().is_empty());
}

#[tokio::test]
async fn provider_failure_is_a_server_error_without_writes() {
    for (path, status, body, message) in [
        ("/github/login/oauth/access_token", 400, json!({"error": "x"}), "Unable to exchange external code: c0de"),
        ("/github/login/oauth/access_token", 200, json!({"error": "x"}), "Unable to exchange external code: c0de"),
        ("/github/login/oauth/access_token", 200, json!({}), "Unable to exchange external code: c0de"),
        ("/github/api/v3/user", 401, json!({}), "Error getting user profile from external provider"),
        ("/github/api/v3/user", 200, json!("text"), "Error getting user profile from external provider"),
        ("/github/api/v3/user/emails", 404, json!([]), "Error getting user profile from external provider"),
        ("/github/api/v3/user/emails", 200, json!([]), "Error getting user email from external provider"),
    ] {
        let (world, provider) = world().await;
        provider.respond(path, move |_| json_response(status, &body));
        let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
        assert_eq!((to.query("error"), to.query("error_code")), ("server_error", "unexpected_failure"));
        assert_eq!(to.query("error_description"), message);
        assert_eq!(to.fragment("error_description"), message.replace(':', "%3A"));
        assert_eq!(world.journal().statements(), ["flow_state.by_state"]);
    }
}

#[tokio::test]
async fn unresponsive_provider_times_out() {
    let provider = FakeProvider::start().await;
    let silence = |_: &_| -> futures::future::BoxFuture<'static, axum::response::Response> {
        Box::pin(futures::future::pending())
    };
    provider.respond_after("/github/login/oauth/access_token", silence);
    let change = |policy: &mut Policy| policy.api.outbound_timeout = Duration::from_millis(50);
    let world = super::builder(&provider).policy(change).build().await;
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(to.query("error_description"), "Unable to exchange external code: c0de");
    assert_eq!(provider.take_requests().len(), 2);
}

#[tokio::test]
async fn endless_provider_response_is_cut_off() {
    let (world, provider) = world().await;
    provider.answer("/github/api/v3/user", json!({"id": 4711, "name": "x".repeat(2 << 20)}));
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(to.query("error_description"), "Error getting user profile from external provider");
}

#[tokio::test]
async fn user_without_email_is_accepted_if_email_is_optional() {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    provider.answer("/github/api/v3/user/emails", json!([]));
    let world = super::builder(&provider)
        .policy(|policy| {
            policy.external.providers.get_mut("github").into_iter().for_each(|settings| settings.email_optional = true);
        })
        .build()
        .await;
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("identities/0/id")), ("", "4711"));
}

#[tokio::test]
async fn unverified_email_must_be_confirmed_first() {
    let (world, provider) = world().await;
    provider.add_github_user(4711, ANN, false);
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!((to.query("error"), to.query("error_code")), ("access_denied", "provider_email_needs_verification"));
    world.get(&world.link(ANN)).await.expect(303);
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert!(!to.fragment("access_token").is_empty(), "{to:?}");
}
