//! A signed token taken apart (RFC 7515, the compact form only), and the algorithms that are accepted. Nothing of it
//! has been verified here.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::go_json::Document;

/// Bits left over at the end of a signature are not looked at.
const LOOSE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The longest token that is looked at, in bytes: those known are below ten thousand.
const LONGEST: usize = 100_000;

/// Algorithms with which an issuer may sign; a secret shared with it and `none` are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are RFC 7518's own names")]
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

/// Their names.
const NAMES: [(&str, Algorithm); 10] = [
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
    /// The algorithm of that name, if it is accepted.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    /// The hash that goes with it: what `at_hash` is made with.
    pub fn digest(self) -> &'static aws_lc_rs::digest::Algorithm {
        match self {
            Self::RS256 | Self::PS256 | Self::ES256 => &aws_lc_rs::digest::SHA256,
            Self::RS384 | Self::PS384 | Self::ES384 => &aws_lc_rs::digest::SHA384,
            Self::RS512 | Self::PS512 | Self::ES512 | Self::EdDSA => &aws_lc_rs::digest::SHA512,
        }
    }
}

/// What is wrong with a token's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not three parts in base64url with JSON objects in the first two, or far too long.
    #[error("it is no token of three parts")]
    Form,
    /// An algorithm that is not accepted, or none.
    #[error("its algorithm is not accepted")]
    Algorithm,
    /// Header members that change what the rest means.
    #[error("its header asks for what is not understood")]
    Critical,
}

/// A token taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Compact<'a> {
    /// How it says it is signed.
    pub algorithm: Algorithm,
    /// The name of its key; empty: it names none.
    pub kid: String,
    /// What is signed: the first two parts as sent, without white space.
    pub signed: Cow<'a, str>,
    /// The signature.
    pub signature: Vec<u8>,
    /// The claims, which nobody vouches for yet.
    pub claims: Document,
}

impl<'a> Compact<'a> {
    /// Takes a token apart.
    pub fn parse(token: &'a str) -> Result<Self, Malformed> {
        if token.len() > LONGEST {
            return Err(Malformed::Form);
        }
        let token = without_space(token);
        let [header, claims, signature] = parts(&token).ok_or(Malformed::Form)?;
        let kept = (header.len() + 1 + claims.len(), decode(signature, &LOOSE)?);
        // Header members are found by their exact names only.
        let header = object(header)?.to_map().map_err(|_| Malformed::Form)?;
        let claims = object(claims)?;
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(Malformed::Critical);
        }
        let name = header.get("alg").and_then(Value::as_str).ok_or(Malformed::Algorithm)?;
        let kid = match header.get("kid") {
            None | Some(Value::Null) => String::new(),
            Some(kid) => kid.as_str().ok_or(Malformed::Form)?.to_owned(),
        };
        let algorithm = Algorithm::from_name(name).ok_or(Malformed::Algorithm)?;
        let (end, signature) = kept;
        let signed = match token {
            Cow::Borrowed(token) => Cow::Borrowed(&token[..end]),
            Cow::Owned(mut token) => {
                token.truncate(end);
                Cow::Owned(token)
            }
        };
        Ok(Self { algorithm, kid, signed, signature, claims })
    }
}

/// The issuer that a token names, before anything of it is verified: only to find out whose keys are wanted. None for
/// what is no token; empty if it names none.
pub fn named_issuer(token: &str) -> Option<String> {
    let [_, claims, _] = parts(token)?;
    let claims: Issued = object(claims).ok()?.read().ok()?;
    Some(claims.iss)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Issued {
    iss: String,
}

/// White space in a token counts for nothing: some clients hand it on with a line break at its end.
fn without_space(token: &str) -> Cow<'_, str> {
    if token.contains(char::is_whitespace) {
        Cow::Owned(token.chars().filter(|letter| !letter.is_whitespace()).collect())
    } else {
        Cow::Borrowed(token)
    }
}

fn parts(token: &str) -> Option<[&str; 3]> {
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(claims), Some(signature), None) => Some([header, claims, signature]),
        _ => None,
    }
}

fn object(part: &str) -> Result<Document, Malformed> {
    Document::parse(&decode(part, &URL_SAFE_NO_PAD)?).map_err(|_| Malformed::Form)
}

fn decode(part: &str, base64: &GeneralPurpose) -> Result<Vec<u8>, Malformed> {
    base64.decode(part).map_err(|_| Malformed::Form)
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
    fn a_token_has_three_parts() {
        let whole = token(&json!({"alg": "ES256", "kid": "k"}), &json!({"iss": "i"}));
        let compact = Compact::parse(&whole).unwrap();
        assert_eq!((compact.algorithm, compact.kid.as_str()), (Algorithm::ES256, "k"));
        assert_eq!(compact.signature, [7, 7]);
        assert_eq!(format!("{}.Bwc", compact.signed), whole);
        assert_eq!(compact.claims, Document::from(json!({"iss": "i"})));
        for broken in ["", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30.e30", &format!("{whole}.e30"), &format!("{whole}=")]
        {
            assert!(Compact::parse(broken).is_err(), "{broken}");
        }
        assert_eq!(Compact::parse(&format!("{whole}{}", "A".repeat(LONGEST))), Err(Malformed::Form));
    }

    #[test]
    fn only_signatures_of_an_issuer_are_accepted() {
        for (name, algorithm) in NAMES {
            assert_eq!(Compact::parse(&token(&json!({ "alg": name }), &json!({}))).unwrap().algorithm, algorithm);
        }
        for other in [json!("none"), json!("None"), json!("HS256"), json!("rs256"), json!(""), json!(null), json!(1)] {
            let refused = Compact::parse(&token(&json!({ "alg": other }), &json!({}))).unwrap_err();
            assert_eq!(refused, Malformed::Algorithm, "{other}");
        }
    }

    #[test]
    fn what_a_header_asks_for_beyond_that_is_refused() {
        for (name, value) in [("crit", json!(["exp"])), ("b64", json!(false))] {
            let asking = token(&json!({"alg": "RS256", name: value}), &json!({}));
            assert_eq!(Compact::parse(&asking), Err(Malformed::Critical));
        }
        assert_eq!(Compact::parse(&token(&json!({"alg": "RS256", "kid": 1}), &json!({}))), Err(Malformed::Form));
    }

    #[test]
    fn the_issuer_is_read_whatever_the_header_says() {
        assert_eq!(named_issuer(&token(&json!({}), &json!({"iss": "i"}))).as_deref(), Some("i"));
        assert_eq!(named_issuer(&token(&json!({}), &json!({}))).as_deref(), Some(""));
        assert_eq!(named_issuer("a.e30.c").as_deref(), Some(""));
        for broken in ["a.b", "a.b.c", "a.e30", "", &token(&json!({}), &json!({"iss": 1}))] {
            assert_eq!(named_issuer(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in ".{0,200}", parts in proptest::collection::vec("[A-Za-z0-9_=-]{0,40}", 0..5)) {
            let _ = (Compact::parse(&text), named_issuer(&text));
            let joined = parts.join(".");
            let _ = (Compact::parse(&joined), named_issuer(&joined));
        }

        #[test]
        // U+0000 is refused in JSON from outside.
        fn a_header_that_is_read_was_written_like_that(kid in "[^\\x00]{0,40}", iss in "[^\\x00]{0,40}") {
            let whole = token(&json!({"alg": "PS512", "kid": kid}), &json!({"iss": iss}));
            let compact = Compact::parse(&whole).unwrap();
            prop_assert_eq!(compact.kid, kid);
            prop_assert_eq!(named_issuer(&whole), Some(iss));
        }
    }
}
