//! Signed tokens (RFC 7515) with the keys of settings and flows.
//!
//! Also one-time passwords, and refresh tokens of version 2.

use aws_lc_rs::digest;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use foundation::time::format_seconds;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::arguments::Arguments;
use crate::FlowError;
use crate::symbols::decode_base64url;
use crate::tokens::{decode_base32, one_time_password};

/// A key that a flow changed may have bits behind its last byte.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Answers a call; `None` if the name is none of a token. `now` is in seconds.
pub(super) fn call(name: &str, arguments: &Value, now: f64) -> Result<Option<Value>, FlowError> {
    let of = Arguments::new(name, arguments);
    Ok(Some(match name {
        "time" => now.into(),
        "iso_time" => iso_time(now + arguments.as_f64().unwrap_or_default()).into(),
        "jws_sign" => sign(arguments, &of)?.into(),
        "jws_verifies" => verifies(arguments).unwrap_or(false).into(),
        "totp" => totp(arguments, now).ok_or_else(|| of.wanted("{\"secret\": base32}"))?.into(),
        "refresh_v2" => {
            refresh_token(arguments).ok_or_else(|| of.wanted("{\"session\", \"counter\", \"key\"}"))?.into()
        }
        _ => return Ok(None),
    }))
}

#[expect(clippy::cast_possible_truncation, reason = "times in seconds are below 2^52")]
pub(super) fn iso_time(seconds: f64) -> String {
    let time = chrono::DateTime::from_timestamp(seconds as i64, 0).unwrap_or_default();
    format_seconds(time)
}

/// Signs claims with a JWK; a member of `header` that is null is left out.
fn sign(arguments: &Value, of: &Arguments<'_>) -> Result<String, FlowError> {
    let key = &arguments["key"];
    let mut header = Map::new();
    header.insert("alg".to_owned(), key.get("alg").cloned().unwrap_or_else(|| "HS256".into()));
    header.insert("typ".to_owned(), "JWT".into());
    header.insert("kid".to_owned(), key["kid"].clone());
    for (name, value) in arguments["header"].as_object().into_iter().flatten() {
        header.insert(name.clone(), value.clone());
    }
    header.retain(|_, value| !value.is_null());
    let part = |value: &str| URL_SAFE_NO_PAD.encode(value);
    let body = format!("{}.{}", part(&Value::Object(header).to_string()), part(&arguments["claims"].to_string()));
    let signature = signature(body.as_bytes(), key).ok_or_else(|| of.wanted("{\"claims\": {…}, \"key\": JWK}"))?;
    Ok(format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// Returns the signature of a message with a private or symmetric JWK.
pub(super) fn signature(message: &[u8], key: &Value) -> Option<Vec<u8>> {
    let member = |name: &str| decode_base64url(key[name].as_str()?);
    match key["kty"].as_str()? {
        "oct" => Some(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &member("k")?), message).as_ref().to_vec()),
        "RSA" => {
            let pair = RsaKeyPair::from_der(&STANDARD.decode(key["der"].as_str()?).ok()?).ok()?;
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).ok()?;
            Some(signature)
        }
        _ => {
            let pair = EcdsaKeyPair::from_private_key_and_public_key(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &member("d")?,
                &point(key)?,
            );
            Some(pair.ok()?.sign(&SystemRandom::new(), message).ok()?.as_ref().to_vec())
        }
    }
}

/// The public point of a JWK, uncompressed.
fn point(key: &Value) -> Option<Vec<u8>> {
    let mut point = vec![4];
    point.extend(decode_base64url(key["x"].as_str()?)?);
    point.extend(decode_base64url(key["y"].as_str()?)?);
    Some(point)
}

/// Verifies a token with a public or symmetric JWK.
fn verifies(arguments: &Value) -> Option<bool> {
    let (key, token) = (&arguments["key"], arguments["token"].as_str()?);
    let (message, signature) = token.rsplit_once('.')?;
    let signature = decode_base64url(signature)?;
    let member = |name: &str| decode_base64url(key[name].as_str()?);
    Some(match key["kty"].as_str()? {
        "oct" => {
            hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &member("k")?), message.as_bytes(), &signature).is_ok()
        }
        "RSA" => {
            let public = RsaPublicKeyComponents { n: member("n")?, e: member("e")? };
            public.verify(&RSA_PKCS1_2048_8192_SHA256, message.as_bytes(), &signature).is_ok()
        }
        _ => {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point(key)?).verify(message.as_bytes(), &signature).is_ok()
        }
    })
}

/// A one-time password (RFC 6238) with HMAC-SHA-1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive and below 2^52")]
fn totp(arguments: &Value, now: f64) -> Option<String> {
    let secret = decode_base32(arguments["secret"].as_str()?)?;
    let number = |name: &str, default: u64| arguments[name].as_u64().unwrap_or(default);
    let at = arguments["at"].as_f64().unwrap_or(now) as u64;
    let counter = at / number("step", 30).max(1);
    Some(one_time_password(&secret, counter, number("digits", 6)))
}

/// A refresh token of version 2 for a session, a counter and the key of the session.
fn refresh_token(arguments: &Value) -> Option<String> {
    let session = Uuid::parse_str(arguments["session"].as_str()?).ok()?;
    let version = arguments["version"].as_u64().unwrap_or(0);
    let mut body = vec![u8::try_from(version).ok()?];
    body.extend(session.as_bytes());
    let mut counter = arguments["counter"].as_u64()?;
    while counter >= 0x80 {
        body.push(u8::try_from(counter & 0x7F).ok()? | 0x80);
        counter >>= 7;
    }
    body.push(u8::try_from(counter).ok()?);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &LENIENT.decode(arguments["key"].as_str()?).ok()?);
    let tag = hmac::sign(&key, &body);
    body.extend(&tag.as_ref()[..16]);
    let sum = digest::digest(&digest::SHA256, &body);
    body.extend(&sum.as_ref()[..4]);
    Some(URL_SAFE_NO_PAD.encode(body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn compute(name: &str, arguments: &Value) -> Value {
        call(name, arguments, 59.0).expect("the arguments fit").expect("the name is known")
    }

    #[test]
    fn one_time_password_is_that_of_the_rfc() {
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        assert_eq!(compute("totp", &json!({ "secret": secret })), "287082");
        assert_eq!(compute("totp", &json!({ "secret": secret, "at": 1_111_111_109, "digits": 8 })), "07081804");
        assert_eq!(compute("totp", &json!({ "secret": secret.to_ascii_lowercase() })), "287082");
    }

    #[test]
    fn signed_token_verifies_with_its_key_only() {
        let key = json!({ "kty": "oct", "alg": "HS256", "k": "c2VjcmV0" });
        let token = compute("jws_sign", &json!({ "claims": { "sub": "ann" }, "key": key }));
        assert_eq!(compute("jws_verifies", &json!({ "token": token, "key": key })), true);
        let other = json!({ "kty": "oct", "k": "b3RoZXI" });
        assert_eq!(compute("jws_verifies", &json!({ "token": token, "key": other })), false);
    }

    proptest! {
        #[test]
        fn any_secret_is_decoded_or_rejected(secret in "\\PC{0,40}") {
            let _ = call("totp", &json!({ "secret": secret }), 59.0);
        }
    }
}
