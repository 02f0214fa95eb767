//! What is tried at an OAuth server. Worlds are as served, unless the test says otherwise.

use std::collections::BTreeSet;

use gotrue_rs::routes::list_routes;
use gotrue_rs::testing::{CALLBACK, CHALLENGE, OAuthClient, VERIFIER, World, encode_form, parse_query};
use gotrue_rules::domain::oauth_server::confinement;
use http::Method;
use platform::testing::Answer;
use serde_json::json;
use uuid::Uuid;

const ANN: &str = "ann@example.com";
const EVE: &str = "eve@example.com";

pub(super) async fn served() -> World {
    World::builder().as_served().with_oauth_server().build().await
}

pub(super) async fn recorded() -> World {
    World::builder().with_oauth_server().build().await
}

pub(super) fn oauth_error(answer: &Answer) -> (&str, &str) {
    (answer.str("error"), answer.str("error_description"))
}

pub(super) async fn deleted(world: &World, token: &str, path: &str) -> Answer {
    world.request(Method::DELETE, path, &[("authorization", &format!("Bearer {token}"))], None).await
}

/// A session of an OAuth client with all scopes.
pub(super) async fn clients_token(world: &World, app: &OAuthClient) -> String {
    let ann = world.sign_in(ANN).await;
    let code = world.obtain_code(app, &ann, "openid email profile phone").await;
    world.exchange_code(app, &code).await.expect(200).str("access_token").to_owned()
}

#[tokio::test]
async fn b7_pkce_is_required() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    for more in [
        [("code_challenge", ""), ("code_challenge_method", "")],
        [("code_challenge", CHALLENGE), ("code_challenge_method", "")],
        [("code_challenge", ""), ("code_challenge_method", "S256")],
        [("code_challenge", VERIFIER), ("code_challenge_method", "plain")],
        [("code_challenge", CHALLENGE), ("code_challenge_method", "none")],
        [("code_challenge", "x"), ("code_challenge_method", "S256")],
    ] {
        let answer = world.get(&app.request(&more)).await.expect(302);
        let query = parse_query(answer.header("location"));
        assert_eq!(query.get("error").map(String::as_str), Some("invalid_request"), "{more:?}");
    }
    let code = world.obtain_code(&app, &ann, "email").await;
    let exchange = |verifier| {
        let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", verifier)];
        let form = encode_form(&members);
        async move { form }
    };
    // Neither none, nor the challenge itself, nor part of the right one.
    for verifier in ["", CHALLENGE, &VERIFIER[..42], &VERIFIER.to_uppercase()] {
        let answer = world.post_form("/oauth/token", &exchange(verifier).await, Some(&app.basic())).await;
        assert_eq!(oauth_error(&answer).0, "invalid_grant", "{verifier}");
    }
    world.exchange_code(&app, &code).await.expect(200);
}

#[tokio::test]
async fn b7_plain_challenge_is_accepted_in_gotrue_mode_and_compared_as_plain() {
    let world = recorded().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path =
        world.request_authorization(&app, &[("code_challenge", CHALLENGE), ("code_challenge_method", "plain")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "approve").await.expect(200);
    let code = parse_query(answer.str("redirect_url"))["code"].clone();
    assert_eq!(oauth_error(&world.exchange_code(&app, &code).await).0, "invalid_grant");
    let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", CHALLENGE)];
    world.request_tokens(&app, &members).await.expect(200);
}

#[tokio::test]
async fn b7_code_is_bound_to_client_and_redirect_and_single_use() {
    let world = served().await;
    let two = json!({"redirect_uris": [CALLBACK, "https://app.example.com/other"]});
    let (app, other) = (world.create_oauth_client(two.clone()).await, world.create_oauth_client(two).await);
    let ann = world.create_user(ANN).await;
    let code = world.obtain_code(&app, &ann, "email").await;
    assert_eq!(
        oauth_error(&world.exchange_code(&other, &code).await),
        ("invalid_grant", "Authorization code was not issued for this client")
    );
    let redirected = |uri| {
        [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER), ("redirect_uri", uri)]
    };
    for uri in ["https://app.example.com/other", "https://evil.example.com/", "https://app.example.com/callback/"] {
        assert_eq!(
            oauth_error(&world.request_tokens(&app, &redirected(uri)).await),
            ("invalid_grant", "Invalid redirect_uri")
        );
    }
    for part in [&code[..35], &code.to_uppercase(), &code.replace('-', ""), &format!("{code} ")] {
        assert_eq!(oauth_error(&world.exchange_code(&app, part).await).0, "invalid_grant", "{part}");
    }
    let tokens = world.request_tokens(&app, &redirected(CALLBACK)).await.expect(200);
    assert_eq!(oauth_error(&world.exchange_code(&app, &code).await), ("invalid_grant", "Invalid authorization code"));
    // The code was intercepted: what it was exchanged for is worth nothing any more (`oauth_server/replay.rs`).
    assert_eq!(oauth_error(&world.refresh_client_session(&app, tokens.str("refresh_token")).await).0, "invalid_grant");
}

