//! How a code is exchanged: what the provider is shown, and what its answer may look like.

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::testing::json_response;
use serde_json::json;

use super::world;

const TOKEN: &str = "/github/login/oauth/access_token";

#[tokio::test]
async fn client_secret_is_sent_in_the_body_after_basic_auth_is_refused() {
    let (world, provider) = world().await;
    provider.respond(TOKEN, |requests| {
        if requests.header("authorization").is_empty() {
            json_response(200, &json!({"access_token": "a"}))
        } else {
            json_response(401, &json!({"error": "invalid_client"}))
        }
    });
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(to.fragment("provider_token"), "a");
    assert!(!to.fragment.contains_key("provider_refresh_token"), "{to:?}");
    let requests = provider.take_requests();
    assert_eq!(requests[0].header("authorization"), "Basic Z2l0aHViLWNsaWVudDpnaXRodWItc2VjcmV0");
    assert_eq!((requests[0].form("client_id"), requests[0].form("client_secret")), ("", ""));
    assert_eq!(requests[1].header("authorization"), "");
    assert_eq!((requests[1].form("client_id"), requests[1].form("client_secret")), ("github-client", "github-secret"));
    assert_eq!(requests[1].form("code"), "c0de-from-upstream");
}

#[tokio::test]
async fn token_response_may_be_form_encoded() {
    let (world, provider) = world().await;
    provider.respond(TOKEN, |_| {
        let answer = Response::builder().header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        answer.body(Body::from("access_token=form-access&token_type=mac")).expect("an answer")
    });
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(to.fragment("provider_token"), "form-access");
    assert_eq!(provider.take_requests()[1].header("authorization"), "MAC form-access");
}

#[tokio::test]
async fn code_verifier_is_sent_once_before_expiry() {
    let (world, provider) = world().await;
    provider.answer("/x/2/oauth2/token", json!({"access_token": "x-access", "token_type": "bearer"}));
    let user = json!({"id": "7", "name": "Ann", "username": "ann", "confirmed_email": super::ANN});
    provider.answer("/x/2/users/me", json!({"data": user}));
    let start = world.get("/authorize?provider=x").await.expect(302);
    let promised = gotrue_rs::testing::RedirectTarget::from_response(&start);
    let to = world.finish_provider_sign_in(promised.query("state")).await;
    assert!(world.journal().statements().len() <= 6, "{:?}", world.journal().statements());
    assert!(!to.fragment("access_token").is_empty(), "{to:?}");
    let requests = provider.take_requests();
    let verifier = requests[0].form("code_verifier");
    assert_eq!(gotrue_rules::domain::pkce::s256_challenge(verifier), promised.query("code_challenge"));

    provider.respond("/x/2/oauth2/token", |_| json_response(500, &json!({})));
    let state = world.start_provider_sign_in("x").await;
    assert_eq!(world.finish_provider_sign_in(&state).await.query("error_code"), "unexpected_failure");
    assert_eq!(world.finish_provider_sign_in(&state).await.query("error_code"), "oauth_client_state_not_found");
}

#[tokio::test]
async fn malformed_form_encoded_token_response_is_refused() {
    for body in ["access_token=a;token_type=bearer", "access_token=a&x=%zz", "access_token=a&%4=1", "access_token=a&b%"]
    {
        let (world, provider) = world().await;
        provider.respond(TOKEN, move |_| {
            let answer = Response::builder().header("content-type", "application/x-www-form-urlencoded");
            answer.body(Body::from(body)).expect("an answer")
        });
        let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
        let reported = to.query("error_description");
        assert_eq!(reported, "Unable to exchange external code: c0de", "{body}");
    }
}
