//! Parses compact JWTs and reports errors in the texts of the reference's library.
//!
//! Only the parser's own message (after the last colon of `Malformed`) differs.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use gotrue_rules::wire::go_json;
use serde_json::{Map, Number, Value};

/// The JSON object of a key or of claims.
pub type Object = Map<String, Value>;

/// Why a token is rejected: the text after `invalid JWT: unable to parse or verify signature, `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The token does not have three parts.
    #[error("token is malformed: token contains an invalid number of segments")]
    Segments,
    /// A part cannot be decoded.
    #[error("token is malformed: could not {step} decode {part}: {reason}")]
    Malformed {
        /// `base64` or `JSON`.
        step: &'static str,
        /// `header`, `claim` or `signature`.
        part: &'static str,
        /// The message of the parser.
        reason: String,
    },
    /// The header has no algorithm.
    #[error("token is unverifiable: signing method (alg) is unspecified")]
    NoMethod,
    /// The algorithm is unknown.
    #[error("token is unverifiable: signing method (alg) is unavailable")]
    UnknownMethod,
    /// The algorithm is not accepted.
    #[error("token signature is invalid: signing method {0} is invalid")]
    MethodRefused(String),
    /// There is no key for the header's key id and algorithm.
    #[error("token is unverifiable: error while executing keyfunc: unrecognized JWT kid {kid} for algorithm {method}")]
    UnknownKey {
        /// The key id, `<nil>` for none.
        kid: String,
        /// The algorithm.
        method: String,
    },
    /// The key is not of the algorithm's type.
    #[error("token signature is invalid: key is of invalid type: {0}")]
    WrongKey(&'static str),
    /// The signature is invalid.
    #[error("token signature is invalid: {0}")]
    Signature(&'static str),
    /// The header demands extensions, of which none is supported.
    #[error("token is unverifiable: header parameter crit is not supported")]
    Critical,
    /// `exp` has passed.
    #[error("token has invalid claims: token is expired")]
    Expired,
    /// `nbf` lies in the future.
    #[error("token has invalid claims: token is not valid yet")]
    NotYetValid,
    /// Both `exp` and `nbf` fail.
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

/// A parsed token. Nothing of it is verified.
pub(super) struct TokenParts<'a> {
    pub method: String,
    pub kid: Option<Value>,
    /// Whether the header has the parameter `crit` (RFC 7515 §4.1.11).
    pub is_critical: bool,
    pub claims: Object,
    /// Encoded header and claims: the signing input.
    pub signed: &'a str,
    pub signature: &'a str,
}

/// The algorithms of the reference's library.
const METHODS: [&str; 14] = [
    "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512",
    "EdDSA", "none",
];

pub(super) fn parse_token(token: &str) -> Result<TokenParts<'_>, VerifyError> {
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(VerifyError::Segments);
    };
    let signed = &token[..header.len() + 1 + claims.len()];
    let mut header = decode_object(header, "header")?;
    let claims = normalize_names(decode_object(claims, "claim")?);
    check_types(&claims)?;
    let Some(Value::String(method)) = header.remove("alg") else { return Err(VerifyError::NoMethod) };
    if !METHODS.contains(&method.as_str()) {
        return Err(VerifyError::UnknownMethod);
    }
    Ok(TokenParts {
        method,
        kid: header.remove("kid"),
        is_critical: header.contains_key("crit"),
        claims,
        signed,
        signature,
    })
}

/// A decoded signature.
pub(super) struct Signature {
    pub bytes: Vec<u8>,
    /// Whether the spelling in the token is accepted.
    pub is_accepted_spelling: bool,
}

/// Decodes a signature like the reference: bits that encode nothing are ignored.
///
/// If `is_strict`, they must be zero, or the signature is invalid later. A token of another spelling is remembered
/// as a token of its own.
pub(super) fn decode_signature(text: &str, is_strict: bool) -> Result<Signature, VerifyError> {
    let reason = |error: base64::DecodeError| error.to_string();
    let malformed = |reason| VerifyError::Malformed { step: "base64", part: "signature", reason };
    let bytes = LOOSE_BASE64.decode(text).map_err(reason).map_err(malformed)?;
    let is_accepted_spelling = !is_strict || URL_SAFE_NO_PAD.encode(&bytes) == text;
    Ok(Signature { bytes, is_accepted_spelling })
}

