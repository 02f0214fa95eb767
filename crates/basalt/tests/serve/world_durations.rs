//! Durations of factors, providers, templates and servers of tokens, crossed by the clock of a world.
//!
//! The table of [`super::world_clock`] names these tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use gotrue_rs::testing::identity_provider::{IdentityProvider, SERVICE_KEY};
use gotrue_rs::testing::{DOCUMENT, HookServer, Issuer};
use platform::clock::{Clock, SystemClock};
use provider_simulator::Wallet;
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::bench::{TestServer, World};
use super::world_clock::{advance, code};

const EMAIL: &str = "ann@example.com";

/// Creates a world of the profile `gotrue` whose users need no confirmation.
async fn world(server: &TestServer, mut env: Value) -> World<'_> {
    env["GOTRUE_MAILER_AUTOCONFIRM"] = json!("true");
    server.world(json!({"profile": "gotrue", "env": env})).await
}

fn access_token(session: &Value) -> &str {
    session["access_token"].as_str().unwrap_or_else(|| panic!("no token: {session}"))
}

/// Answers with a template that names its version; returns its URL and the version.
fn serve_template(receiver: &HookServer) -> (String, Arc<AtomicUsize>) {
    let version = Arc::new(AtomicUsize::new(1));
    let current = Arc::clone(&version);
    receiver.respond("/mail.html", move |_| {
        let version = current.load(Ordering::Relaxed);
        let status = if version == 0 { 500 } else { 200 };
        let body = format!("<p>version {version}: {{{{ .Token }}}}</p>");
        axum::http::Response::builder().status(status).body(body.into()).expect("a response")
    });
    (format!("{}/mail.html", receiver.address()), version)
}

