//! ID tokens: issuer, signature, audience, time and nonce are validated.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::{Value, json};

use crate::id_token::{CLIENT, IdTokenFixture};

const ANN: &str = "ann@example.com";
const NONCE: &str = "abc";
const NONCE_HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const ACCESS_TOKEN: &str = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
const ACCESS_TOKEN_HASH: &str = "77QmUPtjPfzWtF2AnpK9RQ";

fn header() -> Value {
    json!({"alg": "ES256", "kid": "key-1"})
}

fn claims(setting: &IdTokenFixture) -> Value {
    let now = setting.world.now().timestamp();
    json!({
        "iss": setting.issuer.url, "sub": "ann", "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": NONCE_HASH,
        "at_hash": ACCESS_TOKEN_HASH, "email": ANN, "email_verified": true,
    })
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut changed = object.clone();
    changed[name] = value;
    changed
}

fn without(object: &Value, name: &str) -> Value {
    let mut changed = object.clone();
    changed.as_object_mut().expect("an object").remove(name);
    changed
}

async fn give(setting: &IdTokenFixture, token: &str) -> Answer {
    setting.give(token, &json!({"nonce": NONCE, "access_token": ACCESS_TOKEN})).await
}

#[track_caller]
fn assert_refused(answer: &Answer, what: &str) {
    assert_eq!(answer.status.as_u16(), 400, "{what}: {}", answer.text);
    assert_eq!(answer.str("access_token"), "", "{what}");
}

/// Where it is served, every claim counts.
async fn served() -> IdTokenFixture {
    IdTokenFixture::of(World::builder().as_served()).await
}

#[tokio::test]
async fn b2_every_claim_is_validated() {
    let setting = served().await;
    let all = claims(&setting);
    let ann = give(&setting, &setting.issuer.sign(&header(), &all)).await.expect(200);
    for name in ["iss", "sub", "aud", "exp", "iat", "nonce"] {
        let token = setting.issuer.sign(&header(), &without(&all, name));
        assert_refused(&give(&setting, &token).await, &format!("without {name}"));
    }
    let now = setting.world.now().timestamp();
    for (name, value) in [
        ("iss", json!("https://evil.example.com")),
        ("iss", json!(format!("{}/", setting.issuer.url))),
        ("sub", json!("")),
        ("sub", json!(["ann"])),
        ("aud", json!("another-client")),
        ("aud", json!(["another", "client"])),
        ("aud", json!([])),
        ("exp", json!(now - 1)),
        ("exp", json!(0)),
        ("exp", json!((now + 300).to_string())),
        ("iat", json!(now + 301)),
        ("nbf", json!(now + 301)),
        ("nonce", json!(NONCE)),
        ("nonce", json!(NONCE_HASH.to_uppercase())),
        ("at_hash", json!("77QmUPtjPfzWtF2AnpK9Rg")),
        ("at_hash", json!(7)),
        ("email_verified", json!("true")),
    ] {
        let token = setting.issuer.sign(&header(), &with(&all, name, value.clone()));
        assert_refused(&give(&setting, &token).await, &format!("{name}: {value}"));
    }
    let other = with(&with(&all, "sub", json!("bob")), "email", json!("bob@example.com"));
    let bob = give(&setting, &setting.issuer.sign(&header(), &other)).await.expect(200);
    assert_ne!(bob.str("user/id"), ann.str("user/id"));
}

