//! Issuers at their own addresses, which a proxy stands in for.

use gotrue_rs::testing::{DOCUMENT, Issuer, KEYS, World};
use platform::testing::Answer;
use serde_json::{Value, json};

use super::PATH;
use crate::ports::internet::Internet;

const ANN: &str = "ann@example.com";
const TENANT: &str = "https://login.microsoftonline.com/tenant-1/v2.0";

/// A world with access to the fake internet and these providers enabled.
async fn world(internet: &Internet, providers: &'static [&'static str], is_served: bool) -> World {
    let builder = if is_served { World::builder().as_served() } else { World::builder() };
    let switched_on = builder.policy(|policy| {
        for name in providers {
            let provider = policy.external.providers.entry((*name).to_owned()).or_default();
            provider.enabled = true;
            provider.client_ids = vec![format!("{name}-client")];
        }
        policy.external.allowed_id_token_issuers.push("https://issuer.example.com".to_owned());
    });
    switched_on.outbound(internet.outbound()).build().await
}

fn issuer(internet: &Internet, url: &str, client: &str) -> Issuer {
    let issuer = Issuer::at(url, client);
    internet.put(&format!("{url}{DOCUMENT}"), 200, &issuer.document());
    internet.put(&format!("{url}{KEYS}"), 200, &issuer.keys());
    issuer
}

async fn give(world: &World, provider: &str, token: &str) -> Answer {
    world.post(PATH, json!({"provider": provider, "id_token": token})).await
}

#[tokio::test]
async fn google_is_accepted_with_both_issuers() {
    let internet = Internet::start().await;
    let world = world(&internet, &["google"], false).await;
    let google = issuer(&internet, "https://accounts.google.com", "google-client");
    let answer = give(&world, "google", &google.user_token(world.now(), ANN)).await.expect(200);
    assert_eq!(answer.json["user"]["user_metadata"]["full_name"], "Ann");
    let short = google.token(world.now(), &json!({"iss": "accounts.google.com", "sub": ANN}));
    give(&world, "google", &short).await.expect(200);
    let body = json!({"issuer": "https://accounts.google.com", "client_id": "whatever", "id_token": short});
    world.post(PATH, body).await.expect(200);
}

#[tokio::test]
async fn apple_is_accepted_with_both_issuers() {
    let internet = Internet::start().await;
    let world = world(&internet, &["apple"], false).await;
    let old = issuer(&internet, "https://appleid.apple.com", "apple-client");
    let mut document = old.document();
    document["issuer"] = json!("https://account.apple.com");
    internet.put(&format!("{}{DOCUMENT}", old.url), 200, &document);
    give(&world, "apple", &old.user_token(world.now(), ANN)).await.expect(200);
}

#[tokio::test]
async fn hardened_policy_ignores_presumed_email_verification() {
    for (url, provider, proof) in [
        (TENANT, "azure", json!({"xms_edov": true})),
        ("https://kauth.kakao.com", "kakao", json!({"email_verified": true})),
        ("https://accounts.snapchat.com/accounts/oauth2/token", "snapchat", json!({"email_verified": true})),
    ] {
        let internet = Internet::start().await;
        let issuer = issuer(&internet, url, &format!("{provider}-client"));
        let token = |world: &World, more: &Value| {
            let mut claims = json!({"sub": "7", "email": ANN});
            claims.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            issuer.token(world.now(), &claims)
        };
        let providers: &[&str] = &["azure", "kakao", "snapchat"];
        let loose = world(&internet, providers, false).await;
        give(&loose, provider, &token(&loose, &json!({}))).await.expect(200);
        for (more, lets_in) in [(json!({}), false), (proof, true)] {
            let strict = world(&internet, providers, true).await;
            let owner = strict.create_user(ANN).await;
            let answer = give(&strict, provider, &token(&strict, &more)).await;
            if lets_in {
                assert_eq!(answer.expect(200).str("user/id"), owner.id, "{provider}");
            } else {
                assert_eq!(answer.refusal(), (422, "provider_email_needs_verification"), "{provider}");
            }
        }
    }
}

#[tokio::test]
async fn hardened_policy_requires_a_configured_client_for_issuer_urls() {
    let internet = Internet::start().await;
    let issuer = issuer(&internet, "https://issuer.example.com", "another-app");
    for (is_served, client, status) in
        [(false, "another-app", 200), (true, "another-app", 400), (true, "google-client", 200)]
    {
        let world = world(&internet, &["google"], is_served).await;
        let token =
            issuer.token(world.now(), &json!({"sub": "7", "aud": client, "email": ANN, "email_verified": true}));
        let body = json!({"issuer": issuer.url, "client_id": client, "id_token": token});
        let answer = world.post(PATH, body).await.expect(status);
        if status == 200 {
            assert_eq!(answer.json["user"]["identities"][0]["provider"], "https://issuer.example.com");
        }
    }
}

/// CVE-2026-31813: an issuer named by the token must not be able to choose the URL that is requested.
#[tokio::test]
async fn b2_azure_or_apple_token_cannot_choose_its_issuer() {
    let internet = Internet::start().await;
    let world = world(&internet, &["azure", "apple"], false).await;
    for url in [
        "https://evil.example.com",
        "https://login.microsoftonline.com/common/oauth2/v2.0/authorize?redirect_uri=https://evil.example.com/v2.0",
        "https://login.microsoftonline.com.evil.example.com/t/v2.0",
        "https://login.microsoftonline.com@evil.example.com/t/v2.0",
        "https://sts.windows.net/t/../evil/",
        "https://appleid.apple.com.evil.example.com",
        "https://appleid.apple.com/",
    ] {
        let evil = issuer(&internet, url, "azure-client");
        let token = evil.token(
            world.now(),
            &json!({"aud": ["azure-client", "apple-client"], "sub": "7", "email": ANN, "email_verified": true}),
        );
        for provider in ["azure", "apple"] {
            assert_eq!(give(&world, provider, &token).await.refusal(), (400, "validation_failed"), "{provider} {url}");
        }
    }
    assert_eq!(internet.take_requests(), []);
}
