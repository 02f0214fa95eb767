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

fn verdict<const N: usize>(keys: [&Value; N], token: &str) -> Verdict {
    set(&keys.map(Value::clone)).verify(&Compact::parse(token).unwrap())
}

fn with(key: &Value, name: &str, value: Value) -> Value {
    let mut key = key.clone();
    key[name] = value;
    key
}

/// A pair on a curve: the public key, and what signs with it.
fn elliptic(curve: &str, size: usize, how: &'static EcdsaSigningAlgorithm) -> (Value, impl Fn(&str) -> String) {
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
fn every_algorithm_verifies_with_a_key_of_its_kind_only() {
    let (rsa, pair) = rsa_key();
    let (p256, by_p256) = elliptic("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let (p384, by_p384) = elliptic("P-384", 48, &signature::ECDSA_P384_SHA384_FIXED_SIGNING);
    let (p521, by_p521) = elliptic("P-521", 66, &signature::ECDSA_P521_SHA512_FIXED_SIGNING);
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
            let expected = if key == *own { Verdict::Signed } else { Verdict::NotSigned };
            assert_eq!(verdict([key], token), expected, "{token} with {key}");
        }
    }
    // A signature is that of one algorithm: the same key does not take it under another name.
    let renamed = tokens[0].0.replacen(&unsigned("RS256", "k"), &unsigned("PS256", "k"), 1);
    assert_eq!(verdict([&rsa], &renamed), Verdict::NotSigned);
    // A key that is for one algorithm is for no other.
    assert_eq!(verdict([&with(&rsa, "alg", json!("RS256"))], &tokens[0].0), Verdict::Signed);
    assert_eq!(verdict([&with(&rsa, "alg", json!("RS512"))], &tokens[0].0), Verdict::NotSigned);
}

#[test]
fn a_changed_byte_anywhere_is_no_signature() {
    let (key, sign) = elliptic("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let token = sign(&unsigned("ES256", "k"));
    let keys = set(&[key]);
    for (place, letter) in token.char_indices().filter(|(_, letter)| *letter != '.') {
        let mut changed = token.clone();
        changed.replace_range(place..=place, if letter == 'A' { "B" } else { "A" });
        let holds = Compact::parse(&changed).is_ok_and(|token| keys.verify(&token) == Verdict::Signed);
        assert!(!holds, "letter {place} of {token}");
    }
}

#[test]
fn keys_are_found_by_name_or_tried_one_after_the_other() {
    let (key, sign) = elliptic("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let (other, _) = elliptic("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let other = with(&other, "kid", json!("other"));
    let (named, unnamed) = (sign(&unsigned("ES256", "k")), sign(&unsigned("ES256", "")));
    assert_eq!(verdict([&other, &key], &named), Verdict::Signed);
    assert_eq!(verdict([&other, &key], &unnamed), Verdict::Signed);
    assert_eq!(verdict([&other], &named), Verdict::UnknownKey);
    assert_eq!(verdict([&other], &unnamed), Verdict::NotSigned);
    assert_eq!(verdict([], &unnamed), Verdict::UnknownKey);
    // Of two keys of one name either may have signed.
    assert_eq!(verdict([&with(&other, "kid", json!("k")), &key], &named), Verdict::Signed);
}

#[test]
fn what_is_no_key_for_signatures_is_passed_over() {
    let (key, sign) = elliptic("P-256", 32, &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let token = sign(&unsigned("ES256", "k"));
    assert_eq!(verdict([&json!(7), &json!({}), &json!({"kty": "oct", "k": "AA"}), &key], &token), Verdict::Signed);
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
        assert_ne!(verdict([&spoilt], &token), Verdict::Signed, "{spoilt}");
    }
    let small = json!({"kty": "RSA", "kid": "k", "n": encoded([0xff; 128]), "e": "AQAB"});
    let text = format!("{}.{}", unsigned("RS256", "k"), encoded([1; 128]));
    assert_eq!(verdict([&small], &text), Verdict::NotSigned);
    for document in ["", "[]", "{}", r#"{"keys": {}}"#, "nothing"] {
        assert_eq!(KeySet::parse(document.as_bytes()), Err(NoKeySet), "{document}");
    }
}

#[test]
fn leading_zeros_of_a_coordinate_may_be_left_out() {
    let (x, y) = ([1; 31], [2; 32]);
    let point = Curve::P256.point(&x, &y).unwrap();
    assert_eq!((point.len(), &point[..3]), (65, &[4, 0, 1][..]));
    assert_eq!(Curve::P256.point(&[1; 33], &y), None);
}
