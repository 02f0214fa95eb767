//! `GET|POST /callback`: what becomes of the browser that comes back.

use axum::body::Body;
use gotrue_rs::testing::{RedirectTarget, World};
use http::{Method, Request};
use serde_json::json;

use super::{ANN, challenge, pair, world};

fn posted(form: &str) -> Request<Body> {
    let request = Request::post("/callback").header("content-type", "application/x-www-form-urlencoded");
    request.body(Body::from(form.to_owned())).expect("a request")
}

#[tokio::test]
async fn unknown_identity_gets_a_user_and_a_session() {
    let (world, provider) = world().await;
    let state = world.start_provider_sign_in("github").await;
    let to = world.finish_provider_sign_in(&state).await;
    assert!(world.journal().statements().len() <= 6, "{:?}", world.journal().statements());
    assert_eq!((&*to.base, to.query.len()), ("http://shop.example.com", 0));
    assert_eq!(to.fragment("provider_token"), "github-access");
    assert_eq!(to.fragment("provider_refresh_token"), "github-refresh");
    assert_eq!((to.fragment("token_type"), to.fragment("sb")), ("bearer", ""));
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("app_metadata/provider")), (ANN, "github"));
    assert_eq!(user.str("identities/0/id"), "4711");
    let requests = provider.take_requests();
    let paths: Vec<_> = requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(
        paths,
        ["POST /github/login/oauth/access_token", "GET /github/api/v3/user", "GET /github/api/v3/user/emails"]
    );
    assert_eq!(requests[0].form("code"), "c0de-from-upstream");
    assert_eq!(requests[0].form("redirect_uri"), "http://auth.example.com/callback");
    assert_eq!(requests[1].header("authorization"), "Bearer github-access");
    assert_eq!(requests[1].header("user-agent"), "basalt");
}

#[tokio::test]
async fn name_is_stored_unchanged() {
    let (world, _) = world().await;
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("GitHub").await).await;
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("app_metadata/provider"), "GitHub");
}

