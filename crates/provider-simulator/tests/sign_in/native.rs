//! ID tokens for apps that get them without a redirect.

use aws_lc_rs::digest::{SHA256, digest};
use http::{Method, StatusCode};
use platform::testing::Answer;
use serde_json::json;

use crate::support::Trial;

async fn sign_in_natively(trial: &Trial, provider: &str, query: &str, nonce: &str) -> Answer {
    let url = format!("{}/id_token?{query}", trial.settings(provider).simulator_url);
    let issued = trial.send(Method::GET, &url, &[], "").await;
    assert_eq!(issued.status, StatusCode::OK, "{}", issued.text);
    let body = json!({"provider": provider, "id_token": issued.json["id_token"], "nonce": nonce});
    trial.world.post("/token?grant_type=id_token", body).await
}

#[tokio::test]
async fn id_token_signs_in_at_the_auth_api() {
    let trial = Trial::new().await;
    for provider in ["google", "apple", "azure", "facebook", "kakao", "snapchat", "vercel_marketplace"] {
        let answer = sign_in_natively(&trial, provider, "login_hint=ann", "").await.expect(200);
        assert_eq!(answer.str("user/email"), "ann@example.com", "{provider}");
    }
}

#[tokio::test]
async fn wrong_nonce_and_bad_signature_are_refused() {
    let trial = Trial::new().await;
    // An app hands the provider the hash of its nonce.
    let nonce = hex::encode(digest(&SHA256, b"n1").as_ref());
    let query = format!("nonce={nonce}");
    sign_in_natively(&trial, "google", &query, "n1").await.expect(200);
    trial.set_next("google", &json!({"scenario": "wrong_nonce"}));
    let refused = sign_in_natively(&trial, "google", &query, "n1").await.expect(400);
    assert!(refused.text.contains("Nonces mismatch"), "{}", refused.text);
    trial.set_next("google", &json!({"scenario": "bad_signature"}));
    let refused = sign_in_natively(&trial, "google", &query, "n1").await.expect(400);
    assert!(refused.text.contains("Bad ID token"), "{}", refused.text);
}

#[tokio::test]
async fn denial_and_provider_without_id_tokens_yield_none() {
    let trial = Trial::new().await;
    trial.set_next("google", &json!({"scenario": "denied"}));
    let url = format!("{}/id_token", trial.settings("google").simulator_url);
    let refused = trial.send(Method::GET, &url, &[], "").await;
    assert_eq!((refused.status, &refused.json["error"]), (StatusCode::BAD_REQUEST, &json!("access_denied")));
    let url = format!("{}/id_token", trial.settings("github").simulator_url);
    assert_eq!(trial.send(Method::GET, &url, &[], "").await.status, StatusCode::NOT_FOUND);
}
