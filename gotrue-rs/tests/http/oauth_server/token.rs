//! `POST /oauth/token` and what its tokens open.

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::{Answer, CALLBACK, OAuthApp, VERIFIER, World};
use serde_json::{Map, Value, json};

use super::{ANN, world, world_with};

/// What a refusal in the form of OAuth says.
fn said(answer: &Answer) -> (&str, &str) {
    assert_eq!(answer.status, 400, "{}", answer.text);
    (answer.str("error"), answer.str("error_description"))
}

/// The names of an answer's members, sorted.
fn members(answer: &Answer) -> Vec<&str> {
    let mut names: Vec<&str> = answer.json.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn claims(world: &World, token: &str) -> Map<String, Value> {
    world.app.keys.verify(token, world.now()).expect("a token of ours")
}

#[tokio::test]
async fn a_code_opens_a_session_that_is_the_clients() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email profile").await;
    let answer = world.exchange(&app, &code).await.expect(200);
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
async fn of_many_exchanges_at_once_one_wins() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email").await;
    let answers = join_all((0..8).map(|_| world.exchange(&app, &code))).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    assert!(lost.iter().all(|answer| said(answer) == ("invalid_grant", "Invalid authorization code")));
    let sessions = "SELECT count(*)::text FROM auth.sessions WHERE oauth_client_id IS NOT NULL";
    assert_eq!(world.database.query(sessions).await, ["1"]);
}

#[tokio::test]
async fn every_way_to_prove_oneself_works_in_a_form_and_in_json() {
    let world = world().await;
    let ann = world.person(ANN).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = world.oauth_app(json!({"token_endpoint_auth_method": method})).await;
        let code = world.code_for(&app, &ann, "email").await;
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
            world.post_form("/oauth/token", &gotrue_rs::testing::encoded(&[&form[..], &more].concat()), None).await
        } else {
            world.ask_tokens(&app, &form).await
        };
        answer.expect(200);
    }
}

#[tokio::test]
async fn a_header_that_names_nobody_is_no_client() {
    let world = world().await;
    let nobody = OAuthApp { id: String::new(), secret: String::new() };
    let answer = world.post_form("/oauth/token", "grant_type=refresh_token", Some(&nobody.basic())).await;
    assert_eq!(said(&answer), ("invalid_client", "Client authentication required"));
    let answer = world.post_form("/oauth/token", "", Some(&nobody.basic())).await;
    assert_eq!(said(&answer), ("invalid_request", "grant_type is required"));
}

#[tokio::test]
async fn a_code_that_comes_too_late_is_refused_and_so_is_a_banned_account() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let (late, banned) = (world.code_for(&app, &ann, "email").await, world.code_for(&app, &ann, "email").await);
    world
        .put_as(&world.service_token(), &format!("/admin/users/{}", ann.id), json!({"ban_duration": "1h"}))
        .await
        .expect(200);
    assert_eq!(said(&world.exchange(&app, &banned).await), ("access_denied", "User is banned"));
    world.advance(TimeDelta::minutes(10) + TimeDelta::microseconds(1));
    assert_eq!(said(&world.exchange(&app, &late).await), ("invalid_grant", "Authorization code has expired"));
}

#[tokio::test]
async fn an_id_token_is_for_the_client_and_carries_its_nonce() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[("scope", "openid email"), ("nonce", "n-0S6")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "approve").await.expect(200);
    let query = gotrue_rs::testing::query_of(answer.str("redirect_url"));
    let answer = world.exchange(&app, &query["code"]).await.expect(200);
    let claims = claims(&world, answer.str("id_token"));
    assert_eq!((&claims["aud"], &claims["nonce"], &claims["sub"]), (&json!(app.id), &json!("n-0S6"), &json!(ann.id)));
    assert_eq!((&claims["email"], &claims["auth_time"]), (&json!(ANN), &json!(world.now().timestamp())));
    assert_eq!(claims["iss"], json!("http://auth.example.com"));
    let renewed = world.refresh_by(&app, answer.str("refresh_token")).await.expect(200);
    assert!(renewed.json.get("id_token").is_none());
}

