//! `GET /oauth/authorize`.

use gotrue_rs::testing::{CALLBACK, parse_query};
use serde_json::json;

use super::{world, world_with};

#[tokio::test]
async fn authorize_redirects_to_the_consent_page() {
    let world = world_with(|policy| "http://shop.example.com/".clone_into(&mut policy.site.site_url)).await;
    let app = world.create_oauth_client(json!({})).await;
    let answer = world.get(&app.request(&[("state", "s"), ("nonce", "n")])).await.expect(302);
    let (page, name) = answer.header("location").split_once("?authorization_id=").expect("a page with a name");
    assert_eq!((page, name.len()), ("http://shop.example.com/consent", 32));
    let stored = "SELECT concat_ws('|', state, nonce, scope, status, user_id) FROM auth.oauth_authorizations";
    assert_eq!(world.database.query(stored).await, ["s|n|email|pending"]);
}

#[tokio::test]
async fn unregistered_redirect_uri_is_never_redirected_to() {
    let world = world().await;
    let (app, other) = (
        world.create_oauth_client(json!({})).await,
        world.create_oauth_client(json!({"redirect_uris": ["myapp://a"]})).await,
    );
    for (member, value, code) in [
        ("client_id", "", "validation_failed"),
        ("redirect_uri", "", "validation_failed"),
        ("client_id", "shop", "oauth_client_not_found"),
        ("client_id", "00000000-0000-4000-8000-000000000000", "oauth_client_not_found"),
        ("client_id", &other.id, "validation_failed"),
        ("redirect_uri", "myapp://a", "validation_failed"),
        ("redirect_uri", "https://app.example.com/callback/", "validation_failed"),
    ] {
        let answer = world.get(&app.request(&[(member, value), ("response_type", "token")])).await;
        assert_eq!(answer.refusal(), (400, code), "{member}={value}");
        assert_eq!(answer.header("location"), "");
    }
}

#[tokio::test]
async fn other_errors_are_redirected_with_state() {
    let world = world().await;
    let app =
        world.create_oauth_client(json!({"redirect_uris": ["https://app.example.com/cb?keep=1&state=mine"]})).await;
    let redirect = ("redirect_uri", "https://app.example.com/cb?keep=1&state=mine");
    for (member, value, error) in [
        ("response_type", "token", "invalid_request"),
        ("scope", "email admin", "invalid_request"),
        ("resource", "shop", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge_method", "S512", "invalid_request"),
        ("nonce", &"n".repeat(256), "server_error"),
    ] {
        let answer = world.get(&app.request(&[redirect, (member, value), ("state", "a b&c=d")])).await.expect(302);
        let query = parse_query(answer.header("location"));
        assert!(answer.header("location").starts_with("https://app.example.com/cb?"));
        assert_eq!((&*query["error"], &*query["keep"], &*query["state"]), (error, "1", "a b&c=d"), "{member}");
    }
    assert_eq!(world.database.query("SELECT count(*)::text FROM auth.oauth_authorizations").await, ["0"]);
}

#[tokio::test]
async fn missing_consent_page_is_reported_to_the_client() {
    let world = world_with(|policy| policy.oauth_server.authorization_path.clear()).await;
    let app = world.create_oauth_client(json!({})).await;
    let answer = world.get(&app.request(&[])).await.expect(302);
    let query = parse_query(answer.header("location"));
    assert!(answer.header("location").starts_with(CALLBACK));
    assert_eq!((&*query["error"], query.get("state")), ("server_error", None));
}

#[tokio::test]
async fn built_in_consent_page_is_used_by_default() {
    let offered = "https://auth.example.com/ask";
    for (path, page) in [("", offered), ("/consent", "http://localhost:3000/consent")] {
        let world = world_with(|policy| {
            path.clone_into(&mut policy.oauth_server.authorization_path);
            offered.clone_into(&mut policy.oauth_server.consent_page);
            "http://localhost:3000".clone_into(&mut policy.site.site_url);
        })
        .await;
        let app = world.create_oauth_client(json!({})).await;
        let answer = world.get(&app.request(&[])).await.expect(302);
        let (asking, _) = answer.header("location").split_once("?authorization_id=").expect("a page with a name");
        assert_eq!(asking, page);
    }
}

#[tokio::test]
async fn authorize_sends_two_statements() {
    let world = world().await;
    let app = world.create_oauth_client(json!({})).await;
    world.get(&app.request(&[])).await.expect(302);
    assert_eq!(world.journal().statements(), ["oauth_clients.by_id", "oauth_authorizations.insert"]);
}
