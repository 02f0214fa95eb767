//! Parses JWS compact serializations (RFC 7515 §7.1) and lists the accepted algorithms.
//! Nothing is verified here.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::go_json::Document;

/// Ignores trailing bits at the end of a signature.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The longest accepted token in bytes; known providers send less than 10,000.
const MAX_TOKEN_LENGTH: usize = 100_000;

/// Accepted signature algorithms (RFC 7518 §3.1). HMAC algorithms and `none` are excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    ES512,
    EdDSA,
}

/// The algorithms by name.
const ALGORITHM_NAMES: [(&str, Algorithm); 10] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("ES512", Algorithm::ES512),
    ("EdDSA", Algorithm::EdDSA),
];

impl Algorithm {
    /// The accepted algorithm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        ALGORITHM_NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    /// The hash function of the algorithm, which `at_hash` uses.
    pub fn digest(self) -> &'static aws_lc_rs::digest::Algorithm {
        match self {
            Self::RS256 | Self::PS256 | Self::ES256 => &aws_lc_rs::digest::SHA256,
            Self::RS384 | Self::PS384 | Self::ES384 => &aws_lc_rs::digest::SHA384,
            Self::RS512 | Self::PS512 | Self::ES512 | Self::EdDSA => &aws_lc_rs::digest::SHA512,
        }
    }
}

/// Why a token cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// Not three base64url parts with JSON objects in the first two, or too long.
    #[error("the token is not a JWS of three parts")]
    Format,
    /// The algorithm is missing or not accepted.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// The header contains `crit` or `b64`, which change the meaning of other members.
    #[error("the token's header contains crit or b64")]
    Critical,
}

/// A parsed, unverified JWS.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactJws<'a> {
    /// `alg`.
    pub algorithm: Algorithm,
    /// `kid`; empty if absent.
    pub kid: String,
    /// The JWS signing input: the first two parts as sent, without white space.
    pub signing_input: Cow<'a, str>,
    pub signature: Vec<u8>,
    /// The unverified claims.
    pub claims: Document,
}

impl<'a> CompactJws<'a> {
    /// Parses a token.
    pub fn parse(token: &'a str) -> Result<Self, JwsError> {
        if token.len() > MAX_TOKEN_LENGTH {
            return Err(JwsError::Format);
        }
        let token = strip_whitespace(token);
        let [header, claims, signature] = split_parts(&token).ok_or(JwsError::Format)?;
        let (end, signature) = (header.len() + 1 + claims.len(), decode(signature, &LENIENT_BASE64)?);
        // Header members are matched by their exact, case-sensitive names.
        let header = decode_object(header)?.to_map().map_err(|_| JwsError::Format)?;
        let claims = decode_object(claims)?;
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(JwsError::Critical);
        }
        let name = header.get("alg").and_then(Value::as_str).ok_or(JwsError::Algorithm)?;
        let kid = match header.get("kid") {
            None | Some(Value::Null) => String::new(),
            Some(kid) => kid.as_str().ok_or(JwsError::Format)?.to_owned(),
        };
        let algorithm = Algorithm::from_name(name).ok_or(JwsError::Algorithm)?;
        let signed = match token {
            Cow::Borrowed(token) => Cow::Borrowed(&token[..end]),
            Cow::Owned(mut token) => {
                token.truncate(end);
                Cow::Owned(token)
            }
        };
        Ok(Self { algorithm, kid, signing_input: signed, signature, claims })
    }
}

/// The unverified issuer of a token, used only to select the keys.
/// `None` if the token cannot be parsed; empty if it has no issuer.
pub fn unverified_issuer(token: &str) -> Option<String> {
    let [_, claims, _] = split_parts(token)?;
    let claims: IssuerClaim = decode_object(claims).ok()?.read().ok()?;
    Some(claims.iss)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct IssuerClaim {
    iss: String,
}

/// Removes white space: some clients send a token with a trailing line break.
fn strip_whitespace(token: &str) -> Cow<'_, str> {
    if token.contains(char::is_whitespace) {
        Cow::Owned(token.chars().filter(|character| !character.is_whitespace()).collect())
    } else {
        Cow::Borrowed(token)
    }
}