#[tokio::test]
async fn pkce_code_exchange_returns_provider_tokens() {
    let (world, _) = world().await;
    let back = "&redirect_to=https%3A%2F%2Fapp.example.com%2Fback%3Fn%3D1";
    let state = world.start_provider_sign_in(&format!("github{}{back}", challenge())).await;
    let to = world.finish_provider_sign_in(&state).await;
    assert!(world.journal().statements().len() <= 6, "{:?}", world.journal().statements());
    assert_eq!((&*to.base, to.query("n"), to.fragment.len()), ("https://app.example.com/back", "1", 0));
    let exchange = json!({"auth_code": to.query("code"), "code_verifier": pair().1});
    let session = world.post("/token?grant_type=pkce", exchange.clone()).await.expect(200);
    assert_eq!(session.str("provider_token"), "github-access");
    assert_eq!(session.str("provider_refresh_token"), "github-refresh");
    assert_eq!(session.str("user/email"), ANN);
    assert_eq!(world.post("/token?grant_type=pkce", exchange).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn verified_email_links_to_the_existing_user() {
    let (world, _) = world().await;
    let ann = world.create_user(ANN).await;
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("id"), ann.id);
    assert_eq!(user.json["app_metadata"]["providers"], json!(["email", "github"]));
}

#[tokio::test]
async fn manual_linking_adds_an_identity() {
    let (world, provider) = world().await;
    provider.add_github_user(4711, "ann@work.example.com", true);
    let ann = world.create_user(ANN).await;
    for (query, parameter) in [(String::new(), "access_token"), (challenge(), "error")] {
        let path = format!("/user/identities/authorize?provider=github{query}");
        let state = RedirectTarget::from_response(&world.get_as(&ann.access_token, &path).await.expect(302));
        let to = world.finish_provider_sign_in(state.query("state")).await;
        assert!(to.fragment.contains_key(parameter), "{to:?}");
    }
    let user = world.get_as(&ann.access_token, "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("identities/1/provider")), (ANN, "github"));
}

#[tokio::test]
async fn manual_linking_to_a_deleted_user_is_refused() {
    let (world, _) = world().await;
    let ann = world.create_user(ANN).await;
    let start = world.get_as(&ann.access_token, "/user/identities/authorize?provider=github").await.expect(302);
    let admin = format!("Bearer {}", world.service_token());
    let path = format!("/admin/users/{}", ann.id);
    world.request(http::Method::DELETE, &path, &[("authorization", &admin)], None).await.expect(200);
    let state = RedirectTarget::from_response(&start).query("state").to_owned();
    let answer = world.get(&format!("/callback?state={state}&code=c")).await.expect(500);
    assert_eq!(answer.str("msg"), "Internal Server Error");
}

#[tokio::test]
async fn invitation_is_accepted_only_with_the_invited_email() {
    let (world, provider) = world().await;
    world.post_as(&world.service_token(), "/invite", json!({"email": ANN})).await.expect(200);
    let link = world.link(ANN);
    let hash = link.split(['?', '&']).find_map(|pair| pair.strip_prefix("token=")).expect("the link has a hash");
    let query = format!("github&invite_token={hash}");
    provider.add_github_user(1, "bob@example.com", true);
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in(&query).await).await;
    assert_eq!(to.query("error_code"), "validation_failed");
    provider.add_github_user(2, ANN, true);
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in(&query).await).await;
    let user = world.get_as(to.fragment("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("email"), ANN);
    let again = world.get(&format!("/authorize?provider={query}")).await;
    assert_eq!(again.refusal(), (404, "user_not_found"));
}

#[tokio::test]
async fn callback_accepts_form_post() {
    let (world, _) = world().await;
    let state = world.start_provider_sign_in("github").await;
    let answer = world.send(posted(&format!("state={state}&code=posted"))).await.expect(302);
    assert!(!RedirectTarget::from_response(&answer).fragment("access_token").is_empty());
    assert_eq!((answer.header("content-type"), &*answer.text), ("", ""));
    let answer = world.send(posted("code=posted")).await.expect(303);
    assert_eq!(RedirectTarget::from_response(&answer).query("error_code"), "bad_oauth_callback");
    assert_eq!(answer.refusal(), (303, "bad_oauth_callback"));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn configured_redirect_uri_takes_precedence() {
    let provider = gotrue_rs::testing::FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let change = |policy: &mut gotrue_rules::domain::policy::Policy| {
        "https://always.example.com/in".clone_into(&mut policy.external.redirect_url);
    };
    let world: World = super::builder(&provider).policy(change).build().await;
    let state = world.start_provider_sign_in("github&redirect_to=https%3A%2F%2Fapp.example.com%2Fback").await;
    assert_eq!(world.finish_provider_sign_in(&state).await.base, "https://always.example.com/in");
}

#[tokio::test]
async fn state_is_checked_before_method_and_path() {
    let (world, _) = world().await;
    let state = world.start_provider_sign_in("github").await;
    for (method, path) in [
        (Method::HEAD, "/callback"),
        (Method::PUT, "/callback"),
        (Method::OPTIONS, "/callback/"),
        (Method::DELETE, "/callback/x"),
        (Method::GET, "/callback/x/y"),
    ] {
        let has_body = !matches!(method, Method::GET | Method::HEAD);
        for (query, code) in [("", "bad_oauth_callback"), ("?state=x", "bad_oauth_state")] {
            let answer = world.request(method.clone(), &format!("{path}{query}"), &[], None).await.expect(303);
            let to = RedirectTarget::from_response(&answer);
            assert_eq!((to.query("error"), to.query("error_code")), ("invalid_request", code), "{method} {path}");
            assert_eq!(answer.text.contains(code), has_body, "{method} {path}");
        }
        let expected = if path == "/callback" || path == "/callback/" { 405 } else { 404 };
        world.request(method, &format!("{path}?state={state}"), &[], None).await.expect(expected);
    }
    world.get("/callbacks").await.expect(404);
    world.finish_provider_sign_in(&state).await;
}
