//! Access tokens: every algorithm, every refusal with GoTrue's message, and no modified token.

use std::sync::{Arc, LazyLock};

use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use foundation::secret::Secret;
use gotrue_rs::ports::keys::{KeyError, KeyRing, KeySettings, Object};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000;
const SECRET: &str = "a-secret-of-at-least-thirty-two-characters";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(NOW, 999_000_000).expect("a date")
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).expect("an object")
}

fn ring_with(jwks: &[Value], key_id: &str, methods: Option<&[&str]>) -> Result<KeyRing, KeyError> {
    let jwks: Vec<Object> = jwks.iter().cloned().map(object).collect();
    let methods: Option<Vec<String>> = methods.map(|all| all.iter().map(|&method| method.to_owned()).collect());
    let secret = Secret::new(SECRET);
    KeyRing::build(KeySettings { jwks: &jwks, secret: &secret, key_id, valid_methods: methods.as_deref() })
}

fn ring(jwks: &[Value], methods: &[&str]) -> KeyRing {
    ring_with(jwks, "", Some(methods)).expect("keys")
}

fn plain() -> KeyRing {
    ring_with(&[], "", None).expect("keys")
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn elliptic(kid: &str, alg: &str, curve: &str, algorithm: &'static EcdsaSigningAlgorithm) -> Value {
    let pair = EcdsaKeyPair::generate(algorithm).expect("a key");
    let private = AsBigEndian::<EcPrivateKeyBin>::as_be_bytes(&pair.private_key()).expect("its bytes");
    let (x, y) = pair.public_key().as_ref()[1..].split_at((pair.public_key().as_ref().len() - 1) / 2);
    json!({"kty": "EC", "crv": curve, "kid": kid, "alg": alg, "key_ops": ["sign", "verify"], "ext": true,
           "x": encode(x), "y": encode(y), "d": encode(private.as_ref())})
}

fn es256(kid: &str) -> Value {
    elliptic(kid, "ES256", "P-256", &ECDSA_P256_SHA256_FIXED_SIGNING)
}

fn es512(kid: &str) -> Value {
    elliptic(kid, "ES512", "P-521", &ECDSA_P521_SHA512_FIXED_SIGNING)
}

fn edwards(kid: &str) -> Value {
    let pair = Ed25519KeyPair::generate().expect("a key");
    let seed = pair.seed().expect("its seed").as_be_bytes().expect("its bytes").as_ref().to_vec();
    json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "alg": "EdDSA", "key_ops": ["sign", "verify"],
           "x": encode(pair.public_key()), "d": encode(seed)})
}

fn rsa(kid: &str, alg: &str) -> Value {
    let mut key: Value = serde_json::from_str(include_str!("rsa_key.json")).expect("a key");
    key["kid"] = kid.into();
    key["alg"] = alg.into();
    key
}

fn verify_only(mut key: Value) -> Value {
    key["key_ops"] = json!(["verify"]);
    key
}

/// A token with any header, signed by the secret.
fn hand_made(header: &Value, claims: &Value) -> String {
    sign_with(SECRET.as_bytes(), header, claims)
}

fn sign_with(secret: &[u8], header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret);
    format!("{signed}.{}", encode(aws_lc_rs::hmac::sign(&key, signed.as_bytes())))
}

fn refusal(ring: &KeyRing, token: &str) -> String {
    ring.verify(token, now()).expect_err("a refusal").to_string()
}

fn header_of(token: &str) -> Value {
    let header = token.split('.').next().expect("a header");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).expect("base64")).expect("JSON")
}

