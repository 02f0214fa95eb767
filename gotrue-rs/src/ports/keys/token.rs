//! The three parts of a compact token, and what is wrong with them, in the words of the reference's library. A
//! parser's own words (after the last colon of `Malformed`) are ours.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use gotrue_rules::wire::go_json;
use serde_json::{Number, Value};

use super::Object;

/// Why a token is refused: the text that follows `invalid JWT: unable to parse or verify signature, `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Not three parts.
    #[error("token is malformed: token contains an invalid number of segments")]
    Segments,
    /// A part that cannot be read.
    #[error("token is malformed: could not {step} decode {part}: {reason}")]
    Malformed {
        /// `base64` or `JSON`.
        step: &'static str,
        /// `header`, `claim` or `signature`.
        part: &'static str,
        /// What a parser says.
        reason: String,
    },
    /// The header names no algorithm.
    #[error("token is unverifiable: signing method (alg) is unspecified")]
    NoMethod,
    /// The header names an algorithm that nobody knows.
    #[error("token is unverifiable: signing method (alg) is unavailable")]
    UnknownMethod,
    /// The header names an algorithm that is not accepted.
    #[error("token signature is invalid: signing method {0} is invalid")]
    MethodRefused(String),
    /// No key for the id and algorithm of the header.
    #[error("token is unverifiable: error while executing keyfunc: unrecognized JWT kid {kid} for algorithm {method}")]
    UnknownKey {
        /// The id, `<nil>` for none.
        kid: String,
        /// The algorithm.
        method: String,
    },
    /// The key is of another kind than the algorithm.
    #[error("token signature is invalid: key is of invalid type: {0}")]
    WrongKey(&'static str),
    /// The signature is not that of the key.
    #[error("token signature is invalid: {0}")]
    Signature(&'static str),
    /// `exp` has come.
    #[error("token has invalid claims: token is expired")]
    Expired,
    /// `nbf` has not.
    #[error("token has invalid claims: token is not valid yet")]
    NotYetValid,
    /// Both.
    #[error("token has invalid claims: token is expired, token is not valid yet")]
    ExpiredAndNotYetValid,
}

impl VerifyError {
    pub(super) fn unknown_key(kid: Option<&Value>, method: &str) -> Self {
        let kid = match kid {
            None | Some(Value::Null) => "<nil>".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        Self::UnknownKey { kid, method: method.to_owned() }
    }
}

const LOOSE_BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// A token taken apart, nothing of it verified.
pub(super) struct Parts<'a> {
    pub method: String,
    pub kid: Option<Value>,
    pub claims: Object,
    /// Header and claims as sent: what is signed.
    pub signed: &'a str,
    pub signature: &'a str,
}

/// The algorithms the reference's library knows.
const METHODS: [&str; 14] = [
    "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512",
    "EdDSA", "none",
];

pub(super) fn take_apart(token: &str) -> Result<Parts<'_>, VerifyError> {
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(VerifyError::Segments);
    };
    let signed = &token[..header.len() + 1 + claims.len()];
    let mut header = object(header, "header")?;
    let claims = named(object(claims, "claim")?);
    check_types(&claims)?;
    let Some(Value::String(method)) = header.remove("alg") else { return Err(VerifyError::NoMethod) };
    if !METHODS.contains(&method.as_str()) {
        return Err(VerifyError::UnknownMethod);
    }
    Ok(Parts { method, kid: header.remove("kid"), claims, signed, signature })
}

/// The third part, as text and as bytes.
pub(super) struct Signature<'a> {
    pub text: &'a str,
    pub bytes: Vec<u8>,
}

/// Decodes as the reference does: bits left over at the end are not looked at here, but make it a wrong signature.
pub(super) fn signature(text: &str) -> Result<Signature<'_>, VerifyError> {
    let reason = |error: base64::DecodeError| error.to_string();
    let malformed = |reason| VerifyError::Malformed { step: "base64", part: "signature", reason };
    Ok(Signature { text, bytes: LOOSE_BASE64.decode(text).map_err(reason).map_err(malformed)? })
}

impl Signature<'_> {
    /// Whether the text is the only one that stands for these bytes.
    pub fn is_canonical(&self) -> bool {
        URL_SAFE_NO_PAD.encode(&self.bytes) == self.text
    }
}

