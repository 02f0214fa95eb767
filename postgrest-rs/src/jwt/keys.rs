//! The keys that verify tokens: a text secret, a JSON Web Key or a set of them (RFC 7517).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::error::token::TokenError;

/// The shortest text secret, in bytes.
const MINIMUM_SECRET: usize = 32;

/// The keys that verify tokens.
#[derive(Debug, Clone)]
pub struct KeySet {
    keys: Vec<Key>,
    /// The members of the first key, which the documentation of the API shows to nobody; compared when settings are reloaded.
    source: String,
}

impl PartialEq for KeySet {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

#[derive(Debug, Clone)]
struct Key {
    id: Option<String>,
    /// The algorithms that the key verifies.
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

/// The members of a key that count here.
#[derive(Deserialize)]
struct Members {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    k: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The header of a token (RFC 7515 §4).
#[derive(Deserialize)]
struct Header {
    alg: Option<Value>,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

impl KeySet {
    /// The setting `jwt-secret` that makes these keys.
    pub(crate) fn secret(&self, is_base64: bool) -> String {
        let secret = URL_SAFE_NO_PAD.decode(&self.source).unwrap_or_default();
        if is_base64 { STANDARD.encode(secret) } else { String::from_utf8_lossy(&secret).into_owned() }
    }

    /// Reads the setting `jwt-secret`.
    ///
    /// # Errors
    /// The text is too short or no base64, or a key of the set is malformed.
    pub fn parse(text: &str, is_base64: bool) -> Result<Self, String> {
        let secret = if is_base64 { decode_secret(text)? } else { text.as_bytes().to_vec() };
        let source = URL_SAFE_NO_PAD.encode(&secret);
        let keys = match serde_json::from_slice::<Value>(&secret) {
            Ok(Value::Object(members)) => match members.get("keys") {
                Some(Value::Array(keys)) => keys.iter().map(Key::parse).collect::<Result<Vec<_>, _>>()?,
                _ => vec![Key::parse(&Value::Object(members))?],
            },
            _ if secret.len() < MINIMUM_SECRET => {
                return Err("The JWT secret must be at least 32 characters long.".to_owned());
            }
            _ => {
                vec![Some(Key {
                    id: None,
                    algorithms: vec![Algorithm::HS256],
                    decoding: DecodingKey::from_secret(&secret),
                })]
            }
        };
        let keys: Vec<_> = keys.into_iter().flatten().collect();
        if keys.is_empty() {
            return Err("jwt-secret has no key that verifies tokens".to_owned());
        }
        Ok(Self { keys, source })
    }

    /// Verifies the signature of a token by the keys that it may be signed with, and returns its payload.
    ///
    /// # Errors
    /// The token is malformed, no key is suitable, or its signature is wrong.
    pub fn verify(&self, token: &str) -> Result<Vec<u8>, TokenError> {
        self.verify_by(token, |key, id| id.is_none() || id == key.id.as_deref())
    }

    /// As [`Self::verify`], whatever key the token names.
    ///
    /// # Errors
    /// The token is malformed, no key is suitable, or its signature is wrong.
    pub fn verify_with_any_key(&self, token: &str) -> Result<Vec<u8>, TokenError> {
        self.verify_by(token, |_, _| true)
    }

    fn verify_by(&self, token: &str, may_verify: impl Fn(&Key, Option<&str>) -> bool) -> Result<Vec<u8>, TokenError> {
        let parts: Vec<_> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else { return Err(TokenError::Parts(parts.len())) };
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).map_err(|_| TokenError::Malformed);
        let header = decode(header).map_err(|_| TokenError::Header)?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| TokenError::Header)?;
        if header.crit.is_some() {
            return Err(TokenError::Critical);
        }
        let name = header.alg.as_ref().and_then(Value::as_str).ok_or(TokenError::MissingAlgorithm)?;
        if name == "none" {
            return Err(TokenError::Algorithm);
        }
        let algorithm: Algorithm = name.parse().map_err(|_| TokenError::Malformed)?;
        let content = decode(payload)?;
        let signature = URL_SAFE_NO_PAD.encode(decode(signature)?);
        let signed = &token.as_bytes()[..parts[0].len() + 1 + payload.len()];
        let mut suitable = self
            .keys
            .iter()
            .filter(|key| may_verify(key, header.kid.as_deref()))
            .filter(|key| key.algorithms.contains(&algorithm))
            .peekable();
        if suitable.peek().is_none() {
            return Err(TokenError::NoSuitableKey);
        }
        let verifies =
            |key: &Key| jsonwebtoken::crypto::verify(&signature, signed, &key.decoding, algorithm).unwrap_or(false);
        if suitable.any(verifies) { Ok(content) } else { Err(TokenError::Signature) }
    }
}

/// Base64 in either alphabet, with `.` for padding too.
fn decode_secret(text: &str) -> Result<Vec<u8>, String> {
    let text = text.replace('_', "/").replace('-', "+").replace('.', "=");
    STANDARD.decode(text.trim()).map_err(|error| format!("jwt-secret is no base64: {error}"))
}

impl Key {
    /// `None` for a key that is not for signatures, or whose algorithms are not supported.
    fn parse(value: &Value) -> Result<Option<Self>, String> {
        let members: Members = serde_json::from_value(value.clone()).map_err(|error| format!("jwt-secret: {error}"))?;
        if members.usage.as_deref() == Some("enc") {
            return Ok(None);
        }
        let unusable =
            |reason: String| format!("jwt-secret: key {:?}: {reason}", members.kid.as_deref().unwrap_or_default());
        let required = |member: Option<&String>, name: &str| {
            member.cloned().ok_or_else(|| unusable(format!("member {name} is missing")))
        };
        let (mut algorithms, key) = match (members.kty.as_str(), members.crv.as_deref()) {
            ("oct", _) => {
                let secret = required(members.k.as_ref(), "k")?;
                let secret = URL_SAFE_NO_PAD
                    .decode(secret.trim_end_matches('='))
                    .map_err(|error| unusable(format!("k is no base64url: {error}")))?;
                if secret.is_empty() {
                    return Err(unusable("the secret is empty".to_owned()));
                }
                (vec![Algorithm::HS256, Algorithm::HS384, Algorithm::HS512], Ok(DecodingKey::from_secret(&secret)))
            }
            ("RSA", _) => (
                vec![Algorithm::RS256, Algorithm::RS384, Algorithm::RS512],
                DecodingKey::from_rsa_components(
                    &required(members.n.as_ref(), "n")?,
                    &required(members.e.as_ref(), "e")?,
                ),
            ),
            ("EC", Some("P-256" | "P-384")) => (
                vec![if members.crv.as_deref() == Some("P-256") { Algorithm::ES256 } else { Algorithm::ES384 }],
                DecodingKey::from_ec_components(
                    &required(members.x.as_ref(), "x")?,
                    &required(members.y.as_ref(), "y")?,
                ),
            ),
            ("OKP", Some("Ed25519")) => {
                (vec![Algorithm::EdDSA], DecodingKey::from_ed_components(&required(members.x.as_ref(), "x")?))
            }
            _ => return Ok(None),
        };
        let key = key.map_err(|error| unusable(error.to_string()))?;
        if let Some(name) = &members.alg {
            algorithms.retain(|algorithm| name.parse() == Ok(*algorithm));
        }
        Ok((!algorithms.is_empty()).then_some(Self { id: members.kid, algorithms, decoding: key }))
    }
}