#[tokio::test]
async fn b2_modified_claims_are_refused() {
    let setting = served().await;
    let all = claims(&setting);
    let token = setting.issuer.sign(&header(), &all);
    let (signed, signature) = token.rsplit_once('.').expect("three parts");
    let (head, _) = signed.split_once('.').expect("three parts");
    for name in all.as_object().expect("an object").keys() {
        for changed in [without(&all, name), with(&all, name, json!("changed"))] {
            let forged = format!("{head}.{}.{signature}", URL_SAFE_NO_PAD.encode(changed.to_string()));
            assert_refused(&give(&setting, &forged).await, name);
        }
    }
    let more = with(&all, "role", json!("admin"));
    let forged = format!("{head}.{}.{signature}", URL_SAFE_NO_PAD.encode(more.to_string()));
    assert_refused(&give(&setting, &forged).await, "one claim more");
    for part in ["", "AAAA", &signature[..signature.len() - 4], &signature.chars().rev().collect::<String>()] {
        assert_refused(&give(&setting, &format!("{signed}.{part}")).await, "another signature");
    }
    for shape in [
        signed.to_owned(),
        format!("{token}."),
        format!("{token}.{signature}"),
        format!(".{token}"),
        token.replace('.', ""),
    ] {
        assert_refused(&give(&setting, &shape).await, &shape);
    }
}

#[tokio::test]
async fn b2_token_header_cannot_choose_algorithm_or_key() {
    let setting = served().await;
    let all = claims(&setting);
    let rogue = setting.issuer.with_new_key("key-1");
    for (name, value) in [
        ("alg", json!("none")),
        ("alg", json!("RS256")),
        ("alg", json!("ES384")),
        ("alg", json!("HS256")),
        ("kid", json!("key-2")),
        ("kid", json!(["key-1"])),
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
    ] {
        let token = setting.issuer.sign(&with(&header(), name, value.clone()), &all);
        assert_refused(&give(&setting, &token).await, &format!("{name}: {value}"));
    }
    // Signed with a key that the header brings along, or says where to find.
    setting.receiver.answer("/rogue", rogue.keys());
    for (name, value) in [
        ("jwk", rogue.key()),
        ("jku", json!(format!("{}/rogue", setting.receiver.address()))),
        ("x5u", json!(format!("{}/rogue", setting.receiver.address()))),
    ] {
        for header in [with(&header(), name, value.clone()), without(&with(&header(), name, value), "kid")] {
            assert_refused(&give(&setting, &rogue.sign(&header, &all)).await, name);
        }
    }
    assert!(setting.receiver.calls().iter().all(|call| call.path != "/rogue"));
}

#[tokio::test]
async fn b2_public_key_is_not_accepted_as_hmac_secret() {
    let setting = served().await;
    let key = setting.issuer.key();
    let point = ["x", "y"].map(|name| URL_SAFE_NO_PAD.decode(key[name].as_str().expect("a text")).expect("base64url"));
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for secret in [key.to_string().into_bytes(), point.concat(), [vec![4], point.concat()].concat(), Vec::new()] {
        let signed = format!("{}.{}", part(&json!({"alg": "HS256", "kid": "key-1"})), part(&claims(&setting)));
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        assert_refused(&give(&setting, &token).await, "signed with the public key as a secret");
    }
}

#[tokio::test]
async fn b2_token_of_another_or_unknown_provider_is_refused() {
    let setting = served().await;
    let token = setting.issuer.sign(&header(), &claims(&setting));
    for provider in ["google", "apple", "azure", "facebook", "github", "Keycloak", "custom:keycloak"] {
        let answer = setting.give(&token, &json!({"provider": provider, "nonce": NONCE})).await;
        assert_refused(&answer, provider);
    }
    let answer = setting.give(&token, &json!({"access_token": ACCESS_TOKEN})).await;
    assert_refused(&answer, "a nonce that is not given");
    let answer = setting.give(&token, &json!({"access_token": "stolen", "nonce": NONCE})).await;
    assert_refused(&answer, "the access token of another client");
}

#[tokio::test]
async fn b5_disabled_provider_is_refused() {
    let setting = IdTokenFixture::of(World::builder()).await;
    let ann = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
    assert_eq!(ann.str("user/email"), ANN);
    let token = setting.user_token(ANN);
    let by_issuer = json!({"provider": "", "issuer": "https://accounts.google.com", "client_id": CLIENT});
    for (name, more) in [("by its name", json!({"provider": "google"})), ("by its issuer", by_issuer)] {
        assert_eq!(setting.give(&token, &more).await.refusal(), (400, "provider_disabled"), "{name}");
    }
}