#[test]
fn every_algorithm_signs_what_it_verifies() {
    let claims = json!({"sub": "ann", "exp": NOW + 3600, "user_metadata": {"name": "Änn"}});
    for (key, method) in [
        (es256("k"), "ES256"),
        (es512("k"), "ES512"),
        (edwards("k"), "EdDSA"),
        (rsa("k", "RS256"), "RS256"),
        (rsa("k", "RS512"), "RS512"),
        (json!({"kty": "oct", "kid": "k", "k": encode("another secret"), "key_ops": ["sign", "verify"]}), "HS256"),
    ] {
        let ring = ring_with(&[key], "", None).expect(method);
        let token = ring.sign(&claims).expect(method);
        assert_eq!(ring.signing_method(), method);
        assert_eq!(header_of(&token), json!({"alg": method, "kid": "k", "typ": "JWT"}));
        assert_eq!(Value::Object(Arc::unwrap_or_clone(ring.verify(&token, now()).expect(method))), claims);
    }
}

#[test]
fn issued_tokens_verify_with_the_published_jwks() {
    let claims = json!({"sub": "ann", "exp": NOW + 3600});
    for key in [es256("k"), edwards("k"), rsa("k", "RS256"), rsa("k", "RS512")] {
        let ring = ring_with(std::slice::from_ref(&key), "", None).expect("keys");
        let token = ring.sign(&claims).expect("a token");
        let published: jsonwebtoken::jwk::JwkSet = serde_json::from_str(ring.jwks_json()).expect("a key set");
        let header = jsonwebtoken::decode_header(&token).expect("a header");
        let jwk = published.find(header.kid.as_deref().expect("an id")).expect("the key");
        let mut validation = jsonwebtoken::Validation::new(header.alg);
        validation.validate_exp = false;
        let read =
            jsonwebtoken::decode::<Value>(&token, &jwk.try_into().expect("a key"), &validation).expect("a valid token");
        assert_eq!(read.claims, claims);
    }
}

#[test]
fn secret_signs_without_jwt_keys() {
    let token = plain().sign(&json!({"sub": "ann"})).expect("a token");
    assert_eq!(header_of(&token), json!({"alg": "HS256", "typ": "JWT"}));
    assert_eq!(token, hand_made(&json!({"alg": "HS256", "typ": "JWT"}), &json!({"sub": "ann"})));
    let named = ring_with(&[], "hs-1", None).expect("keys");
    let token = named.sign(&json!({"sub": "ann"})).expect("a token");
    assert_eq!(header_of(&token), json!({"alg": "HS256", "kid": "hs-1", "typ": "JWT"}));
    for kid in [json!("hs-1"), json!("elsewhere"), json!(5), Value::Null] {
        let token = hand_made(&json!({"alg": "HS256", "kid": kid}), &json!({"sub": "ann"}));
        assert!(named.verify(&token, now()).is_ok(), "{kid}");
    }
}

#[test]
fn public_keys_are_published_without_their_private_members() {
    let keys = [
        es256("signer"),
        verify_only(rsa("old", "RS256")),
        verify_only(edwards("older")),
        json!({"kty": "oct", "kid": "s", "k": encode("secret")}),
    ];
    let ring = ring(&keys, &["ES256"]);
    let published: Value = serde_json::from_str(ring.jwks_json()).expect("JSON");
    let ids: Vec<&Value> = published["keys"].as_array().expect("a list").iter().map(|key| &key["kid"]).collect();
    assert_eq!(ids, [&json!("signer"), &json!("old"), &json!("older")]);
    for key in published["keys"].as_array().expect("a list") {
        assert_eq!((&key["use"], &key["key_ops"]), (&json!("sig"), &json!(["verify"])));
        for name in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(key.get(name).is_none(), "{name} of {key}");
        }
    }
    assert_eq!(published["keys"][0]["ext"], json!(true));
    assert_eq!(plain().jwks_json(), r#"{"keys":[]}"#);
}