fn split_parts(token: &str) -> Option<[&str; 3]> {
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(claims), Some(signature), None) => Some([header, claims, signature]),
        _ => None,
    }
}

fn decode_object(part: &str) -> Result<Document, JwsError> {
    Document::parse(&decode(part, &URL_SAFE_NO_PAD)?).map_err(|_| JwsError::Format)
}

fn decode(part: &str, base64: &GeneralPurpose) -> Result<Vec<u8>, JwsError> {
    base64.decode(part).map_err(|_| JwsError::Format)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.{}", part(header), part(claims), URL_SAFE_NO_PAD.encode([7, 7]))
    }

    #[test]
    fn token_must_have_three_parts() {
        let whole = token(&json!({"alg": "ES256", "kid": "k"}), &json!({"iss": "i"}));
        let compact = CompactJws::parse(&whole).unwrap();
        assert_eq!((compact.algorithm, compact.kid.as_str()), (Algorithm::ES256, "k"));
        assert_eq!(compact.signature, [7, 7]);
        assert_eq!(format!("{}.Bwc", compact.signing_input), whole);
        assert_eq!(compact.claims, Document::from(json!({"iss": "i"})));
        for broken in ["", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30.e30", &format!("{whole}.e30"), &format!("{whole}=")]
        {
            assert!(CompactJws::parse(broken).is_err(), "{broken}");
        }
        assert_eq!(CompactJws::parse(&format!("{whole}{}", "A".repeat(MAX_TOKEN_LENGTH))), Err(JwsError::Format));
    }

    #[test]
    fn only_asymmetric_algorithms_are_accepted() {
        for (name, algorithm) in ALGORITHM_NAMES {
            assert_eq!(CompactJws::parse(&token(&json!({ "alg": name }), &json!({}))).unwrap().algorithm, algorithm);
        }
        for other in [json!("none"), json!("None"), json!("HS256"), json!("rs256"), json!(""), json!(null), json!(1)] {
            let refused = CompactJws::parse(&token(&json!({ "alg": other }), &json!({}))).unwrap_err();
            assert_eq!(refused, JwsError::Algorithm, "{other}");
        }
    }

    #[test]
    fn critical_header_members_are_rejected() {
        for (name, value) in [("crit", json!(["exp"])), ("b64", json!(false))] {
            let asking = token(&json!({"alg": "RS256", name: value}), &json!({}));
            assert_eq!(CompactJws::parse(&asking), Err(JwsError::Critical));
        }
        assert_eq!(CompactJws::parse(&token(&json!({"alg": "RS256", "kid": 1}), &json!({}))), Err(JwsError::Format));
    }

    #[test]
    fn unverified_issuer_ignores_header() {
        assert_eq!(unverified_issuer(&token(&json!({}), &json!({"iss": "i"}))).as_deref(), Some("i"));
        assert_eq!(unverified_issuer(&token(&json!({}), &json!({}))).as_deref(), Some(""));
        assert_eq!(unverified_issuer("a.e30.c").as_deref(), Some(""));
        for broken in ["a.b", "a.b.c", "a.e30", "", &token(&json!({}), &json!({"iss": 1}))] {
            assert_eq!(unverified_issuer(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in ".{0,200}", parts in proptest::collection::vec("[A-Za-z0-9_=-]{0,40}", 0..5)) {
            let _ = (CompactJws::parse(&text), unverified_issuer(&text));
            let joined = parts.join(".");
            let _ = (CompactJws::parse(&joined), unverified_issuer(&joined));
        }

        #[test]
        // U+0000 is rejected in received JSON.
        fn key_id_and_issuer_round_trip(kid in "[^\\x00]{0,40}", iss in "[^\\x00]{0,40}") {
            let whole = token(&json!({"alg": "PS512", "kid": kid}), &json!({"iss": iss}));
            let compact = CompactJws::parse(&whole).unwrap();
            prop_assert_eq!(compact.kid, kid);
            prop_assert_eq!(unverified_issuer(&whole), Some(iss));
        }
    }
}
