//! What is tried at an OAuth server. Worlds are as served, unless the test says otherwise.

use std::collections::BTreeSet;

use gotrue_rs::routes::lines;
use gotrue_rs::testing::{Answer, CALLBACK, CHALLENGE, OAuthApp, VERIFIER, World, encoded, query_of};
use gotrue_rules::domain::oauth_server::confinement;
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const ANN: &str = "ann@example.com";
const EVE: &str = "eve@example.com";

async fn served() -> World {
    World::builder().as_served().as_provider().build().await
}

async fn recorded() -> World {
    World::builder().as_provider().build().await
}

fn said(answer: &Answer) -> (&str, &str) {
    (answer.str("error"), answer.str("error_description"))
}

async fn deleted(world: &World, token: &str, path: &str) -> Answer {
    world.request(Method::DELETE, path, &[("authorization", &format!("Bearer {token}"))], None).await
}

/// Somebody's session of a client, with all scopes.
async fn clients_token(world: &World, app: &OAuthApp) -> String {
    let ann = world.sign_in(ANN).await;
    let code = world.code_for(app, &ann, "openid email profile phone").await;
    world.exchange(app, &code).await.expect(200).str("access_token").to_owned()
}

#[tokio::test]
async fn b7_there_is_no_way_without_a_verifier() {
    let world = served().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    for more in [
        [("code_challenge", ""), ("code_challenge_method", "")],
        [("code_challenge", CHALLENGE), ("code_challenge_method", "")],
        [("code_challenge", ""), ("code_challenge_method", "S256")],
        [("code_challenge", VERIFIER), ("code_challenge_method", "plain")],
        [("code_challenge", CHALLENGE), ("code_challenge_method", "none")],
        [("code_challenge", "x"), ("code_challenge_method", "S256")],
    ] {
        let answer = world.get(&app.request(&more)).await.expect(302);
        let query = query_of(answer.header("location"));
        assert_eq!(query.get("error").map(String::as_str), Some("invalid_request"), "{more:?}");
    }
    let code = world.code_for(&app, &ann, "email").await;
    let exchange = |verifier| {
        let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", verifier)];
        let form = encoded(&members);
        async move { form }
    };
    // Neither none, nor the challenge itself, nor part of the right one.
    for verifier in ["", CHALLENGE, &VERIFIER[..42], &VERIFIER.to_uppercase()] {
        let answer = world.post_form("/oauth/token", &exchange(verifier).await, Some(&app.basic())).await;
        assert_eq!(said(&answer).0, "invalid_grant", "{verifier}");
    }
    world.exchange(&app, &code).await.expect(200);
}

#[tokio::test]
async fn b7_as_recorded_a_plain_challenge_will_do_but_is_no_hash() {
    let world = recorded().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[("code_challenge", CHALLENGE), ("code_challenge_method", "plain")]).await;
    world.get_as(&ann.access_token, &path).await.expect(200);
    let answer = world.consent(&ann, &path, "approve").await.expect(200);
    let code = query_of(answer.str("redirect_url"))["code"].clone();
    assert_eq!(said(&world.exchange(&app, &code).await).0, "invalid_grant");
    let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", CHALLENGE)];
    world.ask_tokens(&app, &members).await.expect(200);
}

#[tokio::test]
async fn b7_a_code_is_bound_to_its_client_and_its_redirect_and_works_once() {
    let world = served().await;
    let two = json!({"redirect_uris": [CALLBACK, "https://app.example.com/other"]});
    let (app, other) = (world.oauth_app(two.clone()).await, world.oauth_app(two).await);
    let ann = world.person(ANN).await;
    let code = world.code_for(&app, &ann, "email").await;
    assert_eq!(
        said(&world.exchange(&other, &code).await),
        ("invalid_grant", "Authorization code was not issued for this client")
    );
    let redirected = |uri| {
        [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER), ("redirect_uri", uri)]
    };
    for uri in ["https://app.example.com/other", "https://evil.example.com/", "https://app.example.com/callback/"] {
        assert_eq!(said(&world.ask_tokens(&app, &redirected(uri)).await), ("invalid_grant", "Invalid redirect_uri"));
    }
    for part in [&code[..35], &code.to_uppercase(), &code.replace('-', ""), &format!("{code} ")] {
        assert_eq!(said(&world.exchange(&app, part).await).0, "invalid_grant", "{part}");
    }
    let tokens = world.ask_tokens(&app, &redirected(CALLBACK)).await.expect(200);
    assert_eq!(said(&world.exchange(&app, &code).await), ("invalid_grant", "Invalid authorization code"));
    // The code was intercepted: what it was exchanged for is worth nothing any more (`oauth_server/replay.rs`).
    assert_eq!(said(&world.refresh_by(&app, tokens.str("refresh_token")).await).0, "invalid_grant");
}

