//! Issuers: what they say of themselves is asked for seldom, however many want to know, and is believed only of
//! themselves.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::ports::clock::{Clock, SharedClock};
use gotrue_rs::ports::http_client::{HttpClient, Outbound, Trust};
use gotrue_rs::ports::oidc::{Checks, Oidc, OidcError, Source};
use gotrue_rs::testing::{DOCUMENT, FakeClock, Issuer, KEYS, Receiver, said};
use gotrue_rules::domain::external::id_token::{BadToken, IdToken};
use gotrue_rules::domain::policy::ExternalPolicy;
use serde_json::{Value, json};

/// One issuer, and a server's view of issuers.
struct Setting {
    receiver: Receiver,
    issuer: Issuer,
    clock: FakeClock,
    oidc: Arc<Oidc>,
}

impl Setting {
    async fn new() -> Self {
        let receiver = Receiver::start().await;
        let issuer = Issuer::served_by(&receiver, "/i", "us");
        let clock = FakeClock::at("2026-06-01T12:00:00Z".parse().expect("a moment"));
        let shared: SharedClock = Arc::new(clock.clone());
        let http = Arc::new(HttpClient::new(Outbound::default()));
        let policy = ExternalPolicy { discovery_cache_ttl: Duration::from_hours(1), ..ExternalPolicy::default() };
        let oidc = Arc::new(Oidc::new(&policy, &http, &shared));
        Self { receiver, issuer, clock, oidc }
    }

    fn source(&self) -> Source {
        Source::of_operator(&self.issuer.url)
    }

    async fn verify(&self, token: &str) -> Result<IdToken, OidcError> {
        self.oidc.verify(&self.source(), token, &Checks::default()).await
    }

    fn token(&self, claims: &Value) -> String {
        self.issuer.token(self.clock.now(), claims)
    }

    /// How often the document and the keys were asked for.
    fn asked(&self) -> (usize, usize) {
        let of = |path: &str| self.receiver.calls().iter().filter(|call| call.path == format!("/i{path}")).count();
        (of(DOCUMENT), of(KEYS))
    }
}

#[tokio::test]
async fn document_and_keys_are_kept_for_their_time() {
    let setting = Setting::new().await;
    let token = setting.token(&json!({"sub": "7", "exp": 4_000_000_000_u64}));
    for _ in 0..3 {
        assert_eq!(setting.verify(&token).await.expect("it is the issuer's").subject, "7");
    }
    assert_eq!(setting.asked(), (1, 1));
    setting.clock.advance(TimeDelta::minutes(59));
    setting.verify(&token).await.expect("it is the issuer's");
    assert_eq!(setting.asked(), (1, 1));
    setting.clock.advance(TimeDelta::minutes(1));
    setting.verify(&token).await.expect("it is the issuer's");
    assert_eq!(setting.asked(), (2, 2));
}

#[tokio::test]
async fn a_key_that_was_added_is_found_at_once() {
    let setting = Setting::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let next = setting.issuer.with_new_key("key-2");
    let token = next.token(setting.clock.now(), &json!({}));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::UnknownKey)));
    setting.receiver.answer(&format!("/i{KEYS}"), json!({"keys": [setting.issuer.key(), next.key()]}));
    setting.verify(&token).await.expect("it is the issuer's");
    setting.verify(&setting.token(&json!({}))).await.expect("the old key still holds");
    assert_eq!(setting.asked(), (1, 3));
}

#[tokio::test]
async fn a_key_in_the_place_of_another_of_its_name_is_found() {
    let setting = Setting::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let next = setting.issuer.with_new_key("key-1");
    setting.receiver.answer(&format!("/i{KEYS}"), next.keys());
    setting.verify(&next.token(setting.clock.now(), &json!({}))).await.expect("it is the issuer's");
    assert!(matches!(setting.verify(&setting.token(&json!({}))).await, Err(OidcError::Signature)));
}

#[tokio::test]
async fn a_hundred_at_once_ask_once() {
    let setting = Setting::new().await;
    let all = (0..100).map(|_| {
        let (oidc, source, token) = (setting.oidc.clone(), setting.source(), setting.token(&json!({})));
        tokio::spawn(async move { oidc.verify(&source, &token, &Checks::default()).await.is_ok() })
    });
    for outcome in futures::future::join_all(all).await {
        assert!(outcome.expect("no panic"));
    }
    assert_eq!(setting.asked(), (1, 1));
}

