//! How a code is exchanged: what the provider is shown, and what its answer may look like.

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::testing::said;
use serde_json::json;

use super::world;

const TOKEN: &str = "/github/login/oauth/access_token";

#[tokio::test]
async fn our_secret_moves_to_the_form_when_the_header_is_refused() {
    let (world, provider) = world().await;
    provider.respond(TOKEN, |asked| {
        if asked.header("authorization").is_empty() {
            said(200, &json!({"access_token": "a"}))
        } else {
            said(401, &json!({"error": "invalid_client"}))
        }
    });
    let to = world.finish(&world.begin("github").await).await;
    assert_eq!(to.fragment("provider_token"), "a");
    assert!(!to.fragment.contains_key("provider_refresh_token"), "{to:?}");
    let asked = provider.asked();
    assert_eq!(asked[0].header("authorization"), "Basic Z2l0aHViLWNsaWVudDpnaXRodWItc2VjcmV0");
    assert_eq!((asked[0].form("client_id"), asked[0].form("client_secret")), ("", ""));
    assert_eq!(asked[1].header("authorization"), "");
    assert_eq!((asked[1].form("client_id"), asked[1].form("client_secret")), ("github-client", "github-secret"));
    assert_eq!(asked[1].form("code"), "c0de-from-upstream");
}

#[tokio::test]
async fn an_answer_may_be_a_form() {
    let (world, provider) = world().await;
    provider.respond(TOKEN, |_| {
        let answer = Response::builder().header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        answer.body(Body::from("access_token=form-access&token_type=mac")).expect("an answer")
    });
    let to = world.finish(&world.begin("github").await).await;
    assert_eq!(to.fragment("provider_token"), "form-access");
    assert_eq!(provider.asked()[1].header("authorization"), "MAC form-access");
}

#[tokio::test]
async fn the_promised_verifier_comes_with_the_code_once_and_in_time() {
    let (world, provider) = world().await;
    provider.answer("/x/2/oauth2/token", json!({"access_token": "x-access", "token_type": "bearer"}));
    let person = json!({"id": "7", "name": "Ann", "username": "ann", "confirmed_email": super::ANN});
    provider.answer("/x/2/users/me", json!({"data": person}));
    let start = world.get("/authorize?provider=x").await.expect(302);
    let promised = gotrue_rs::testing::Sent::by(&start);
    let to = world.finish(promised.query("state")).await;
    assert!(world.journal().statements().len() <= 6, "{:?}", world.journal().statements());
    assert!(!to.fragment("access_token").is_empty(), "{to:?}");
    let asked = provider.asked();
    let verifier = asked[0].form("code_verifier");
    assert_eq!(gotrue_rules::domain::pkce::s256(verifier), promised.query("code_challenge"));

    provider.respond("/x/2/oauth2/token", |_| said(500, &json!({})));
    let state = world.begin("x").await;
    assert_eq!(world.finish(&state).await.query("error_code"), "unexpected_failure");
    assert_eq!(world.finish(&state).await.query("error_code"), "oauth_client_state_not_found");
}
