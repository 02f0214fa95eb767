//! Twitter's OAuth 1.0a.

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::testing::{FakeProvider, RedirectTarget, World};
use serde_json::json;

use super::{ANN, world};

fn tokens(provider: &FakeProvider, path: &str, body: &'static str) {
    provider.respond(path, move |_| Response::new(Body::from(body)));
}

async fn oauth1_provider() -> (World, FakeProvider) {
    let (world, provider) = world().await;
    tokens(&provider, "/twitter/oauth/request_token", "oauth_token=r%26t&oauth_token_secret=rs");
    tokens(&provider, "/twitter/oauth/access_token", "oauth_token=at&oauth_token_secret=as&user_id=7");
    let user = json!({"id_str": "70071", "screen_name": "ann", "name": "Ann Example", "email": ANN});
    provider.answer("/twitter/1.1/account/verify_credentials.json", user);
    (world, provider)
}

/// A parameter of the header that signs a request, as it is written there.
fn signed(header: &str, name: &str) -> String {
    let members = header.strip_prefix("OAuth ").expect("it is signed").split(',');
    let found = members.filter_map(|member| member.split_once('=')).find(|(key, _)| *key == name);
    found.map(|(_, value)| value.trim_matches('"').to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn request_token_is_exchanged_with_the_verifier() {
    let (world, provider) = oauth1_provider().await;
    let to = RedirectTarget::from_response(&world.get("/authorize?provider=twitter&prompt=none").await.expect(302));
    assert_eq!(to.base, provider.url("/twitter/oauth/authenticate"));
    assert_eq!((to.query("oauth_token"), to.query.len()), ("r&t", 1));
    let header = provider.take_requests()[0].header("authorization").to_owned();
    let callback = signed(&header, "oauth_callback");
    let state = callback.strip_prefix("http%3A%2F%2Fauth.example.com%2Fcallback%3Fstate%3D").expect("our callback");
    let back = format!("/callback?state={state}&oauth_token=r%26t&oauth_verifier=v");
    let to = RedirectTarget::from_response(&world.get(&back).await.expect(302));
    assert_eq!((to.fragment("provider_token"), to.fragment.get("provider_refresh_token")), ("at", None));
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("identities/0/id")), (ANN, "70071"));
    let requests = provider.take_requests();
    assert_eq!(signed(requests[0].header("authorization"), "oauth_verifier"), "v");
    assert_eq!(signed(requests[0].header("authorization"), "oauth_token"), "r%26t");
    assert_eq!(signed(requests[1].header("authorization"), "oauth_token"), "at");
    assert_eq!(requests[1].query.get("include_email").map(String::as_str), Some("true"));
    let nonces: std::collections::BTreeSet<_> =
        requests.iter().map(|request| signed(request.header("authorization"), "oauth_nonce")).collect();
    assert_eq!(nonces.len(), 2, "no two requests are signed alike");
}

#[tokio::test]
async fn refused_request_token_redirects_to_the_relative_path() {
    let (world, provider) = oauth1_provider().await;
    tokens(&provider, "/twitter/oauth/request_token", "no");
    assert_eq!(world.get("/authorize?provider=twitter").await.expect(302).header("location"), "/");
    let ann = world.create_user(ANN).await;
    let answer = world.get_as(&ann.access_token, "/user/identities/authorize?provider=twitter").await.expect(302);
    assert_eq!(answer.header("location"), "/user/identities/");
}

#[tokio::test]
async fn oauth1_errors_redirect_like_oauth2_errors() {
    let (world, provider) = oauth1_provider().await;
    provider.answer("/twitter/1.1/account/verify_credentials.json", json!(7));
    let state = {
        world.get("/authorize?provider=twitter").await.expect(302);
        let callback = signed(provider.take_requests()[0].header("authorization"), "oauth_callback");
        callback.rsplit("%3D").next().unwrap_or_default().to_owned()
    };
    let back = format!("/callback?state={state}&oauth_token=rt&oauth_verifier=v");
    let to = RedirectTarget::from_response(&world.get(&back).await.expect(302));
    assert_eq!(to.query("error_description"), "Error getting user email from external provider");
    tokens(&provider, "/twitter/oauth/access_token", "");
    let to = RedirectTarget::from_response(&world.get(&back).await.expect(302));
    assert_eq!(to.query("error_description"), "Unable to retrieve access token");
}