#[tokio::test]
async fn what_nobody_else_could_check_is_not_signed_and_opens_no_session() {
    let world = World::with(|policy| {
        policy.oauth_server.enabled = true;
        "/consent".clone_into(&mut policy.oauth_server.authorization_path);
    })
    .await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "openid").await;
    let answer = world.exchange(&app, &code).await.expect(500);
    assert_eq!(answer.str("msg"), "Error generating ID token");
    let sessions = "SELECT count(*)::text FROM auth.sessions WHERE oauth_client_id IS NOT NULL";
    assert_eq!(world.database.query(sessions).await, ["0"]);
    let code = world.code_for(&app, &ann, "email").await;
    world.exchange(&app, &code).await.expect(200);
}

#[tokio::test]
async fn a_refresh_keeps_client_and_scopes_and_is_one_statement_beside_the_clients() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email").await;
    let first = world.exchange(&app, &code).await.expect(200);
    let second = world.refresh_by(&app, first.str("refresh_token")).await.expect(200);
    assert_eq!(world.journal().statements(), ["oauth_clients.by_id", "refresh_tokens.rotate_fast"]);
    let claims = claims(&world, second.str("access_token"));
    assert_eq!((&claims["client_id"], &claims["scope"]), (&json!(app.id), &json!("email")));
    assert_ne!(first.str("refresh_token"), second.str("refresh_token"));
}

#[tokio::test]
async fn tokens_of_version_two_are_the_clients_as_well() {
    let world = world_with(|policy| policy.refresh.algorithm_version = 2).await;
    let (app, other, ann) =
        (world.oauth_app(json!({})).await, world.oauth_app(json!({})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email").await;
    let token = world.exchange(&app, &code).await.expect(200).str("refresh_token").to_owned();
    assert_eq!(said(&world.refresh_by(&other, &token).await).0, "invalid_client");
    assert_eq!(said(&world.refresh(&token).await).0, "invalid_client");
    world.refresh_by(&app, &token).await.expect(200);
}

#[tokio::test]
async fn a_served_client_is_refused_in_the_words_of_oauth() {
    for is_served in [false, true] {
        let world = world_with(|policy| policy.oauth_server.standard_answers = is_served).await;
        let app = world.oauth_app(json!({})).await;
        let wrong = world.refresh_by(&app, "unknown-token").await;
        let stranger = OAuthApp { secret: "guessed".to_owned(), ..app };
        let guessed = world.refresh_by(&stranger, "unknown-token").await;
        if is_served {
            assert_eq!(said(&wrong).0, "invalid_grant");
            assert_eq!(said(&guessed), ("invalid_client", "invalid client credentials"));
        } else {
            assert_eq!(wrong.refusal(), (400, "refresh_token_not_found"));
            assert_eq!(guessed.refusal(), (400, "invalid_credentials"));
        }
    }
}

#[tokio::test]
async fn a_resource_in_json_must_be_the_one_that_was_asked_for() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({"client_type": "public"})).await, world.person(ANN).await);
    let code = world.code_for(&app, &ann, "email").await;
    let body = |resource: &str| {
        json!({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "client_id": app.id,
               "resource": resource})
    };
    let headers = [("content-type", "application/json")];
    let ask = |resource| world.request(http::Method::POST, "/oauth/token", &headers, Some(body(resource)));
    let refused = ask("https://api.example.com/").await;
    assert!(said(&refused).1.starts_with("Authorization code resource does not match"));
    ask("").await.expect(200);
}

#[tokio::test]
async fn userinfo_follows_the_scopes_of_the_session() {
    let world = world().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    for (scope, told) in [
        ("openid", vec!["sub"]),
        ("email", vec!["email", "email_verified", "sub"]),
        ("profile", vec!["name", "sub", "updated_at", "user_metadata"]),
    ] {
        let code = world.code_for(&app, &ann, scope).await;
        let tokens = world.exchange(&app, &code).await.expect(200);
        let info = world.get_as(tokens.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(members(&info), told, "{scope}");
    }
    let own = world.get_as(&ann.access_token, "/oauth/userinfo").await.expect(200);
    assert_eq!(own.json, json!({"sub": ann.id}));
}

#[tokio::test]
async fn a_refresh_token_of_no_form_is_one_that_is_not_known() {
    let world = world().await;
    let app = world.oauth_app(json!({})).await;
    for token in ["x", "abcdefghijkl", "ABCDEFGHIJKL", "a-token-of-no-form-that-there-is"] {
        assert_eq!(world.refresh_by(&app, token).await.refusal(), (400, "refresh_token_not_found"), "{token}");
    }
}
