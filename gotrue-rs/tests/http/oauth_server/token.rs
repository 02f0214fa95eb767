//! `POST /oauth/token` and what its tokens open.

use std::sync::Arc;

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::{CALLBACK, OAuthClient, VERIFIER, World};
use platform::testing::Answer;
use serde_json::{Map, Value, json};

use super::{ANN, world, world_of_profile, world_with};

/// What a refusal in the form of OAuth says.
fn oauth_error(answer: &Answer) -> (&str, &str) {
    assert_eq!(answer.status, 400, "{}", answer.text);
    (answer.str("error"), answer.str("error_description"))
}

/// The names of an answer's members, sorted.
fn members(answer: &Answer) -> Vec<&str> {
    let mut names: Vec<&str> = answer.json.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn claims(world: &World, token: &str) -> Arc<Map<String, Value>> {
    world.app.keys.verify(token, world.now()).expect("a token of ours")
}

#[tokio::test]
async fn code_exchange_opens_a_session_of_the_client() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email profile").await;
    let answer = world.exchange_code(&app, &code).await.expect(200);
    assert_eq!(members(&answer), ["access_token", "expires_in", "refresh_token", "token_type"]);
    let claims = claims(&world, answer.str("access_token"));
    assert_eq!((&claims["client_id"], &claims["scope"]), (&json!(app.id), &json!("email profile")));
    assert_eq!(
        (&claims["sub"], &claims["amr"][0]["method"]),
        (&json!(ann.id), &json!("oauth_provider/authorization_code"))
    );
    assert_ne!(answer.header("sb-auth-session-id"), ann.session);
    let row =
        format!("SELECT concat(scopes, oauth_client_id = '{}') FROM auth.sessions WHERE scopes IS NOT NULL", app.id);
    assert_eq!(world.database.query(&row).await, ["email profilet"]);
}

#[tokio::test]
async fn concurrent_exchanges_succeed_once() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    let answers = join_all((0..8).map(|_| world.exchange_code(&app, &code))).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    assert!(lost.iter().all(|answer| oauth_error(answer) == ("invalid_grant", "Invalid authorization code")));
    let sessions = "SELECT count(*)::text FROM auth.sessions WHERE oauth_client_id IS NOT NULL";
    assert_eq!(world.database.query(sessions).await, ["1"]);
}

#[tokio::test]
async fn every_client_authentication_method_works_with_form_and_json() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = world.create_oauth_client(json!({"token_endpoint_auth_method": method})).await;
        let code = world.obtain_code(&app, &ann, "email").await;
        let mut body = json!({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER,
                              "redirect_uri": CALLBACK});
        let mut headers = vec![("content-type", "application/json; charset=utf-8")];
        let basic = app.basic();
        match method {
            "client_secret_basic" => headers.push(("authorization", &basic)),
            _ => body["client_id"] = json!(app.id),
        }
        if method == "client_secret_post" {
            body["client_secret"] = json!(app.secret);
        }
        let tokens = world.request(http::Method::POST, "/oauth/token", &headers, Some(body)).await.expect(200);
        let form = [("grant_type", "refresh_token"), ("refresh_token", tokens.str("refresh_token"))];
        let answer = if method == "client_secret_post" {
            let more = [("client_id", &*app.id), ("client_secret", &app.secret)];
            world.post_form("/oauth/token", &gotrue_rs::testing::encode_form(&[&form[..], &more].concat()), None).await
        } else {
            world.request_tokens(&app, &form).await
        };
        answer.expect(200);
    }
}

#[tokio::test]
async fn unknown_client_in_authorization_header_is_refused() {
    let world = world().await;
    let unknown = OAuthClient { id: String::new(), secret: String::new() };
    let answer = world.post_form("/oauth/token", "grant_type=refresh_token", Some(&unknown.basic())).await;
    assert_eq!(oauth_error(&answer), ("invalid_client", "Client authentication required"));
    let answer = world.post_form("/oauth/token", "", Some(&unknown.basic())).await;
    assert_eq!(oauth_error(&answer), ("invalid_request", "grant_type is required"));
}

#[tokio::test]
async fn expired_code_and_banned_user_are_refused() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let (late, banned) = (world.obtain_code(&app, &ann, "email").await, world.obtain_code(&app, &ann, "email").await);
    world
        .put_as(&world.service_token(), &format!("/admin/users/{}", ann.id), json!({"ban_duration": "1h"}))
        .await
        .expect(200);
    assert_eq!(oauth_error(&world.exchange_code(&app, &banned).await), ("access_denied", "User is banned"));
    world.advance(TimeDelta::minutes(10) + TimeDelta::microseconds(1));
    assert_eq!(
        oauth_error(&world.exchange_code(&app, &late).await),
        ("invalid_grant", "Authorization code has expired")
    );
}