/// `exp` and `nbf`, without leeway; `iat`, `aud` and `iss` are not looked at.
pub(super) fn check_times(claims: &Object, now: DateTime<Utc>) -> Result<(), VerifyError> {
    let expired = seconds(claims, "exp").is_some_and(|exp| now.timestamp() >= exp);
    let early = seconds(claims, "nbf").is_some_and(|nbf| now.timestamp() < nbf);
    match (expired, early) {
        (false, false) => Ok(()),
        (true, false) => Err(VerifyError::Expired),
        (false, true) => Err(VerifyError::NotYetValid),
        (true, true) => Err(VerifyError::ExpiredAndNotYetValid),
    }
}

fn decode(text: &str, part: &'static str) -> Result<Vec<u8>, VerifyError> {
    let malformed =
        |error: base64::DecodeError| VerifyError::Malformed { step: "base64", part, reason: error.to_string() };
    URL_SAFE_NO_PAD.decode(text).map_err(malformed)
}

/// One JSON object; `null` is one without members, and bytes that are no UTF-8 are replaced, as in the reference.
fn object(text: &str, part: &'static str) -> Result<Object, VerifyError> {
    let malformed = |reason: String| VerifyError::Malformed { step: "JSON", part, reason };
    let text = decode(text, part)?;
    if let Ok(object) = serde_json::from_slice(&text) {
        return Ok(object);
    }
    match go_json::value(&text).map_err(|error| malformed(error.to_string()))? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        _ => Err(malformed("not an object".to_owned())),
    }
}

/// The claims that the server reads.
const READ: [&str; 17] = [
    "exp",
    "nbf",
    "iat",
    "iss",
    "sub",
    "aud",
    "jti",
    "email",
    "phone",
    "role",
    "aal",
    "amr",
    "session_id",
    "client_id",
    "scope",
    "is_anonymous",
    "app_metadata",
];

/// The claims under the names that the server reads them by: they may come in other letters.
fn named(claims: Object) -> Object {
    let is_other = |name: &String| name.bytes().any(|byte| !byte.is_ascii_lowercase() && byte != b'_');
    if !claims.keys().any(is_other) {
        return claims;
    }
    let name = |name: String| {
        let known = READ.iter().chain(&["user_metadata"]).find(|known| known.eq_ignore_ascii_case(&name));
        known.map_or(name, |known| (*known).to_owned())
    };
    claims.into_iter().map(|(key, value)| (name(key), value)).collect()
}

/// Claims the server reads must have their types, so that nobody downstream meets a number where a name belongs.
fn check_types(claims: &Object) -> Result<(), VerifyError> {
    for (name, value) in claims {
        let (fits, wanted) = match name.as_str() {
            "exp" | "nbf" | "iat" => (number(value).is_some(), "number"),
            "iss" | "sub" | "jti" | "email" | "phone" | "role" | "aal" | "session_id" | "client_id" | "scope" => {
                (value.is_string(), "string")
            }
            "amr" => (value.as_array().is_some_and(|methods| methods.iter().all(is_method)), "list of methods"),
            "app_metadata" | "user_metadata" => (value.is_object(), "object"),
            "is_anonymous" => (value.is_boolean(), "boolean"),
            "aud" => {
                let names = value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
                (value.is_string() || names, "string or list of strings")
            }
            _ => continue,
        };
        if !fits && !value.is_null() {
            let reason = format!("{name} is no {wanted}");
            return Err(VerifyError::Malformed { step: "JSON", part: "claim", reason });
        }
    }
    Ok(())
}

/// Whether that is an entry of `amr`: a method by its name, or with the time when it was shown.
fn is_method(entry: &Value) -> bool {
    let is_text = |value: Option<&Value>| value.is_none_or(|value| value.is_string() || value.is_null());
    match entry {
        Value::String(_) | Value::Null => true,
        Value::Object(members) => {
            let at = members.get("timestamp");
            is_text(members.get("method"))
                && is_text(members.get("provider"))
                && at.is_none_or(|at| at.is_null() || at.as_i64().is_some())
        }
        _ => false,
    }
}

/// A number, or a text that JSON would read as one.
fn number(value: &Value) -> Option<f64> {
    let is_number = |text: &&str| serde_json::from_str::<Number>(text).is_ok_and(|_| !text.contains(is_space));
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            Some(text.as_str()).filter(is_number)?.parse().ok().filter(|float: &f64| float.is_finite())
        }
        _ => None,
    }
}

fn is_space(letter: char) -> bool {
    letter.is_ascii_whitespace()
}

/// A numeric date, cut to whole seconds. One beyond what they hold lies before all time, as in the reference.
fn seconds(claims: &Object, name: &str) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is sorted out before")]
    let cut = |float: f64| if float.abs() < 9.2e18 { float as i64 } else { i64::MIN };
    let value = claims.get(name)?;
    value.as_i64().or_else(|| number(value).map(cut))
}