#[test]
fn refusals_match_gotrues_messages() {
    let (signer, other) = (es256("signer"), es256("other"));
    let all = ring(
        &[signer.clone(), verify_only(other.clone()), verify_only(rsa("rsa", "RS256"))],
        &["HS256", "ES256", "RS256"],
    );
    let claims = json!({"sub": "ann"});
    let good = all.sign(&claims).expect("a token");
    let with_header = |header: Value| {
        let message = format!("{}.{}", encode(header.to_string()), good.split('.').nth(1).expect("claims"));
        format!("{message}.{}", good.split('.').nth(2).expect("a signature"))
    };
    let elsewhere = ring(&[other], &["ES256"]).sign(&claims).expect("a token");
    let elsewhere_as_signer =
        format!("{}.{}", good.rsplit_once('.').expect("parts").0, elsewhere.rsplit_once('.').expect("parts").1);
    for (token, text) in [
        ("abc".to_owned(), "token is malformed: token contains an invalid number of segments"),
        ("abc.def".to_owned(), "token is malformed: token contains an invalid number of segments"),
        ("a.b.c.d".to_owned(), "token is malformed: token contains an invalid number of segments"),
        (with_header(json!({"typ": "JWT"})), "token is unverifiable: signing method (alg) is unspecified"),
        (with_header(json!({"alg": "HS1"})), "token is unverifiable: signing method (alg) is unavailable"),
        (with_header(json!({"alg": "none"})), "token signature is invalid: signing method none is invalid"),
        (with_header(json!({"alg": "HS384"})), "token signature is invalid: signing method HS384 is invalid"),
        (
            with_header(json!({"alg": "ES256", "kid": "shop-1999"})),
            "token is unverifiable: error while executing keyfunc: unrecognized JWT kid shop-1999 for algorithm ES256",
        ),
        (
            with_header(json!({"alg": "ES256"})),
            "token is unverifiable: error while executing keyfunc: unrecognized JWT kid <nil> for algorithm ES256",
        ),
        (elsewhere_as_signer, "token signature is invalid: crypto/ecdsa: verification error"),
        (
            with_header(json!({"alg": "ES256", "kid": "rsa"})),
            "token signature is invalid: key is of invalid type: ECDSA verify expects *ecdsa.PublicKey",
        ),
        (
            hand_made(&json!({"alg": "HS256", "kid": "signer"}), &claims),
            "token signature is invalid: key is of invalid type: HMAC verify expects []byte",
        ),
        (with_header(json!({"alg": "HS256"})), "token signature is invalid: signature is invalid"),
        (
            with_header(json!({"alg": "RS256", "kid": "rsa"})),
            "token signature is invalid: crypto/rsa: verification error",
        ),
    ] {
        assert_eq!(refusal(&all, &token), text, "{token}");
    }
    let cut = &plain().sign(&claims).expect("a token");
    assert_eq!(refusal(&plain(), &cut[..cut.len() - 4]), "token signature is invalid: signature is invalid");
    assert_eq!(refusal(&plain(), &cut[..cut.len() - 43]), "token signature is invalid: signature is invalid");
    assert!(
        refusal(&plain(), &cut[..cut.len() - 2]).starts_with("token is malformed: could not base64 decode signature: ")
    );
}

#[test]
fn unused_bits_of_header_and_claims_are_ignored() {
    let canonical = encode(json!({"sub": "ann"}).to_string());
    let (start, last) = canonical.split_at(canonical.len() - 1);
    assert_eq!(last, "Q", "four bits of it are unused");
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, SECRET.as_bytes());
    let signed = format!("{}.{start}R", encode(json!({"alg": "HS256"}).to_string()));
    let token = format!("{signed}.{}", encode(aws_lc_rs::hmac::sign(&key, signed.as_bytes())));
    assert_eq!(plain().verify(&token, now()).expect("a token")["sub"], "ann");
}

#[test]
fn public_key_is_never_used_as_hmac_secret() {
    let key = rsa("k", "RS256");
    let ring = ring(std::slice::from_ref(&key), &["RS256", "HS256"]);
    let public = URL_SAFE_NO_PAD.decode(key["n"].as_str().expect("n")).expect("base64");
    for secret in [public, ring.jwks_json().as_bytes().to_vec()] {
        for header in [json!({"alg": "HS256", "kid": "k"}), json!({"alg": "HS256"})] {
            let signed = format!("{}.{}", encode(header.to_string()), encode(json!({"sub": "ann"}).to_string()));
            let mac = aws_lc_rs::hmac::sign(
                &aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret),
                signed.as_bytes(),
            );
            assert!(ring.verify(&format!("{signed}.{}", encode(mac)), now()).is_err());
        }
    }
}