#[tokio::test]
async fn b8_client_token_has_limited_access() {
    let world = served().await;
    world.create_user(ANN).await;
    let app = world.create_oauth_client(json!({})).await;
    let mut open = BTreeSet::new();
    for line in list_routes().into_iter().filter(|line| line.guards.contains(&"Caller")) {
        let token = clients_token(&world, &app).await;
        let id = Uuid::from_u128(7).to_string();
        let segment = |segment: &str| if segment.starts_with('{') { id.clone() } else { segment.to_owned() };
        let path = line.path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let headers = [("authorization", &*format!("Bearer {token}"))];
        let body = (line.method != Method::GET).then(|| json!({}));
        let answer = world.request(line.method.clone(), &path, &headers, body).await;
        if answer.status.is_success() {
            open.insert(format!("{} {}", line.method, line.path));
        } else if answer.status != 404 {
            let refused = confinement::client_route_not_allowed();
            assert_eq!(
                (answer.refusal(), answer.str("msg")),
                ((403, "no_authorization"), refused.message()),
                "{line:?}"
            );
        }
    }
    assert_eq!(open.into_iter().collect::<Vec<_>>(), ["GET /oauth/userinfo", "GET /user", "POST /logout"]);
}

#[tokio::test]
async fn b8_client_cannot_extend_scopes_or_revoke_other_sessions() {
    let world = served().await;
    let ann = world.create_user(ANN).await;
    let app = world.create_oauth_client(json!({})).await;
    let code = world.obtain_code(&app, &ann, "email").await;
    let token = world.exchange_code(&app, &code).await.expect(200).str("access_token").to_owned();
    let path = world.request_authorization(&app, &[("scope", "email phone")]).await;
    assert_eq!(world.get_as(&token, &path).await.refusal(), (403, "no_authorization"));
    let consent = world.post_as(&token, &format!("{path}/consent"), json!({"action": "approve"})).await;
    assert_eq!(consent.refusal(), (403, "no_authorization"));
    world.post_as(&token, "/logout?scope=global", json!({})).await.expect(204);
    world.get_as(&token, "/user").await.expect(403);
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn b8_client_token_has_no_admin_role() {
    let world = served().await;
    world.create_user(ANN).await;
    world.database.query("UPDATE auth.users SET role = 'service_role'").await;
    let app = world.create_oauth_client(json!({})).await;
    let token = clients_token(&world, &app).await;
    assert_eq!(world.get_as(&token, "/admin/users").await.refusal(), (403, "not_admin"));
    world.get_as(&world.sign_in(ANN).await.access_token, "/admin/users").await.expect(200);
}

#[tokio::test]
async fn b8_tokens_are_limited_to_client_and_consented_scopes() {
    let world = served().await;
    let ann = world.create_user(ANN).await;
    let (app, other) =
        (world.create_oauth_client(json!({})).await, world.create_oauth_client(json!({"client_type": "public"})).await);
    let code = world.obtain_code(&app, &ann, "openid").await;
    // Neither the exchange nor a refresh widens what was agreed to.
    let more = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("scope", "openid email"),
    ];
    let tokens = world.request_tokens(&app, &more).await.expect(200);
    let id_token = world.app.keys.verify(tokens.str("id_token"), world.now()).expect("a token of ours");
    assert_eq!((id_token["aud"].clone(), id_token.get("email")), (json!(app.id), None));
    let refresh = tokens.str("refresh_token");
    let wider = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("scope", "openid email phone")];
    for unrelated in [world.refresh_client_session(&other, refresh).await, world.refresh(refresh).await] {
        assert_eq!(oauth_error(&unrelated).0, "invalid_client");
    }
    assert_eq!(oauth_error(&world.refresh_client_session(&other, &ann.refresh_token).await).0, "invalid_client");
    let renewed = world.request_tokens(&app, &wider).await.expect(200);
    let claims = world.app.keys.verify(renewed.str("access_token"), world.now()).expect("a token of ours");
    assert_eq!((&claims["scope"], &claims["client_id"]), (&json!("openid"), &json!(app.id)));
    // An ID token opens nothing here: it is no access token.
    let opened = world.get_as(tokens.str("id_token"), "/admin/users").await;
    assert_eq!(opened.refusal(), (403, "not_admin"));
}

