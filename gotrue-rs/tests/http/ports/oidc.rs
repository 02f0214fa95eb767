//! OIDC issuers: caching of documents and keys, and separation between issuers.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::ports::oidc::{IssuerSource, Oidc, OidcError, TokenChecks};
use gotrue_rs::testing::{DOCUMENT, HookServer, Issuer, KEYS, json_response};
use gotrue_rules::domain::external::id_token::{ExternalIdToken, IdTokenError};
use gotrue_rules::domain::policy::ExternalPolicy;
use platform::clock::{Clock, SharedClock};
use platform::http_client::{HttpClient, OutboundOptions, UrlTrust};
use platform::testing::FakeClock;
use serde_json::{Value, json};

/// One issuer, and a server's view of issuers.
struct OidcFixture {
    receiver: HookServer,
    issuer: Issuer,
    clock: FakeClock,
    oidc: Arc<Oidc>,
}

impl OidcFixture {
    async fn new() -> Self {
        let receiver = HookServer::start().await;
        let issuer = Issuer::served_by(&receiver, "/i", "us");
        let clock = FakeClock::at("2026-06-01T12:00:00Z".parse().expect("a moment"));
        let shared: SharedClock = Arc::new(clock.clone());
        let http = Arc::new(HttpClient::new(OutboundOptions::default()));
        let policy = ExternalPolicy { discovery_cache_ttl: Duration::from_hours(1), ..ExternalPolicy::default() };
        let oidc = Arc::new(Oidc::new(&policy, &http, &shared));
        Self { receiver, issuer, clock, oidc }
    }

    fn source(&self) -> IssuerSource {
        IssuerSource { issuer: self.issuer.url.clone(), document: None, trust: UrlTrust::Operator }
    }

    async fn verify(&self, token: &str) -> Result<ExternalIdToken, OidcError> {
        self.oidc.verify(&self.source(), token, &TokenChecks::default()).await
    }

    fn token(&self, claims: &Value) -> String {
        self.issuer.token(self.clock.now(), claims)
    }

    /// The numbers of requests for the document and for the keys.
    fn request_counts(&self) -> (usize, usize) {
        let of = |path: &str| self.receiver.calls().iter().filter(|call| call.path == format!("/i{path}")).count();
        (of(DOCUMENT), of(KEYS))
    }
}

#[tokio::test]
async fn document_and_keys_are_cached_until_expiry() {
    let setting = OidcFixture::new().await;
    let token = setting.token(&json!({"sub": "7", "exp": 4_000_000_000_u64}));
    for _ in 0..3 {
        assert_eq!(setting.verify(&token).await.expect("it is the issuer's").subject, "7");
    }
    assert_eq!(setting.request_counts(), (1, 1));
    setting.clock.advance(TimeDelta::minutes(59));
    setting.verify(&token).await.expect("it is the issuer's");
    assert_eq!(setting.request_counts(), (1, 1));
    setting.clock.advance(TimeDelta::minutes(1));
    setting.verify(&token).await.expect("it is the issuer's");
    assert_eq!(setting.request_counts(), (2, 2));
}

#[tokio::test]
async fn added_key_is_found_immediately() {
    let setting = OidcFixture::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let next = setting.issuer.with_new_key("key-2");
    let token = next.token(setting.clock.now(), &json!({}));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::UnknownKey)));
    setting.receiver.answer(&format!("/i{KEYS}"), json!({"keys": [setting.issuer.key(), next.key()]}));
    setting.verify(&token).await.expect("it is the issuer's");
    setting.verify(&setting.token(&json!({}))).await.expect("the old key still holds");
    assert_eq!(setting.request_counts(), (1, 3));
}

#[tokio::test]
async fn replaced_key_with_same_kid_is_found() {
    let setting = OidcFixture::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let next = setting.issuer.with_new_key("key-1");
    setting.receiver.answer(&format!("/i{KEYS}"), next.keys());
    setting.verify(&next.token(setting.clock.now(), &json!({}))).await.expect("it is the issuer's");
    assert!(matches!(setting.verify(&setting.token(&json!({}))).await, Err(OidcError::Signature)));
}

