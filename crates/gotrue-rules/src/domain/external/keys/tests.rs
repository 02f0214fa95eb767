use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding};
use serde_json::json;

use super::*;

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn unsigned(algorithm: &str, kid: &str) -> String {
    let header = json!({"alg": algorithm, "kid": kid});
    format!("{}.{}", encoded(header.to_string()), encoded(json!({"iss": "i", "sub": "s"}).to_string()))
}

fn set(keys: &[Value]) -> KeySet {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn verify_with<const N: usize>(keys: [&Value; N], token: &str) -> SignatureOutcome {
    set(&keys.map(Value::clone)).verify(&CompactJws::parse(token).unwrap())
}

fn with(key: &Value, name: &str, value: Value) -> Value {
    let mut key = key.clone();
    key[name] = value;
    key
}

/// A key pair on a curve: the public key and a signing function.
fn ec_key(curve: &str, size: usize, how: &'static EcdsaSigningAlgorithm) -> (Value, impl Fn(&str) -> String) {
    let pair = EcdsaKeyPair::generate(how).unwrap();
    let point = pair.public_key().as_ref()[1..].to_vec();
    let (x, y) = point.split_at(size);
    let key = json!({"kty": "EC", "crv": curve, "kid": "k", "x": encoded(x), "y": encoded(y)});
    let sign = move |text: &str| {
        let signature = pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", encoded(signature))
    };
    (key, sign)
}

fn rsa_key() -> (Value, RsaKeyPair) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    // RSAPublicKey: SEQUENCE, INTEGER of 257 bytes whose first is zero, INTEGER of three.
    let der = pair.public_key().as_ref().to_vec();
    let key = json!({"kty": "RSA", "kid": "k", "n": encoded(&der[9..265]), "e": encoded(&der[267..270])});
    (key, pair)
}