#[test]
fn valid_methods_default_to_those_of_the_keys() {
    let ring = ring_with(&[es256("k")], "", None).expect("keys");
    assert_eq!(
        refusal(&ring, &hand_made(&json!({"alg": "HS256"}), &json!({"role": "service_role"}))),
        "token signature is invalid: signing method HS256 is invalid"
    );
    let none = ring_with(&[], "", Some(&[])).expect("keys");
    assert!(none.verify(&none.sign(&json!({})).expect("a token"), now()).is_err(), "an empty list accepts nothing");
    let unsigned = ring_with(&[], "", Some(&["HS256", "none"])).expect("keys");
    let token = hand_made(&json!({"alg": "none"}), &json!({}));
    assert!(unsigned.verify(&token, now()).is_err() && unsigned.verify(&token[..token.len() - 43], now()).is_err());
}

#[test]
fn times_are_checked_to_the_second_without_leeway() {
    let ring = plain();
    for (claims, outcome) in [
        (json!({}), ""),
        (json!({"exp": null, "nbf": null}), ""),
        (json!({"exp": NOW + 1}), ""),
        (json!({"exp": NOW}), "token has invalid claims: token is expired"),
        (json!({"exp": 1_800_000_000.5}), "token has invalid claims: token is expired"),
        (json!({"exp": 0}), "token has invalid claims: token is expired"),
        (json!({"exp": -1e300}), "token has invalid claims: token is expired"),
        (json!({"exp": 1e300}), "token has invalid claims: token is expired"),
        (json!({"exp": (NOW + 1).to_string()}), ""),
        (json!({"nbf": NOW}), ""),
        (json!({"nbf": NOW + 1}), "token has invalid claims: token is not valid yet"),
        (json!({"exp": NOW, "nbf": NOW + 1}), "token has invalid claims: token is expired, token is not valid yet"),
        (json!({"iat": NOW + 600, "iss": "elsewhere", "aud": ["a", "b"]}), ""),
        (json!({"exp": "tomorrow"}), "token is malformed: could not JSON decode claim: exp is no number"),
        (json!({"sub": 5}), "token is malformed: could not JSON decode claim: sub is no string"),
        (json!({"aud": [5]}), "token is malformed: could not JSON decode claim: aud is no string or list of strings"),
    ] {
        let token = ring.sign(&claims).expect("a token");
        let text = ring.verify(&token, now()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text, outcome, "{claims}");
    }
}

#[test]
fn empty_secret_verifies_and_signs_nothing() {
    let methods = ["HS256".to_owned()];
    let settings = KeySettings { jwks: &[], secret: &Secret::default(), key_id: "", valid_methods: Some(&methods) };
    assert_eq!(
        KeyRing::build(settings).expect_err("no key").to_string(),
        "the JWT key \"\" cannot be used: it is empty"
    );
    let ring = KeyRing::build(KeySettings { jwks: &[object(es256("k"))], ..settings }).expect("keys");
    for header in [json!({"alg": "HS256"}), json!({"alg": "HS256", "kid": ""})] {
        let text = refusal(&ring, &sign_with(b"", &header, &json!({"exp": NOW + 60})));
        assert!(text.starts_with("token is unverifiable: error while executing keyfunc: "), "{text}");
    }
}