/// Checks `exp` and `nbf` without leeway; `iat`, `aud` and `iss` are ignored.
pub(super) fn check_times(claims: &Object, now: DateTime<Utc>) -> Result<(), VerifyError> {
    let expired = parse_seconds(claims, "exp").is_some_and(|exp| now.timestamp() >= exp);
    let early = parse_seconds(claims, "nbf").is_some_and(|nbf| now.timestamp() < nbf);
    match (expired, early) {
        (false, false) => Ok(()),
        (true, false) => Err(VerifyError::Expired),
        (false, true) => Err(VerifyError::NotYetValid),
        (true, true) => Err(VerifyError::ExpiredAndNotYetValid),
    }
}

fn decode_part(text: &str, part: &'static str) -> Result<Vec<u8>, VerifyError> {
    let malformed =
        |error: base64::DecodeError| VerifyError::Malformed { step: "base64", part, reason: error.to_string() };
    LOOSE_BASE64.decode(text).map_err(malformed)
}

/// Parses a JSON object. Like in the reference, `null` is empty and invalid UTF-8 is replaced.
fn decode_object(text: &str, part: &'static str) -> Result<Object, VerifyError> {
    let malformed = |reason: String| VerifyError::Malformed { step: "JSON", part, reason };
    let text = decode_part(text, part)?;
    if let Ok(object) = serde_json::from_slice(&text) {
        return Ok(object);
    }
    match go_json::parse_value(&text).map_err(|error| malformed(error.to_string()))? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        _ => Err(malformed("not an object".to_owned())),
    }
}

/// The claims that the server reads.
const READ_CLAIMS: [&str; 17] = [
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

/// Renames claims that differ only in case to the names that the server reads.
fn normalize_names(claims: Object) -> Object {
    let is_other = |name: &String| name.bytes().any(|byte| !byte.is_ascii_lowercase() && byte != b'_');
    if !claims.keys().any(is_other) {
        return claims;
    }
    let name = |name: String| {
        let known = READ_CLAIMS.iter().chain(&["user_metadata"]).find(|known| known.eq_ignore_ascii_case(&name));
        known.map_or(name, |known| (*known).to_owned())
    };
    claims.into_iter().map(|(key, value)| (name(key), value)).collect()
}

/// Checks the types of the claims that the server reads.
fn check_types(claims: &Object) -> Result<(), VerifyError> {
    for (name, value) in claims {
        let (fits, wanted) = match name.as_str() {
            "exp" | "nbf" | "iat" => (parse_number(value).is_some(), "number"),
            "iss" | "sub" | "jti" | "email" | "phone" | "role" | "aal" | "session_id" | "client_id" | "scope" => {
                (value.is_string(), "string")
            }
            "amr" => (value.as_array().is_some_and(|methods| methods.iter().all(is_amr_entry)), "list of methods"),
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

/// Whether a value is a valid entry of `amr`: a method name, or an object with its time.
fn is_amr_entry(entry: &Value) -> bool {
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

/// A number, or a string that JSON would parse as one.
fn parse_number(value: &Value) -> Option<f64> {
    let is_number = |text: &&str| serde_json::from_str::<Number>(text).is_ok_and(|_| !text.contains(is_space));
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            Some(text.as_str()).filter(is_number)?.parse().ok().filter(|float: &f64| float.is_finite())
        }
        _ => None,
    }
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// Parses a numeric date, truncated to whole seconds.
///
/// Like in the reference, one out of range counts as `i64::MIN`.
fn parse_seconds(claims: &Object, name: &str) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "values out of range are excluded before the cast")]
    let cut = |float: f64| if float.abs() < 9.2e18 { float as i64 } else { i64::MIN };
    let value = claims.get(name)?;
    value.as_i64().or_else(|| parse_number(value).map(cut))
}