#[tokio::test]
async fn a2_redirect_uri_must_match_exactly() {
    let world = served().await;
    let app = world.create_oauth_client(json!({})).await;
    for uri in [
        "https://app.example.com/callback/",
        "https://app.example.com/callback?a=1",
        "https://app.example.com/callback#",
        "https://app.example.com/callback#a",
        "https://app.example.com/callback/../callback",
        "https://app.example.com/%63allback",
        "https://app.example.com/Callback",
        "HTTPS://app.example.com/callback",
        "https://APP.example.com/callback",
        "https://app.example.com:443/callback",
        "http://app.example.com/callback",
        "https://user:pass@app.example.com/callback",
        "https://app.example.com@evil.example/callback",
        "https://app.example.com.evil.example/callback",
        "https://evil.example/?https://app.example.com/callback",
        "https://evil.example\\@app.example.com/callback",
        "//app.example.com/callback",
        "/callback",
        "javascript:alert(1)",
        " https://app.example.com/callback",
        "https://app.example.com/callback ",
        "https://app.example.com/callback\n",
        "https://app.example.com/callback,https://evil.example/",
    ] {
        let answer = world.get(&app.request(&[("redirect_uri", uri)])).await;
        assert_eq!((answer.refusal(), answer.header("location")), ((400, "validation_failed"), ""), "{uri:?}");
    }
}

#[tokio::test]
async fn a2_redirect_uri_with_comma_is_refused() {
    let hidden = "javascript://x/%0aalert(1)";
    let body = || json!({"redirect_uris": [format!("{CALLBACK},{hidden}")]});
    let served = served().await;
    let refused = served.post("/oauth/clients/register", body()).await;
    assert_eq!(refused.refusal(), (400, "validation_failed"));
    let app = served.create_oauth_client(json!({})).await;
    let path = format!("/admin/oauth/clients/{}", app.id);
    assert_eq!(served.put_as(&served.service_token(), &path, body()).await.refusal(), (400, "validation_failed"));
    // One that stands in the table already is redirected to as little.
    served.database.query(&format!("UPDATE auth.oauth_clients SET redirect_uris = '{CALLBACK},{hidden}'")).await;
    assert_eq!(served.get(&app.request(&[("redirect_uri", hidden)])).await.refusal(), (400, "validation_failed"));
    served.get(&app.request(&[])).await.expect(302);

    let recorded = recorded().await;
    let app = OAuthClient::from_registration(&recorded.post("/oauth/clients/register", body()).await.expect(201));
    recorded.get(&app.request(&[("redirect_uri", hidden)])).await.expect(302);
}

#[tokio::test]
async fn a3_duplicate_parameter_is_refused() {
    let (served, recorded) = (served().await, recorded().await);
    for (world, is_careful) in [(&served, true), (&recorded, false)] {
        let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
        for (name, second) in [("client_id", &*app.id), ("redirect_uri", "https://evil.example/")] {
            let answer = world.get(&format!("{}&{}", app.request(&[]), encode_form(&[(name, second)]))).await;
            assert_eq!(answer.status == 400, is_careful, "{name}: {}", answer.text);
            assert!(!answer.header("location").contains("evil"), "{name}");
        }
        for name in ["scope", "state", "code_challenge", "response_type", "nonce", "resource"] {
            let path = format!("{}&{}", app.request(&[(name, "")]), encode_form(&[(name, "x")]));
            let query = parse_query(world.get(&path).await.expect(302).header("location"));
            let is_reported =
                query.get("error_description").is_some_and(|reported| reported.ends_with("given more than once"));
            assert_eq!(is_reported, is_careful, "{name}: {query:?}");
        }
        let code = world.obtain_code(&app, &ann, "email").await;
        let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
        for name in ["code", "client_id", "code_verifier", "grant_type"] {
            let form = format!("{}&{}", encode_form(&members), encode_form(&[(name, "a"), (name, "b")]));
            let answer = world.post_form("/oauth/token", &form, Some(&app.basic())).await;
            if is_careful {
                assert_eq!(oauth_error(&answer), ("invalid_request", &*format!("{name} is given more than once")));
            }
        }
    }
}