#[tokio::test]
async fn b8_a_clients_token_opens_little_whatever_the_account_may() {
    let world = served().await;
    world.person(ANN).await;
    let app = world.oauth_app(json!({})).await;
    let mut open = BTreeSet::new();
    for line in lines().into_iter().filter(|line| line.guards.contains(&"Caller")) {
        let token = clients_token(&world, &app).await;
        let id = Uuid::from_u128(7).to_string();
        let segment = |it: &str| if it.starts_with('{') { id.clone() } else { it.to_owned() };
        let path = line.path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let headers = [("authorization", &*format!("Bearer {token}"))];
        let body = (line.method != Method::GET).then(|| json!({}));
        let answer = world.request(line.method.clone(), &path, &headers, body).await;
        if answer.status.is_success() {
            open.insert(format!("{} {}", line.method, line.path));
        } else if answer.status != 404 {
            let refused = confinement::refused();
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
async fn b8_a_client_neither_grants_itself_more_nor_signs_its_user_out_elsewhere() {
    let world = served().await;
    let ann = world.person(ANN).await;
    let app = world.oauth_app(json!({})).await;
    let code = world.code_for(&app, &ann, "email").await;
    let token = world.exchange(&app, &code).await.expect(200).str("access_token").to_owned();
    let path = world.asked_by(&app, &[("scope", "email phone")]).await;
    assert_eq!(world.get_as(&token, &path).await.refusal(), (403, "no_authorization"));
    let consent = world.post_as(&token, &format!("{path}/consent"), json!({"action": "approve"})).await;
    assert_eq!(consent.refusal(), (403, "no_authorization"));
    world.post_as(&token, "/logout?scope=global", json!({})).await.expect(204);
    world.get_as(&token, "/user").await.expect(403);
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn b8_an_administrators_role_is_not_lent_to_a_client() {
    let world = served().await;
    world.person(ANN).await;
    world.database.query("UPDATE auth.users SET role = 'service_role'").await;
    let app = world.oauth_app(json!({})).await;
    let token = clients_token(&world, &app).await;
    assert_eq!(world.get_as(&token, "/admin/users").await.refusal(), (403, "not_admin"));
    world.get_as(&world.sign_in(ANN).await.access_token, "/admin/users").await.expect(200);
}

#[tokio::test]
async fn b8_tokens_are_for_the_client_and_the_scopes_that_were_agreed_to() {
    let world = served().await;
    let ann = world.person(ANN).await;
    let (app, other) = (world.oauth_app(json!({})).await, world.oauth_app(json!({"client_type": "public"})).await);
    let code = world.code_for(&app, &ann, "openid").await;
    // Neither the exchange nor a refresh widens what was agreed to.
    let more = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("scope", "openid email"),
    ];
    let tokens = world.ask_tokens(&app, &more).await.expect(200);
    let id_token = world.app.keys.verify(tokens.str("id_token"), world.now()).expect("a token of ours");
    assert_eq!((id_token["aud"].clone(), id_token.get("email")), (json!(app.id), None));
    let refresh = tokens.str("refresh_token");
    let wider = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("scope", "openid email phone")];
    for stranger in [world.refresh_by(&other, refresh).await, world.refresh(refresh).await] {
        assert_eq!(said(&stranger).0, "invalid_client");
    }
    assert_eq!(said(&world.refresh_by(&other, &ann.refresh_token).await).0, "invalid_client");
    let renewed = world.ask_tokens(&app, &wider).await.expect(200);
    let claims = world.app.keys.verify(renewed.str("access_token"), world.now()).expect("a token of ours");
    assert_eq!((&claims["scope"], &claims["client_id"]), (&json!("openid"), &json!(app.id)));
    // An ID token opens nothing here: it is no access token.
    let opened = world.get_as(tokens.str("id_token"), "/admin/users").await;
    assert_eq!(opened.refusal(), (403, "not_admin"));
}

#[tokio::test]
async fn a2_a_browser_goes_to_the_very_text_that_was_registered() {
    let world = served().await;
    let app = world.oauth_app(json!({})).await;
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
async fn a2_no_second_redirect_hides_behind_a_comma() {
    let hidden = "javascript://x/%0aalert(1)";
    let body = || json!({"redirect_uris": [format!("{CALLBACK},{hidden}")]});
    let served = served().await;
    let refused = served.post("/oauth/clients/register", body()).await;
    assert_eq!(refused.refusal(), (400, "validation_failed"));
    let app = served.oauth_app(json!({})).await;
    let path = format!("/admin/oauth/clients/{}", app.id);
    assert_eq!(served.put_as(&served.service_token(), &path, body()).await.refusal(), (400, "validation_failed"));
    // One that stands in the table already is redirected to as little.
    served.database.query(&format!("UPDATE auth.oauth_clients SET redirect_uris = '{CALLBACK},{hidden}'")).await;
    assert_eq!(served.get(&app.request(&[("redirect_uri", hidden)])).await.refusal(), (400, "validation_failed"));
    served.get(&app.request(&[])).await.expect(302);

    let recorded = recorded().await;
    let app = OAuthApp::of(&recorded.post("/oauth/clients/register", body()).await.expect(201));
    recorded.get(&app.request(&[("redirect_uri", hidden)])).await.expect(302);
}

#[tokio::test]
async fn a3_a_parameter_given_twice_is_refused() {
    let (served, recorded) = (served().await, recorded().await);
    for (world, is_careful) in [(&served, true), (&recorded, false)] {
        let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
        for (name, second) in [("client_id", &*app.id), ("redirect_uri", "https://evil.example/")] {
            let answer = world.get(&format!("{}&{}", app.request(&[]), encoded(&[(name, second)]))).await;
            assert_eq!(answer.status == 400, is_careful, "{name}: {}", answer.text);
            assert!(!answer.header("location").contains("evil"), "{name}");
        }
        for name in ["scope", "state", "code_challenge", "response_type", "nonce", "resource"] {
            let path = format!("{}&{}", app.request(&[(name, "")]), encoded(&[(name, "x")]));
            let query = query_of(world.get(&path).await.expect(302).header("location"));
            let is_told = query.get("error_description").is_some_and(|told| told.ends_with("given more than once"));
            assert_eq!(is_told, is_careful, "{name}: {query:?}");
        }
        let code = world.code_for(&app, &ann, "email").await;
        let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
        for name in ["code", "client_id", "code_verifier", "grant_type"] {
            let form = format!("{}&{}", encoded(&members), encoded(&[(name, "a"), (name, "b")]));
            let answer = world.post_form("/oauth/token", &form, Some(&app.basic())).await;
            if is_careful {
                assert_eq!(said(&answer), ("invalid_request", &*format!("{name} is given more than once")));
            }
        }
    }
}

#[tokio::test]
async fn a3_what_was_asked_stays_as_it_was_asked() {
    let world = served().await;
    let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
    let path = world.asked_by(&app, &[("scope", "email"), ("state", "s")]).await;
    let evil = "scope=email+phone&redirect_uri=https%3A%2F%2Fevil.example%2F&state=x&client_id=x";
    let shown = world.get_as(&ann.access_token, &format!("{path}?{evil}")).await.expect(200);
    assert_eq!((shown.str("scope"), shown.str("redirect_uri")), ("email", CALLBACK));
    let body = json!({"action": "approve", "scope": "email phone", "redirect_uri": "https://evil.example/"});
    let answer = world.post_as(&ann.access_token, &format!("{path}/consent?{evil}"), body).await.expect(200);
    let target = answer.str("redirect_url");
    assert!(target.starts_with(CALLBACK));
    assert_eq!(query_of(target)["state"], "s");
}

#[tokio::test]
async fn c6_nobody_chooses_what_only_the_server_may() {
    let world = served().await;
    let known = world.oauth_app(json!({})).await;
    let body = json!({
        "redirect_uris": [CALLBACK], "client_id": known.id, "id": known.id, "client_secret": "chosen",
        "client_secret_hash": "chosen", "registration_type": "manual", "created_at": "2000-01-01T00:00:00Z",
        "registration_access_token": "x", "deleted_at": null, "user_id": Uuid::from_u128(7),
    });
    let made = world.post("/oauth/clients/register", body).await.expect(201);
    assert_ne!(made.str("client_id"), known.id);
    assert_eq!((made.str("registration_type"), made.str("client_secret").len()), ("dynamic", 43));
    assert!(made.str("created_at").starts_with("2026"));
    world.exchange(&known, "unknown").await.expect(400);
    let chosen = OAuthApp { secret: "chosen".into(), ..OAuthApp::of(&made) };
    assert_eq!(said(&world.exchange(&chosen, "unknown").await).0, "invalid_client");
    // Who registers himself manages nothing: not even his own.
    let own = OAuthApp::of(&made);
    let path = format!("/admin/oauth/clients/{}", own.id);
    for authorization in [own.basic(), format!("Bearer {}", own.secret)] {
        let answer = world.request(Method::GET, &path, &[("authorization", &authorization)], None).await;
        assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.text);
    }
}

#[tokio::test]
async fn f2_anothers_request_and_grant_cannot_be_found() {
    let world = served().await;
    let (ann, eve) = (world.person(ANN).await, world.person(EVE).await);
    let app = world.oauth_app(json!({})).await;
    let path = world.asked_by(&app, &[]).await;
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

#[tokio::test]
async fn f5_a_secret_is_told_once_and_kept_as_a_hash() {
    let world = served().await;
    let app = world.oauth_app(json!({})).await;
    let admin = world.service_token();
    let path = format!("/admin/oauth/clients/{}", app.id);
    let shown = [
        world.get_as(&admin, "/admin/oauth/clients").await.expect(200),
        world.get_as(&admin, &path).await.expect(200),
        world.put_as(&admin, &path, json!({"client_name": "New"})).await.expect(200),
        world.exchange(&OAuthApp { secret: "wrong".into(), ..app.clone() }, "unknown").await.expect(400),
    ];
    for answer in &shown {
        let hides = !answer.text.contains(&app.secret) && !answer.text.contains("secret_hash");
        assert!(hides && answer.json.get("client_secret").is_none(), "{}", answer.text);
    }
    let rows = world.database.query("SELECT c::text FROM auth.oauth_clients c").await.concat();
    assert!(!rows.contains(&app.secret), "{rows}");
}

#[tokio::test]
async fn c2_a_deleted_clients_sessions_end_with_it() {
    let (served, recorded) = (served().await, recorded().await);
    for (world, status) in [(&served, 403), (&recorded, 200)] {
        let ann = world.person(ANN).await;
        let (app, other) = (world.oauth_app(json!({})).await, world.oauth_app(json!({})).await);
        let (token, others) = (clients_token(world, &app).await, clients_token(world, &other).await);
        deleted(world, &world.service_token(), &format!("/admin/oauth/clients/{}", app.id)).await.expect(204);
        world.get_as(&token, "/user").await.expect(status);
        world.get_as(&others, "/user").await.expect(200);
        world.get_as(&ann.access_token, "/user").await.expect(200);
    }
}

#[tokio::test]
async fn c5_a_client_proves_itself_in_its_own_way_alone() {
    let world = served().await;
    let secret = world.oauth_app(json!({})).await;
    let public = world.oauth_app(json!({"client_type": "public"})).await;
    let body = |app: &OAuthApp, secret: &str| {
        encoded(&[("grant_type", "refresh_token"), ("client_id", &app.id), ("client_secret", secret)])
    };
    let basic = |id: &str, secret: &str| OAuthApp { id: id.into(), secret: secret.into() }.basic();
    for (form, header) in [
        (body(&secret, ""), None),
        (body(&secret, &secret.secret), None),
        (body(&public, "x"), None),
        (String::new(), Some(basic(&secret.id, ""))),
        (String::new(), Some(basic(&secret.id, &secret.secret[..42]))),
        (String::new(), Some(basic(&secret.id, &format!("{}=", secret.secret)))),
        (String::new(), Some(basic(&public.id, ""))),
        (String::new(), Some(basic(&public.id, &secret.secret))),
        // A wrong header is not made good by a right body.
        (body(&public, ""), Some(basic(&secret.id, "wrong"))),
        (body(&public, ""), Some("Basic !".to_owned())),
    ] {
        let answer = world.post_form("/oauth/token", &form, header.as_deref()).await;
        assert_eq!((answer.status.as_u16(), said(&answer).0), (400, "invalid_client"), "{form} {header:?}");
    }
    let empty: Value = world.refresh_by(&secret, "").await.expect(400).json;
    assert_eq!(empty["error"], json!("invalid_request"));
}