#[tokio::test]
async fn id_token_has_client_audience_and_nonce() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[("scope", "openid email"), ("nonce", "n-0S6")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "approve").await.expect(200);
    let query = gotrue_rs::testing::parse_query(answer.str("redirect_url"));
    let answer = world.exchange_code(&app, &query["code"]).await.expect(200);
    let claims = claims(&world, answer.str("id_token"));
    assert_eq!((&claims["aud"], &claims["nonce"], &claims["sub"]), (&json!(app.id), &json!("n-0S6"), &json!(ann.id)));
    assert_eq!((&claims["email"], &claims["auth_time"]), (&json!(ANN), &json!(world.now().timestamp())));
    assert_eq!(claims["iss"], json!("http://auth.example.com"));
    let renewed = world.refresh_client_session(&app, answer.str("refresh_token")).await.expect(200);
    assert!(renewed.json.get("id_token").is_none());
}

#[tokio::test]
async fn openid_scope_requires_an_asymmetric_key() {
    let world = World::with(|policy| {
        policy.oauth_server.enabled = true;
        "/consent".clone_into(&mut policy.oauth_server.authorization_path);
    })
    .await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "openid").await;
    let answer = world.exchange_code(&app, &code).await.expect(500);
    assert_eq!(answer.str("msg"), "Error generating ID token");
    let sessions = "SELECT count(*)::text FROM auth.sessions WHERE oauth_client_id IS NOT NULL";
    assert_eq!(world.database.query(sessions).await, ["0"]);
    let code = world.obtain_code(&app, &ann, "email").await;
    world.exchange_code(&app, &code).await.expect(200);
}

#[tokio::test]
async fn refresh_keeps_client_and_scopes_with_one_statement_besides_client_lookup() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    let first = world.exchange_code(&app, &code).await.expect(200);
    let second = world.refresh_client_session(&app, first.str("refresh_token")).await.expect(200);
    assert_eq!(world.journal().statements(), ["oauth_clients.by_id", "refresh_tokens.rotate_fast"]);
    let claims = claims(&world, second.str("access_token"));
    assert_eq!((&claims["client_id"], &claims["scope"]), (&json!(app.id), &json!("email")));
    assert_ne!(first.str("refresh_token"), second.str("refresh_token"));
}

#[tokio::test]
async fn version_2_tokens_belong_to_the_client() {
    let world = world_with(|policy| policy.refresh.algorithm_version = 2).await;
    let (app, other, ann) = (
        world.create_oauth_client(json!({})).await,
        world.create_oauth_client(json!({})).await,
        world.create_user(ANN).await,
    );
    let code = world.obtain_code(&app, &ann, "email").await;
    let token = world.exchange_code(&app, &code).await.expect(200).str("refresh_token").to_owned();
    assert_eq!(oauth_error(&world.refresh_client_session(&other, &token).await).0, "invalid_client");
    assert_eq!(oauth_error(&world.refresh(&token).await).0, "invalid_client");
    world.refresh_client_session(&app, &token).await.expect(200);
}

#[tokio::test]
async fn hardened_errors_use_oauth_codes() {
    for is_served in [false, true] {
        let world = world_of_profile(is_served).await;
        let app = world.create_oauth_client(json!({})).await;
        let wrong = world.refresh_client_session(&app, "unknown-token").await;
        let unrelated = OAuthClient { secret: "guessed".to_owned(), ..app };
        let guessed = world.refresh_client_session(&unrelated, "unknown-token").await;
        if is_served {
            assert_eq!(oauth_error(&wrong).0, "invalid_grant");
            assert_eq!(oauth_error(&guessed), ("invalid_client", "invalid client credentials"));
        } else {
            assert_eq!(wrong.refusal(), (400, "refresh_token_not_found"));
            assert_eq!(guessed.refusal(), (400, "invalid_credentials"));
        }
    }
}

#[tokio::test]
async fn resource_in_json_must_match_the_authorized_resource() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({"client_type": "public"})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    let body = |resource: &str| {
        json!({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "client_id": app.id,
               "resource": resource})
    };
    let headers = [("content-type", "application/json")];
    let ask = |resource| world.request(http::Method::POST, "/oauth/token", &headers, Some(body(resource)));
    let refused = ask("https://api.example.com/").await;
    assert!(oauth_error(&refused).1.starts_with("Authorization code resource does not match"));
    ask("").await.expect(200);
}

#[tokio::test]
async fn userinfo_is_limited_to_the_session_scopes() {
    let world = world().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    for (scope, reported) in [
        ("openid", vec!["sub"]),
        ("email", vec!["email", "email_verified", "sub"]),
        ("profile", vec!["name", "sub", "updated_at", "user_metadata"]),
    ] {
        let code = world.obtain_code(&app, &ann, scope).await;
        let tokens = world.exchange_code(&app, &code).await.expect(200);
        let info = world.get_as(tokens.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(members(&info), reported, "{scope}");
    }
    let own = world.get_as(&ann.access_token, "/oauth/userinfo").await.expect(200);
    assert_eq!(own.json, json!({"sub": ann.id}));
}

#[tokio::test]
async fn malformed_refresh_token_is_unknown() {
    let world = world().await;
    let app = world.create_oauth_client(json!({})).await;
    for token in ["x", "abcdefghijkl", "ABCDEFGHIJKL", "a-token-of-no-form-that-there-is"] {
        assert_eq!(
            world.refresh_client_session(&app, token).await.refusal(),
            (400, "refresh_token_not_found"),
            "{token}"
        );
    }
}