#[test]
fn invalid_keys_are_reported() {
    let mut foreign = es256("k");
    foreign["d"] = es256("k")["d"].clone();
    let mut short = rsa("k", "RS256");
    short["n"] = encode([200_u8; 128]).into();
    let mut without_algorithm = rsa("k", "RS256");
    without_algorithm.as_object_mut().expect("an object").remove("alg");
    for (jwks, text) in [
        (vec![verify_only(es256("k"))], "no signing key detected"),
        (vec![es256("a"), es256("b")], "multiple signing keys detected, only 1 signing key is supported"),
        (vec![foreign], "the JWT key \"k\" cannot be used: d is not the private key of x and y"),
        (vec![short], "the JWT key \"k\" cannot be used: an RSA key needs at least 2048 bits"),
        (vec![without_algorithm], "the JWT key \"k\" cannot be used: alg \"\" with kty \"RSA\""),
        (vec![json!({"kty": "oct", "kid": "k"})], "the JWT key \"k\" cannot be used: member k is missing"),
        (vec![json!({"kty": "oct", "kid": "k", "k": "ä"})], "the JWT key \"k\" cannot be used: member k is no base64"),
        (vec![json!({"kty": "oct", "kid": "k", "k": ""})], "the JWT key \"k\" cannot be used: it is empty"),
    ] {
        let error = ring_with(&jwks, "", None).expect_err(text).to_string();
        assert!(error.starts_with(text), "{error}");
    }
    let last_wins = ring_with(&[es256("k"), es256("k")], "", None).expect("the last of two keys with one id");
    assert!(!format!("{last_wins:?}").contains(SECRET), "keys do not print themselves");
}

#[test]
fn only_unused_bits_of_a_signature_may_differ_and_only_if_its_encoding_is_not_strict() {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let ring = plain();
    let token = ring.sign(&json!({"sub": "ann", "exp": NOW + 60})).expect("a token");
    let strict = plain().with_strict_signature_encoding(true);
    let (start, last) = token.split_at(token.len() - 1);
    // The last of 43 characters has four bits of a signature of 32 bytes.
    let significant_bits = |character: &str| ALPHABET.find(character).expect("base64url") >> 2;
    for other in ALPHABET.split_inclusive(|_| true) {
        let changed = format!("{start}{other}");
        let has_same_bits = significant_bits(other) == significant_bits(last);
        assert_eq!(ring.verify(&changed, now()).is_ok(), has_same_bits, "{changed}");
        assert_eq!(strict.verify(&changed, now()).is_ok(), other == last, "{changed}");
    }
}

/// Keys that accept one spelling of a signature.
static MUTATED: LazyLock<Vec<(KeyRing, String)>> = LazyLock::new(|| {
    [
        ring_with(&[], "", None),
        ring_with(&[es256("k")], "", Some(&["ES256", "HS256"])),
        ring_with(&[edwards("k")], "", None),
    ]
    .into_iter()
    .map(|ring| {
        let ring = ring.expect("keys").with_strict_signature_encoding(true);
        let token = ring.sign(&json!({"sub": "ann", "exp": NOW + 60, "role": "authenticated"})).expect("a token");
        (ring, token)
    })
    .collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_token_is_refused(which in 0..3_usize, at in any::<prop::sample::Index>(), put in "[A-Za-z0-9_.=-]|") {
        let (ring, token) = &MUTATED[which];
        let at = at.index(token.len());
        let changed = format!("{}{put}{}", &token[..at], &token[at + 1..]);
        prop_assume!(&changed != token);
        prop_assert!(ring.verify(&changed, now()).is_err(), "{changed}");
    }

    #[test]
    fn truncated_or_extended_token_is_refused(which in 0..3_usize, cut in any::<prop::sample::Index>(), more in "[A-Za-z0-9_=.-]{1,8}") {
        let (ring, token) = &MUTATED[which];
        prop_assert!(ring.verify(&token[..cut.index(token.len())], now()).is_err());
        let longer = format!("{token}{more}");
        prop_assert!(ring.verify(&longer, now()).is_err());
    }

    #[test]
    fn arbitrary_text_is_refused_without_panic(token in "\\PC{0,60}|[A-Za-z0-9_-]{0,30}\\.[A-Za-z0-9_-]{0,30}\\.[A-Za-z0-9_-]{0,30}") {
        prop_assert!(plain().verify(&token, now()).is_err());
    }
}