#[tokio::test]
async fn concurrent_verifications_fetch_keys_once() {
    let setting = OidcFixture::new().await;
    let all = (0..100).map(|_| {
        let (oidc, source, token) = (setting.oidc.clone(), setting.source(), setting.token(&json!({})));
        tokio::spawn(async move { oidc.verify(&source, &token, &TokenChecks::default()).await.is_ok() })
    });
    for outcome in futures::future::join_all(all).await {
        assert!(outcome.expect("no panic"));
    }
    assert_eq!(setting.request_counts(), (1, 1));
}

#[tokio::test]
async fn unknown_kids_cause_few_requests() {
    let setting = OidcFixture::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let unrelated = |number: usize| setting.issuer.with_new_key(&format!("none-{number}"));
    let all = (0..100).map(|number| {
        let token = unrelated(number).token(setting.clock.now(), &json!({}));
        let (oidc, source) = (setting.oidc.clone(), setting.source());
        tokio::spawn(async move { oidc.verify(&source, &token, &TokenChecks::default()).await })
    });
    for outcome in futures::future::join_all(all).await {
        assert!(matches!(outcome.expect("no panic"), Err(OidcError::UnknownKey)));
    }
    for number in 100..120 {
        let token = unrelated(number).token(setting.clock.now(), &json!({}));
        assert!(matches!(setting.verify(&token).await, Err(OidcError::UnknownKey)));
    }
    assert_eq!(setting.request_counts(), (1, 5));
    setting.verify(&setting.token(&json!({}))).await.expect("who is known is not in their way");
    // A new key is fetched at the latest ten seconds later.
    let next = setting.issuer.with_new_key("key-2");
    setting.receiver.answer(&format!("/i{KEYS}"), next.keys());
    setting.clock.advance(TimeDelta::seconds(10));
    setting.verify(&next.token(setting.clock.now(), &json!({}))).await.expect("it is the issuer's");
    assert_eq!(setting.request_counts(), (1, 6));
}

#[tokio::test]
async fn unavailable_issuer_is_requested_a_few_times() {
    let setting = OidcFixture::new().await;
    setting.receiver.respond(&format!("/i{DOCUMENT}"), |_| json_response(503, &json!({"busy": true})));
    for _ in 0..20 {
        let failure = setting.oidc.discover(&setting.source()).await.expect_err("it is busy");
        assert_eq!(failure.to_string(), r#"503 Service Unavailable: {"busy":true}"#);
    }
    assert_eq!(setting.request_counts(), (5, 0));
    setting.receiver.answer(&format!("/i{DOCUMENT}"), setting.issuer.document());
    setting.clock.advance(TimeDelta::seconds(10));
    setting.oidc.discover(&setting.source()).await.expect("it is back");
}

#[tokio::test]
async fn stale_keys_are_used_for_a_day() {
    let setting = OidcFixture::new().await;
    let token = setting.token(&json!({"exp": 4_000_000_000_u64}));
    setting.verify(&token).await.expect("it is the issuer's");
    for path in [DOCUMENT, KEYS] {
        setting.receiver.respond(&format!("/i{path}"), |_| json_response(500, &json!({})));
    }
    setting.clock.advance(TimeDelta::hours(23));
    setting.verify(&token).await.expect("its last word stands");
    setting.clock.advance(TimeDelta::hours(1));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::Status { status: 500, .. })));
}

#[tokio::test]
async fn cancelled_waiter_still_completes_the_fetch() {
    let setting = OidcFixture::new().await;
    setting.receiver.respond_after(&format!("/i{DOCUMENT}"), |_| Box::pin(std::future::pending()));
    for requested in 1..=8 {
        let (oidc, source) = (setting.oidc.clone(), setting.source());
        let waiting = tokio::spawn(async move { oidc.discover(&source).await });
        if requested <= 5 {
            setting.receiver.wait_for_calls(requested).await;
            waiting.abort();
            assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
        } else {
            assert!(waiting.await.expect("no panic").is_err());
        }
    }
    assert_eq!(setting.request_counts(), (5, 0));
}