fn signed(pair: &RsaKeyPair, how: &'static dyn RsaEncoding, text: &str) -> String {
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(how, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    format!("{text}.{}", encoded(signature))
}

#[test]
fn algorithm_verifies_only_with_matching_key_type() {
    let (rsa, pair) = rsa_key();
    let (p256, by_p256) = ec_key("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let (p384, by_p384) = ec_key("P-384", 48, &signature::ECDSA_P384_SHA384_FIXED_SIGNING);
    let (p521, by_p521) = ec_key("P-521", 66, &signature::ECDSA_P521_SHA512_FIXED_SIGNING);
    let edwards = Ed25519KeyPair::generate().unwrap();
    let ed25519 = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": encoded(edwards.public_key())});
    let by_rsa = |name: &str, how: &'static dyn RsaEncoding| signed(&pair, how, &unsigned(name, "k"));
    let by_ed = |text: String| format!("{text}.{}", encoded(edwards.sign(text.as_bytes())));
    let tokens = [
        (by_rsa("RS256", &signature::RSA_PKCS1_SHA256), &rsa),
        (by_rsa("RS384", &signature::RSA_PKCS1_SHA384), &rsa),
        (by_rsa("RS512", &signature::RSA_PKCS1_SHA512), &rsa),
        (by_rsa("PS256", &signature::RSA_PSS_SHA256), &rsa),
        (by_rsa("PS384", &signature::RSA_PSS_SHA384), &rsa),
        (by_rsa("PS512", &signature::RSA_PSS_SHA512), &rsa),
        (by_p256(&unsigned("ES256", "k")), &p256),
        (by_p384(&unsigned("ES384", "k")), &p384),
        (by_p521(&unsigned("ES512", "k")), &p521),
        (by_ed(unsigned("EdDSA", "k")), &ed25519),
    ];
    let keys = [&rsa, &p256, &p384, &p521, &ed25519];
    for (token, own) in &tokens {
        for key in keys {
            let expected = if key == *own { SignatureOutcome::Valid } else { SignatureOutcome::Invalid };
            assert_eq!(verify_with([key], token), expected, "{token} with {key}");
        }
    }
    // A signature is valid for one algorithm only: the same key rejects it under another name.
    let renamed = tokens[0].0.replacen(&unsigned("RS256", "k"), &unsigned("PS256", "k"), 1);
    assert_eq!(verify_with([&rsa], &renamed), SignatureOutcome::Invalid);
    // A key restricted to one algorithm rejects others.
    assert_eq!(verify_with([&with(&rsa, "alg", json!("RS256"))], &tokens[0].0), SignatureOutcome::Valid);
    assert_eq!(verify_with([&with(&rsa, "alg", json!("RS512"))], &tokens[0].0), SignatureOutcome::Invalid);
}

#[test]
fn changed_byte_invalidates_signature() {
    let (key, sign) = ec_key("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let token = sign(&unsigned("ES256", "k"));
    let keys = set(&[key]);
    for (position, character) in token.char_indices().filter(|(_, character)| *character != '.') {
        // The last character of the signature has two significant bits: `A` and `w` differ in them, `A` and `B` do not.
        let mut changed = token.clone();
        changed.replace_range(position..=position, if character == 'A' { "w" } else { "A" });
        let holds = CompactJws::parse(&changed).is_ok_and(|token| keys.verify(&token) == SignatureOutcome::Valid);
        assert!(!holds, "character {position} of {token}");
    }
}

#[test]
fn key_is_selected_by_id_or_all_are_tried() {
    let (key, sign) = ec_key("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let (other, _) = ec_key("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let other = with(&other, "kid", json!("other"));
    let (named, unnamed) = (sign(&unsigned("ES256", "k")), sign(&unsigned("ES256", "")));
    assert_eq!(verify_with([&other, &key], &named), SignatureOutcome::Valid);
    assert_eq!(verify_with([&other, &key], &unnamed), SignatureOutcome::Valid);
    assert_eq!(verify_with([&other], &named), SignatureOutcome::UnknownKey);
    assert_eq!(verify_with([&other], &unnamed), SignatureOutcome::Invalid);
    assert_eq!(verify_with([], &unnamed), SignatureOutcome::UnknownKey);
    // Either of two keys with the same id may have signed.
    assert_eq!(verify_with([&with(&other, "kid", json!("k")), &key], &named), SignatureOutcome::Valid);
}

#[test]
fn unusable_keys_are_skipped() {
    let (key, sign) = ec_key("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let token = sign(&unsigned("ES256", "k"));
    assert_eq!(
        verify_with([&json!(7), &json!({}), &json!({"kty": "oct", "k": "AA"}), &key], &token),
        SignatureOutcome::Valid
    );
    for spoilt in [
        with(&key, "use", json!("enc")),
        with(&key, "crv", json!("P-384")),
        with(&key, "crv", json!("secp256k1")),
        with(&key, "alg", json!("ES256K")),
        with(&key, "alg", json!("HS256")),
        with(&key, "x", json!(null)),
        with(&key, "y", json!("!")),
        with(&key, "kty", json!("RSA")),
    ] {
        assert_ne!(verify_with([&spoilt], &token), SignatureOutcome::Valid, "{spoilt}");
    }
    let small = json!({"kty": "RSA", "kid": "k", "n": encoded([0xff; 128]), "e": "AQAB"});
    let text = format!("{}.{}", unsigned("RS256", "k"), encoded([1; 128]));
    assert_eq!(verify_with([&small], &text), SignatureOutcome::Invalid);
    for document in ["", "[]", "{}", r#"{"keys": {}}"#, "nothing"] {
        assert_eq!(KeySet::parse(document.as_bytes()), Err(KeySetError), "{document}");
    }
}

#[test]
fn coordinates_may_lack_leading_zeros() {
    let (x, y) = ([1; 31], [2; 32]);
    let point = Curve::P256.encode_point(&x, &y).unwrap();
    assert_eq!((point.len(), &point[..3]), (65, &[4, 0, 1][..]));
    assert_eq!(Curve::P256.encode_point(&[1; 33], &y), None);
}