#[tokio::test]
async fn a_hundred_keys_that_do_not_exist_are_asked_for_a_few_times() {
    let setting = Setting::new().await;
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
    let stranger = |number: usize| setting.issuer.with_new_key(&format!("none-{number}"));
    let all = (0..100).map(|number| {
        let token = stranger(number).token(setting.clock.now(), &json!({}));
        let (oidc, source) = (setting.oidc.clone(), setting.source());
        tokio::spawn(async move { oidc.verify(&source, &token, &Checks::default()).await })
    });
    for outcome in futures::future::join_all(all).await {
        assert!(matches!(outcome.expect("no panic"), Err(OidcError::UnknownKey)));
    }
    for number in 100..120 {
        let token = stranger(number).token(setting.clock.now(), &json!({}));
        assert!(matches!(setting.verify(&token).await, Err(OidcError::UnknownKey)));
    }
    assert_eq!(setting.asked(), (1, 5));
    setting.verify(&setting.token(&json!({}))).await.expect("who is known is not in their way");
    // A key that is new comes in with the next fetch, ten seconds later at most.
    let next = setting.issuer.with_new_key("key-2");
    setting.receiver.answer(&format!("/i{KEYS}"), next.keys());
    setting.clock.advance(TimeDelta::seconds(10));
    setting.verify(&next.token(setting.clock.now(), &json!({}))).await.expect("it is the issuer's");
    assert_eq!(setting.asked(), (1, 6));
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_asked_a_few_times() {
    let setting = Setting::new().await;
    setting.receiver.respond(&format!("/i{DOCUMENT}"), |_| said(503, &json!({"busy": true})));
    for _ in 0..20 {
        let failure = setting.oidc.discover(&setting.source()).await.expect_err("it is busy");
        assert_eq!(failure.to_string(), r#"503 Service Unavailable: {"busy":true}"#);
    }
    assert_eq!(setting.asked(), (5, 0));
    setting.receiver.answer(&format!("/i{DOCUMENT}"), setting.issuer.document());
    setting.clock.advance(TimeDelta::seconds(10));
    setting.oidc.discover(&setting.source()).await.expect("it is back");
}

#[tokio::test]
async fn while_an_issuer_is_silent_its_last_word_stands_for_a_day() {
    let setting = Setting::new().await;
    let token = setting.token(&json!({"exp": 4_000_000_000_u64}));
    setting.verify(&token).await.expect("it is the issuer's");
    for path in [DOCUMENT, KEYS] {
        setting.receiver.respond(&format!("/i{path}"), |_| said(500, &json!({})));
    }
    setting.clock.advance(TimeDelta::hours(23));
    setting.verify(&token).await.expect("its last word stands");
    setting.clock.advance(TimeDelta::hours(1));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::Status { status: 500, .. })));
}

#[tokio::test]
async fn whoever_gives_up_waiting_has_asked_too() {
    let setting = Setting::new().await;
    setting.receiver.respond_after(&format!("/i{DOCUMENT}"), |_| Box::pin(std::future::pending()));
    for asked in 1..=8 {
        let (oidc, source) = (setting.oidc.clone(), setting.source());
        let waiting = tokio::spawn(async move { oidc.discover(&source).await });
        if asked <= 5 {
            setting.receiver.called(asked).await;
            waiting.abort();
            assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
        } else {
            assert!(waiting.await.expect("no panic").is_err());
        }
    }
    assert_eq!(setting.asked(), (5, 0));
}

#[tokio::test]
async fn a_document_is_its_issuer_s_own() {
    let setting = Setting::new().await;
    let mut document = setting.issuer.document();
    document["issuer"] = json!("https://other.example.com");
    setting.receiver.answer(&format!("/i{DOCUMENT}"), document);
    let failure = setting.oidc.discover(&setting.source()).await.expect_err("it is another's");
    assert!(matches!(failure, OidcError::OtherIssuer { got, .. } if got == "https://other.example.com"));
    for (body, why) in [(json!([]), "no object"), (json!({"issuer": 7}), "a number"), (json!({}), "no issuer")] {
        setting.receiver.answer(&format!("/i{DOCUMENT}"), body);
        assert!(setting.oidc.look_up(&setting.source()).await.is_err(), "{why}");
    }
    setting.receiver.respond(&format!("/i{DOCUMENT}"), |_| said(200, &json!("x".repeat(1024 * 1024))));
    assert!(matches!(setting.oidc.look_up(&setting.source()).await, Err(OidcError::TooLong(_))));
}

#[tokio::test]
async fn what_one_source_says_is_not_believed_of_another() {
    let setting = Setting::new().await;
    let rogue = Issuer::at(&setting.issuer.url, "us");
    let mut document = rogue.document();
    document["jwks_uri"] = json!(format!("{}/rogue/jwks", setting.receiver.address()));
    setting.receiver.answer("/rogue/document", document);
    setting.receiver.answer("/rogue/jwks", rogue.keys());
    let elsewhere =
        Source { document: Some(format!("{}/rogue/document", setting.receiver.address())), ..setting.source() };
    let token = rogue.token(setting.clock.now(), &json!({}));
    setting.oidc.verify(&elsewhere, &token, &Checks::default()).await.expect("it is this source's");
    assert!(setting.verify(&token).await.is_err());
    setting.verify(&setting.token(&json!({}))).await.expect("it is the issuer's");
}

#[tokio::test]
async fn a_stranger_s_issuer_must_be_public() {
    let setting = Setting::new().await;
    let source = Source { trust: Trust::Stranger, ..setting.source() };
    assert!(matches!(setting.oidc.discover(&source).await, Err(OidcError::Silent(_))));
    assert_eq!(setting.asked(), (0, 0));
}

#[tokio::test]
async fn clients_and_access_token_are_held_against_the_token_where_they_are_named() {
    let setting = Setting::new().await;
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
        let checks = Checks { clients: names.as_deref(), access_token };
        let outcome = setting.oidc.verify(&setting.source(), &token, &checks).await;
        assert_eq!(outcome.is_ok(), holds, "{names:?} {access_token:?}: {outcome:?}");
    }
    let without = setting.token(&json!({"sub": "7"}));
    let checks = Checks { access_token: Some("unused"), ..Checks::default() };
    setting.oidc.verify(&setting.source(), &without, &checks).await.expect("there is nothing to compare");
}

#[tokio::test]
async fn the_clock_is_the_server_s_own() {
    let setting = Setting::new().await;
    let token = setting.token(&json!({}));
    setting.clock.advance(TimeDelta::seconds(300));
    setting.verify(&token).await.expect("it ends now");
    setting.clock.advance(TimeDelta::milliseconds(1));
    assert!(matches!(setting.verify(&token).await, Err(OidcError::Token(BadToken::Expired))));
}

#[tokio::test]
async fn an_issuer_signs_only_as_it_says() {
    let setting = Setting::new().await;
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