/// Sends a recovery mail and returns its HTML.
async fn mail(world: &World<'_>) -> String {
    let (status, refused) = world.auth("/recover", Some(json!({"email": EMAIL}))).await;
    assert_eq!(status, 200, "{refused}");
    let listed = world.ok(Method::GET, "/messages?wait=5", None).await;
    world.ok(Method::DELETE, "/messages", None).await;
    listed["messages"][0]["html"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
}

#[tokio::test]
async fn fetched_templates_are_cached_for_a_while() {
    let (server, receiver) = (TestServer::start(), HookServer::start().await);
    let (url, version) = serve_template(&receiver);
    let world = world(
        &server,
        json!({"GOTRUE_MAILER_TEMPLATES_RECOVERY": url, "GOTRUE_MAILER_TEMPLATE_MAX_AGE": "30m",
               "GOTRUE_SMTP_MAX_FREQUENCY": "1s"}),
    )
    .await;
    world.sign_up(EMAIL).await;
    assert!(mail(&world).await.contains("version 1"));
    version.store(2, Ordering::Relaxed);
    advance(&world, "29m").await;
    assert!(mail(&world).await.contains("version 1"));
    advance(&world, "2m").await;
    assert!(mail(&world).await.contains("version 2"));
}

#[tokio::test]
async fn failed_templates_are_fetched_again_after_a_while() {
    let (server, receiver) = (TestServer::start(), HookServer::start().await);
    let (url, version) = serve_template(&receiver);
    version.store(0, Ordering::Relaxed);
    let world = world(
        &server,
        json!({"GOTRUE_MAILER_TEMPLATES_RECOVERY": url, "GOTRUE_MAILER_TEMPLATE_RETRY_INTERVAL": "5m",
               "GOTRUE_SMTP_MAX_FREQUENCY": "1s"}),
    )
    .await;
    world.sign_up(EMAIL).await;
    assert!(!mail(&world).await.contains("version"), "the built-in text");
    version.store(1, Ordering::Relaxed);
    advance(&world, "4m50s").await;
    assert!(!mail(&world).await.contains("version"));
    advance(&world, "15s").await;
    assert!(mail(&world).await.contains("version 1"));
}

#[tokio::test]
async fn templates_without_use_are_not_fetched_in_the_background() {
    let (server, receiver) = (TestServer::start(), HookServer::start().await);
    let (url, version) = serve_template(&receiver);
    let world = world(
        &server,
        json!({"GOTRUE_MAILER_TEMPLATES_RECOVERY": url, "GOTRUE_MAILER_TEMPLATE_MAX_AGE": "1m",
               "GOTRUE_MAILER_TEMPLATE_RELOADING_ENABLED": "true",
               "GOTRUE_MAILER_TEMPLATE_RELOADING_MAX_IDLE": "30m", "GOTRUE_SMTP_MAX_FREQUENCY": "1s"}),
    )
    .await;
    world.sign_up(EMAIL).await;
    assert!(mail(&world).await.contains("version 1"));
    version.store(2, Ordering::Relaxed);
    advance(&world, "31m").await;
    assert!(mail(&world).await.contains("version 2"), "the mail waits for the text after the pause");
    version.store(3, Ordering::Relaxed);
    advance(&world, "29m").await;
    assert!(mail(&world).await.contains("version 2"), "the text is fetched in the background");
}

#[tokio::test]
async fn unverified_factors_make_room_after_a_while() {
    let server = TestServer::start();
    let world = world(&server, json!({"GOTRUE_MFA_FACTOR_EXPIRY_DURATION": "10m"})).await;
    let session = world.sign_up(EMAIL).await;
    let body = json!({"factor_type": "totp", "friendly_name": "phone"});
    let enroll = || world.auth_as(access_token(&session), "/factors", Some(body.clone()));
    assert_eq!(enroll().await.0, 200);
    advance(&world, "9m50s").await;
    let (status, refused) = enroll().await;
    assert_eq!((status, &refused["error_code"]), (422, &json!("mfa_factor_name_conflict")), "{refused}");
    advance(&world, "15s").await;
    let (status, enrolled) = enroll().await;
    assert_eq!(status, 200, "{enrolled}");
}

#[tokio::test]
async fn codes_of_phone_factors_have_a_pause() {
    let server = TestServer::start();
    let phone = json!({"enroll_enabled": true, "verify_enabled": true, "max_frequency": "60s"});
    let config = json!({"auth": {"mfa": {"phone": phone}, "email": {"enable_confirmations": false}}});
    let world = server.world(json!({"config": config})).await;
    let session = world.sign_up(EMAIL).await;
    let token = access_token(&session);
    let body = json!({"factor_type": "phone", "friendly_name": "phone", "phone": "15550009"});
    let (status, factor) = world.auth_as(token, "/factors", Some(body)).await;
    assert_eq!(status, 200, "{factor}");
    let path = format!("/factors/{}/challenge", factor["id"].as_str().expect("an id"));
    let challenge = || world.auth_as(token, &path, Some(json!({})));
    let (status, challenged) = challenge().await;
    assert_eq!(status, 200, "{challenged}");
    assert_eq!(code(&world, "15550009").await.len(), 6);
    advance(&world, "50s").await;
    assert_eq!(challenge().await.0, 429);
    advance(&world, "15s").await;
    assert_eq!(challenge().await.0, 200);
}

#[tokio::test]
async fn challenges_of_passkeys_expire() {
    const ORIGIN: &str = "http://localhost:3000";
    let server = TestServer::start();
    let world = world(
        &server,
        json!({"GOTRUE_PASSKEY_ENABLED": "true", "GOTRUE_WEBAUTHN_RP_ID": "localhost",
               "GOTRUE_WEBAUTHN_RP_DISPLAY_NAME": "Test", "GOTRUE_WEBAUTHN_RP_ORIGINS": ORIGIN,
               "GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION": "2m"}),
    )
    .await;
    let session = world.sign_up(EMAIL).await;
    let token = access_token(&session);
    for (wait, is_accepted) in [("1m50s", true), ("2m10s", false)] {
        let (status, options) = world.auth_as(token, "/passkeys/registration/options", Some(json!({}))).await;
        assert_eq!(status, 200, "{options}");
        let body = json!({"options": options["options"], "origin": ORIGIN});
        let created = world.ok(Method::POST, "/authenticators/passkeys", Some(body)).await;
        advance(&world, wait).await;
        let body = json!({"challenge_id": options["challenge_id"], "credential": created["credential"]});
        let (status, verified) = world.auth_as(token, "/passkeys/registration/verify", Some(body)).await;
        assert_eq!(status == 200, is_accepted, "{wait}: {verified}");
    }
}

#[tokio::test]
async fn documents_of_issuers_are_cached_for_a_while() {
    let (server, receiver) = (TestServer::start(), HookServer::start().await);
    let issuer = Issuer::served_by(&receiver, "/realms/shop", "client");
    let world = world(
        &server,
        json!({"GOTRUE_EXTERNAL_KEYCLOAK_ENABLED": "true", "GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID": "client",
               "GOTRUE_EXTERNAL_KEYCLOAK_SECRET": "secret", "GOTRUE_EXTERNAL_KEYCLOAK_URL": issuer.url,
               "GOTRUE_EXTERNAL_KEYCLOAK_REDIRECT_URI": "http://localhost/callback",
               "GOTRUE_EXTERNAL_OIDC_PROVIDER_CACHE_TTL": "15m"}),
    )
    .await;
    let mut minutes = 0;
    for (wait, fetches) in [(0, 1), (14, 1), (2, 2)] {
        if wait > 0 {
            advance(&world, &format!("{wait}m")).await;
        }
        minutes += wait;
        let now = SystemClock.now() + TimeDelta::minutes(minutes);
        let body = json!({"provider": "keycloak", "id_token": issuer.user_token(now, EMAIL)});
        let (status, session) = world.auth("/token?grant_type=id_token", Some(body)).await;
        assert_eq!(status, 200, "{session}");
        let fetched = receiver.calls().iter().filter(|call| call.path.ends_with(DOCUMENT)).count();
        assert_eq!(fetched, fetches, "after {minutes} minutes");
    }
}

#[tokio::test]
async fn saml_requests_expire() {
    let server = TestServer::start();
    let world = world(
        &server,
        json!({"GOTRUE_SAML_ENABLED": "true", "GOTRUE_SAML_PRIVATE_KEY": SERVICE_KEY.trim(),
               "GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD": "5m"}),
    )
    .await;
    let metadata = IdentityProvider::new("https://idp.example.com/metadata").metadata("https://idp.example.com/sso");
    let provider = json!({"type": "saml", "metadata_xml": metadata, "domains": ["example.com"]});
    let (status, created) = world.auth_as(world.text("service_role_key"), "/admin/sso/providers", Some(provider)).await;
    assert_eq!(status, 201, "{created}");
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    for (wait, is_late) in [("4m50s", false), ("5m10s", true)] {
        let body = json!({"domain": "example.com", "skip_http_redirect": true});
        let (status, started) = world.auth("/sso", Some(body)).await;
        assert_eq!(status, 200, "{started}");
        let url = started["url"].as_str().expect("a URL");
        let state = url.split("RelayState=").nth(1).and_then(|rest| rest.split('&').next()).expect("a relay state");
        advance(&world, wait).await;
        let acs = format!("{}/auth/v1/sso/saml/acs", world.text("url"));
        let form = format!("SAMLResponse=PHg%2BPC94Pg%3D%3D&RelayState={state}");
        let request = client.post(acs).header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer = request.send().await.expect("an answer");
        let target =
            answer.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let text = format!("{target} {}", answer.text().await.expect("text"));
        assert_eq!(text.contains("saml_relay_state_expired"), is_late, "{wait}: {text}");
    }
}

#[tokio::test]
async fn authorization_requests_expire() {
    let server = TestServer::start();
    let world = world(
        &server,
        json!({"GOTRUE_OAUTH_SERVER_ENABLED": "true", "GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH": "/consent",
               "GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL": "5m"}),
    )
    .await;
    let session = world.sign_up(EMAIL).await;
    let callback = "https://app.example.com/callback";
    let body = json!({"client_name": "App", "redirect_uris": [callback]});
    let (status, app) = world.auth_as(world.text("service_role_key"), "/admin/oauth/clients", Some(body)).await;
    assert_eq!(status, 201, "{app}");
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    let id = app["client_id"].as_str().expect("an id");
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    for (wait, expected) in [("4m50s", 200), ("5m10s", 404)] {
        let url = format!(
            "{}/auth/v1/oauth/authorize?client_id={id}&redirect_uri={callback}&response_type=code\
             &code_challenge={challenge}&code_challenge_method=S256&scope=email",
            world.text("url")
        );
        let answer = client.get(url).send().await.expect("an answer");
        let target = answer.headers()["location"].to_str().expect("text").to_owned();
        let request = target.split("authorization_id=").nth(1).unwrap_or_else(|| panic!("{target}"));
        advance(&world, wait).await;
        let path = format!("/oauth/authorizations/{request}");
        let (status, details) = world.auth_as(access_token(&session), &path, None).await;
        assert_eq!(status, expected, "{wait}: {details}");
    }
}

#[tokio::test]
async fn messages_of_wallets_expire() {
    let server = TestServer::start();
    for (chain, wallet) in [("ETHEREUM", Wallet::ethereum(1)), ("SOLANA", Wallet::solana(1))] {
        let world = world(
            &server,
            json!({format!("GOTRUE_EXTERNAL_WEB3_{chain}_ENABLED"): "true",
                   format!("GOTRUE_EXTERNAL_WEB3_{chain}_MAXIMUM_VALIDITY_DURATION"): "5m",
                   "GOTRUE_URI_ALLOW_LIST": "https://shop.example.com/**"}),
        )
        .await;
        let grant = |nonce: &str| {
            let more = [format!("Nonce: {nonce}")];
            wallet.grant(&wallet.message("shop.example.com", SystemClock.now(), &[&more[0]]))
        };
        let sign_in = |grant: Value| world.auth("/token?grant_type=web3", Some(grant));
        advance(&world, "4m30s").await;
        let (status, session) = sign_in(grant("11111111")).await;
        assert_eq!(status, 200, "{chain}: {session}");
        advance(&world, "1m").await;
        let (status, refused) = sign_in(grant("22222222")).await;
        let description = refused["error_description"].as_str().unwrap_or_default();
        assert!(status == 400 && description.ends_with("issued too long ago"), "{chain}: {status}: {refused}");
    }
}