#[tokio::test]
async fn document_must_name_its_issuer() {
    let setting = OidcFixture::new().await;
    let mut document = setting.issuer.document();
    document["issuer"] = json!("https://other.example.com");
    setting.receiver.answer(&format!("/i{DOCUMENT}"), document);
    let failure = setting.oidc.discover(&setting.source()).await.expect_err("it is another's");
    assert!(matches!(failure, OidcError::IssuerMismatch { got, .. } if got == "https://other.example.com"));
    for (body, why) in [(json!([]), "no object"), (json!({"issuer": 7}), "a number"), (json!({}), "no issuer")] {
        setting.receiver.answer(&format!("/i{DOCUMENT}"), body);
        assert!(setting.oidc.discover_uncached(&setting.source()).await.is_err(), "{why}");
    }
    setting.receiver.respond(&format!("/i{DOCUMENT}"), |_| json_response(200, &json!("x".repeat(1024 * 1024))));
    assert!(matches!(setting.oidc.discover_uncached(&setting.source()).await, Err(OidcError::TooLong(_))));
}

#[tokio::test]
async fn documents_of_two_sources_are_separate() {
    let setting = OidcFixture::new().await;
    let rogue = Issuer::at(&setting.issuer.url, "us");
    let mut document = rogue.document();
    document["jwks_uri"] = json!(format!("{}/rogue/jwks", setting.receiver.address()));
    setting.receiver.answer("/rogue/document", document);
    setting.receiver.answer("/rogue/jwks", rogue.keys());
    let elsewhere =
        IssuerSource { document: Some(format!("{}/rogue/document", setting.receiver.address())), ..setting.source() };
    let token = rogue.token(setting.clock.now(), &json!({}));
    setting.oidc.verify(&elsewhere, &token, &TokenChecks::default()).await.expect("it is this source's");
    assert!(setting.verify(&token).await.is_err());
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
}

#[tokio::test]
async fn untrusted_issuer_must_have_a_public_address() {
    let setting = OidcFixture::new().await;
    let source = IssuerSource { trust: UrlTrust::Untrusted, ..setting.source() };
    assert!(matches!(setting.oidc.discover(&source).await, Err(OidcError::Transport(_))));
    assert_eq!(setting.request_counts(), (0, 0));
}

#[tokio::test]
async fn audience_and_at_hash_are_verified_if_given() {
    let setting = OidcFixture::new().await;
    let clients = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let token = setting.token(&json!({"sub": "7", "at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}));
    let right = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    for (names, access_token, holds) in [
        (None, None, true),
        (Some(clients(&["us"])), Some(right), true),
        (Some(clients(&["them"])), None, false),
        (Some(clients(&[])), None, false),
        (None, Some("stolen"), false),
        (None, Some(""), false),
    ] {
        let checks = TokenChecks { clients: names.as_deref(), access_token };
        let outcome = setting.oidc.verify(&setting.source(), &token, &checks).await;
        assert_eq!(outcome.is_ok(), holds, "{names:?} {access_token:?}: {outcome:?}");
    }
    let without = setting.token(&json!({"sub": "7"}));
    let checks = TokenChecks { access_token: Some("unused"), ..TokenChecks::default() };
    setting.oidc.verify(&setting.source(), &without, &checks).await.expect("there is nothing to compare");
}

#[tokio::test]
async fn token_times_use_the_server_clock() {
    let setting = OidcFixture::new().await;
    let token = setting.token(&json!({}));
    setting.clock.advance(TimeDelta::seconds(300));
    setting.verify(&token).await.expect("it ends now");
    setting.clock.advance(TimeDelta::milliseconds(1));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::Token(IdTokenError::Expired))));
}

#[tokio::test]
async fn issuer_algorithms_are_restricted_to_its_document() {
    let setting = OidcFixture::new().await;
    let mut document = setting.issuer.document();
    for (named, accepted) in
        [(json!(["ES256"]), true), (json!(["RS256"]), false), (json!(["none", "HS256"]), false), (json!(null), false)]
    {
        document["id_token_signing_alg_values_supported"] = named.clone();
        setting.receiver.answer(&format!("/i{DOCUMENT}"), document.clone());
        setting.clock.advance(TimeDelta::hours(1));
        let outcome = setting.verify(&setting.token(&json!({}))).await;
        assert_eq!(outcome.is_ok(), accepted, "{named}");
        assert!(accepted || matches!(outcome, Err(OidcError::Algorithm)));
    }
}