#[tokio::test]
async fn a3_authorization_request_is_immutable() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[("scope", "email"), ("state", "s")]).await;
    let evil = "scope=email+phone&redirect_uri=https%3A%2F%2Fevil.example%2F&state=x&client_id=x";
    let shown = world.get_as(&ann.access_token, &format!("{path}?{evil}")).await.expect(200);
    assert_eq!((shown.str("scope"), shown.str("redirect_uri")), ("email", CALLBACK));
    let body = json!({"action": "approve", "scope": "email phone", "redirect_uri": "https://evil.example/"});
    let answer = world.post_as(&ann.access_token, &format!("{path}/consent?{evil}"), body).await.expect(200);
    let target = answer.str("redirect_url");
    assert!(target.starts_with(CALLBACK));
    assert_eq!(parse_query(target)["state"], "s");
}

#[tokio::test]
async fn c6_server_chosen_values_in_registration_are_ignored() {
    let world = served().await;
    let known = world.create_oauth_client(json!({})).await;
    let body = json!({
        "redirect_uris": [CALLBACK], "client_id": known.id, "id": known.id, "client_secret": "chosen",
        "client_secret_hash": "chosen", "registration_type": "manual", "created_at": "2000-01-01T00:00:00Z",
        "registration_access_token": "x", "deleted_at": null, "user_id": Uuid::from_u128(7),
    });
    let made = world.post("/oauth/clients/register", body).await.expect(201);
    assert_ne!(made.str("client_id"), known.id);
    assert_eq!((made.str("registration_type"), made.str("client_secret").len()), ("dynamic", 43));
    assert!(made.str("created_at").starts_with("2026"));
    world.exchange_code(&known, "unknown").await.expect(400);
    let chosen = OAuthClient { secret: "chosen".into(), ..OAuthClient::from_registration(&made) };
    assert_eq!(oauth_error(&world.exchange_code(&chosen, "unknown").await).0, "invalid_client");
    // A dynamically registered client cannot manage clients, not even itself.
    let own = OAuthClient::from_registration(&made);
    let path = format!("/admin/oauth/clients/{}", own.id);
    for authorization in [own.basic(), format!("Bearer {}", own.secret)] {
        let answer = world.request(Method::GET, &path, &[("authorization", &authorization)], None).await;
        assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.text);
    }
}

#[tokio::test]
async fn f2_request_and_grant_of_another_user_are_not_found() {
    let world = served().await;
    let (ann, eve) = (world.create_user(ANN).await, world.create_user(EVE).await);
    let app = world.create_oauth_client(json!({})).await;
    let path = world.request_authorization(&app, &[]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let unknown = world.get_as(&eve.access_token, "/oauth/authorizations/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").await;
    let anothers = world.get_as(&eve.access_token, &path).await;
    assert_eq!((anothers.status, &anothers.text), (unknown.status, &unknown.text));
    for action in ["approve", "deny"] {
        assert_eq!(world.consent(&eve, &path, action).await.text, unknown.text);
    }
    world.consent(&ann, &path, "approve").await.expect(200);
    let grant = format!("/user/oauth/grants?client_id={}", app.id);
    let foreign = deleted(&world, &eve.access_token, &format!("{grant}&user_id={}", ann.id)).await;
    assert_eq!(foreign.refusal(), (404, "oauth_consent_not_found"));
    assert_eq!(world.get_as(&eve.access_token, "/user/oauth/grants").await.expect(200).json, json!([]));
    assert_eq!(
        world.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200).json[0]["client"]["id"],
        json!(app.id)
    );
}
