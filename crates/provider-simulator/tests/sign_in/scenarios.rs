//! Every scenario at least once, up to what the client gets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use gotrue_rs::testing::RedirectTarget;
use gotrue_rules::domain::policy::ExternalProviderSettings;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{CALLBACK, Response, Trial};

const NO_PROFILE: &str = "Error getting user profile from external provider";

fn scenario(name: &str) -> Value {
    json!({ "scenario": name })
}

/// Exchanges a refresh token, as an app does with `provider_refresh_token`.
async fn refresh(trial: &Trial, provider: &str, url: &str, token: &str) -> Response {
    let settings = trial.settings(provider);
    let credentials = STANDARD.encode(format!("{}:{}", settings.client_ids[0], settings.secret.reveal()));
    let form = format!("grant_type=refresh_token&refresh_token={token}");
    let headers = [("authorization", &*format!("Basic {credentials}"))];
    trial.send(Method::POST, &settings.request_url(url), &headers, &form).await
}

#[tokio::test]
async fn denial_and_errors_reach_the_app() {
    let trial = Trial::new().await;
    let back = trial.sign_in_as("google", &scenario("denied")).await;
    assert_eq!((back.query("error"), back.fragment("access_token")), ("access_denied", ""));
    let error = json!({"error": "temporarily_unavailable", "error_description": "Try again"});
    let back = trial.sign_in_as("github", &error).await;
    assert_eq!((back.query("error"), back.query("error_description")), ("temporarily_unavailable", "Try again"));
    let back = trial.sign_in_as("twitter", &scenario("denied")).await;
    assert_eq!(back.query("error_description"), "Unable to retrieve access token");
}

#[tokio::test]
async fn scenario_is_used_up_by_one_sign_in() {
    let trial = Trial::new().await;
    trial.set_next("google", &scenario("denied"));
    let hinted = "&prompt=none&login_hint=ann";
    // It is not for other providers.
    assert!(!trial.sign_in("github", hinted).await.fragment("access_token").is_empty());
    assert_eq!(trial.sign_in("google", hinted).await.query("error"), "access_denied");
    assert!(!trial.sign_in("google", hinted).await.fragment("access_token").is_empty());
    // The latest one counts.
    trial.set_next("google", &scenario("denied"));
    let back = trial.sign_in_as("google", &json!({"email": "zoe@example.com"})).await;
    assert_eq!(trial.user(&back).await.str("email"), "zoe@example.com");
}

#[tokio::test]
async fn missing_email_is_refused_unless_optional() {
    let trial = Trial::with(|policy| {
        let settings = ExternalProviderSettings { enabled: true, ..Default::default() };
        policy.external.providers.insert("github".to_owned(), settings);
    })
    .await;
    let back = trial.sign_in_as("github", &scenario("missing_email")).await;
    assert_eq!(back.query("error_description"), "Error getting user email from external provider");
    let back = trial.sign_in_as("google", &scenario("missing_email")).await;
    assert_eq!(trial.user(&back).await.str("email"), "");
}

#[tokio::test]
async fn changed_and_shared_emails_lead_to_the_same_user() {
    let trial = Trial::new().await;
    let first = trial.user(&trial.sign_in("github", "&prompt=none&login_hint=ann").await).await;
    let changed = trial.user(&trial.sign_in_as("github", &scenario("changed_email")).await).await;
    assert_eq!(changed.str("id"), first.str("id"));
    assert_eq!(changed.str("identities/0/identity_data/email"), "changed.ann@example.com");
    let shared = trial.user(&trial.sign_in_as("github", &scenario("shared_email")).await).await;
    assert_eq!(shared.str("id"), first.str("id"));
    let ids: Vec<_> =
        shared.json["identities"].as_array().expect("identities").iter().map(|identity| &identity["id"]).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn relay_address_of_apple_is_marked_private() {
    let trial = Trial::new().await;
    let user = trial.user(&trial.sign_in_as("apple", &scenario("relay_email")).await).await;
    assert!(user.str("email").ends_with("@privaterelay.appleid.com"), "{}", user.text);
    assert_eq!(user.json["identities"][0]["identity_data"]["custom_claims"]["is_private_email"], true);
}

#[tokio::test]
async fn failing_token_endpoint_ends_the_sign_in() {
    let trial = Trial::new().await;
    for provider in ["google", "github", "slack", "facebook", "kakao"] {
        for name in ["expired_code", "malformed_response", "server_error"] {
            let back = trial.sign_in_as(provider, &scenario(name)).await;
            let reported = back.query("error_description");
            assert!(reported.starts_with("Unable to exchange external code: "), "{provider} {name}: {back:?}");
        }
    }
    for name in ["expired_code", "malformed_response", "server_error"] {
        let back = trial.sign_in_as("twitter", &scenario(name)).await;
        assert_eq!(back.query("error_description"), "Unable to retrieve access token", "{name}");
    }
}

#[tokio::test]
async fn bad_signature_of_id_token_is_refused() {
    let trial = Trial::new().await;
    for provider in ["google", "apple", "azure", "linkedin_oidc", "vercel_marketplace"] {
        let back = trial.sign_in_as(provider, &scenario("bad_signature")).await;
        assert_eq!(back.query("error_description"), NO_PROFILE, "{provider}");
        assert!(!trial.sign_in_as(provider, &json!({"email": "a@example.com"})).await.fragment.is_empty());
    }
}

#[tokio::test]
async fn slow_response_arrives_after_its_delay() {
    let trial = Trial::new().await;
    trial.set_next("google", &json!({"scenario": "slow_response", "delay_ms": 3000}));
    let signing_in = trial.sign_in("google", "");
    let waiting = async {
        trial.clock.wait_for_sleeps(1).await;
        trial.clock.advance(TimeDelta::milliseconds(3000));
    };
    let (back, ()): (RedirectTarget, ()) = tokio::join!(signing_in, waiting);
    assert_eq!(trial.user(&back).await.str("email"), "ann@example.com");
}

#[tokio::test]
async fn refresh_token_is_exchanged_unless_revoked() {
    const TOKEN: &str = "https://accounts.google.com/token";
    let trial = Trial::new().await;
    let back = trial.sign_in_as("google", &json!({"email": "a@example.com"})).await;
    let refreshed = refresh(&trial, "google", TOKEN, back.fragment("provider_refresh_token")).await;
    assert_eq!(refreshed.status, StatusCode::OK, "{}", refreshed.text);
    assert!(refreshed.json["access_token"].is_string() && refreshed.json["refresh_token"].is_string());
    let back = trial.sign_in_as("google", &scenario("revoked_refresh_token")).await;
    assert!(!back.fragment("access_token").is_empty(), "the sign-in itself succeeds");
    let refused = refresh(&trial, "google", TOKEN, back.fragment("provider_refresh_token")).await;
    assert_eq!((refused.status, &refused.json["error"]), (StatusCode::BAD_REQUEST, &json!("invalid_grant")));
}

#[tokio::test]
async fn code_of_the_simulator_expires_by_its_clock() {
    let trial = Trial::new().await;
    let url = trial.start("google", "&prompt=none&login_hint=ann").await;
    let response = trial.send(Method::GET, &url, &[], "").await;
    assert!(response.location().starts_with(CALLBACK));
    trial.advance(TimeDelta::minutes(2));
    let back = trial.return_from(&response).await;
    assert!(back.query("error_description").starts_with("Unable to exchange external code: "), "{back:?}");
}
