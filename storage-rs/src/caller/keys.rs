//! The keys of tokens: all of them verify, the secret signs.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use postgrest_rs::error::token::TokenError;
use postgrest_rs::jwt::keys::KeySet;
use serde_json::{Map, Value, json};

/// The keys of tokens.
#[derive(Clone)]
pub struct Keys {
    verifying: KeySet,
    /// The secret alone: tokens with another key id may be signed with it too.
    secret: KeySet,
    signing: EncodingKey,
    /// The key of signed URLs, where it is not the secret.
    url: Option<UrlKey>,
}

/// The key of signed URLs.
#[derive(Clone)]
struct UrlKey {
    verifying: KeySet,
    signing: EncodingKey,
    header: Header,
}

impl UrlKey {
    fn parse(key: &Value) -> Result<Self, String> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let algorithm = match text("alg").unwrap_or("HS256") {
            "HS256" => Algorithm::HS256,
            "HS384" => Algorithm::HS384,
            "HS512" => Algorithm::HS512,
            _ => return Err("urlSigningKey: its alg must be HS256, HS384 or HS512".to_owned()),
        };
        let digits = text("k").filter(|_| text("kty") == Some("oct")).unwrap_or_default().trim_end_matches('=');
        let bytes = URL_SAFE_NO_PAD.decode(digits).or_else(|_| STANDARD_NO_PAD.decode(digits)).unwrap_or_default();
        if bytes.is_empty() {
            return Err("urlSigningKey: it must be a key of the kind oct with the member k in base64url".to_owned());
        }
        let header = Header { kid: text("kid").map(str::to_owned), ..Header::new(algorithm) };
        let own = json!({"kty": "oct", "alg": format!("{algorithm:?}"), "k": URL_SAFE_NO_PAD.encode(&bytes)});
        Ok(Self {
            verifying: KeySet::parse(&own.to_string(), false)?,
            signing: EncodingKey::from_secret(&bytes),
            header,
        })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// The secret (HS256) and a set of JSON Web Keys (RFC 7517).
    ///
    /// # Errors
    /// The secret is empty, or a key is malformed.
    pub fn new(secret: &str, key_set: &[Value]) -> Result<Self, String> {
        if secret.is_empty() {
            return Err("the JWT secret is empty".to_owned());
        }
        let own = json!({"kty": "oct", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(secret)});
        let all: Vec<&Value> = key_set.iter().chain([&own]).collect();
        Ok(Self {
            verifying: KeySet::parse(&json!({ "keys": all }).to_string(), false)?,
            secret: KeySet::parse(&own.to_string(), false)?,
            signing: EncodingKey::from_secret(secret.as_bytes()),
            url: None,
        })
    }

    /// These keys, with another one for signed URLs: a JSON Web Key of the kind `oct`.
    ///
    /// # Errors
    /// The key is malformed.
    pub fn with_url_key(self, key: &Value) -> Result<Self, String> {
        Ok(Self { url: Some(UrlKey::parse(key)?), ..self })
    }

    /// The claims of a token whose signature and times are right.
    ///
    /// # Errors
    /// The reason, in the words of the reference.
    pub fn verify(&self, token: &str, now: i64) -> Result<Map<String, Value>, &'static str> {
        let payload = match self.verifying.verify(token) {
            Err(TokenError::NoSuitableKey) => self.secret.verify_with_any_key(token),
            outcome => outcome,
        };
        read_claims(&payload.map_err(|error| describe(&error))?, now)
    }

    /// As [`Self::verify`], for the token of a signed URL: the key of signed URLs counts too.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn verify_url(&self, token: &str, now: i64) -> Result<Map<String, Value>, &'static str> {
        match self.url.as_ref().map(|key| key.verifying.verify_with_any_key(token)) {
            Some(Ok(payload)) => read_claims(&payload, now),
            _ => self.verify(token, now),
        }
    }

    /// Signs claims with the secret.
    pub fn sign(&self, claims: &Map<String, Value>) -> Result<String, jsonwebtoken::errors::Error> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.signing)
    }

    /// Signs the claims of a signed URL.
    pub fn sign_url(&self, claims: &Map<String, Value>) -> Result<String, jsonwebtoken::errors::Error> {
        match &self.url {
            Some(key) => jsonwebtoken::encode(&key.header, claims, &key.signing),
            None => self.sign(claims),
        }
    }
}

fn read_claims(payload: &[u8], now: i64) -> Result<Map<String, Value>, &'static str> {
    let claims: Map<String, Value> =
        serde_json::from_slice(payload).map_err(|_| "JWT Claims Set must be a top-level JSON object")?;
    check_times(&claims, now)?;
    Ok(claims)
}

fn describe(error: &TokenError) -> &'static str {
    match error {
        TokenError::Algorithm | TokenError::NoSuitableKey => "\"alg\" (Algorithm) Header Parameter value not allowed",
        TokenError::Signature => "signature verification failed",
        TokenError::Header => "JWS Protected Header is invalid",
        TokenError::MissingAlgorithm => "JWS \"alg\" (Algorithm) Header Parameter missing or invalid",
        TokenError::Critical => "Extension Header Parameter is not recognized",
        _ => "Invalid Compact JWS",
    }
}

/// Checks `exp` and `nbf` (RFC 7519 §4.1) without allowance for clocks that differ.
fn check_times(claims: &Map<String, Value>, now: i64) -> Result<(), &'static str> {
    let time = |name: &str, problem| match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(number.as_f64()),
        Some(_) => Err(problem),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds of the next centuries fit")]
    let now = now as f64;
    time("iat", "\"iat\" claim must be a number")?;
    if time("nbf", "\"nbf\" claim must be a number")?.is_some_and(|begin| begin > now) {
        return Err("\"nbf\" claim timestamp check failed");
    }
    if time("exp", "\"exp\" claim must be a number")?.is_some_and(|end| end <= now) {
        return Err("\"exp\" claim timestamp check failed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "secret-of-the-tests";

    fn sign(claims: &Value) -> String {
        Keys::new(SECRET, &[]).unwrap().sign(claims.as_object().unwrap()).unwrap()
    }

    #[test]
    fn token_is_verified_and_its_times_are_checked() {
        let keys = Keys::new(SECRET, &[]).unwrap();
        let cases = [
            (json!({"sub": "a"}), Ok(())),
            (json!({"exp": 1001, "nbf": 1000}), Ok(())),
            (json!({"exp": 1000}), Err("\"exp\" claim timestamp check failed")),
            (json!({"nbf": 1001}), Err("\"nbf\" claim timestamp check failed")),
            (json!({"exp": "1"}), Err("\"exp\" claim must be a number")),
        ];
        for (claims, expected) in cases {
            assert_eq!(keys.verify(&sign(&claims), 1000).map(|_| ()), expected, "{claims}");
        }
    }

    #[test]
    fn foreign_and_malformed_tokens_are_refused() {
        let keys = Keys::new("another-secret", &[]).unwrap();
        let none = "eyJhbGciOiJub25lIn0.e30.";
        let other_algorithm = "eyJhbGciOiJIUzUxMiJ9.e30.AAAA";
        let signed = sign(&json!({}));
        let cases = [
            (signed.as_str(), "signature verification failed"),
            (none, "\"alg\" (Algorithm) Header Parameter value not allowed"),
            (other_algorithm, "\"alg\" (Algorithm) Header Parameter value not allowed"),
            ("", "Invalid Compact JWS"),
            ("a.b", "Invalid Compact JWS"),
            ("a.b.c", "JWS Protected Header is invalid"),
            ("e30.e30.AAAA", "JWS \"alg\" (Algorithm) Header Parameter missing or invalid"),
            // {"alg":"HS256","crit":["x"]}
            ("eyJhbGciOiJIUzI1NiIsImNyaXQiOlsieCJdfQ.e30.AAAA", "Extension Header Parameter is not recognized"),
        ];
        for (token, expected) in cases {
            assert_eq!(keys.verify(token, 0), Err(expected), "{token}");
        }
    }

    #[test]
    fn signed_urls_have_a_key_of_their_own() {
        let key = json!({"kty": "oct", "k": "dGhlLWtleS1vZi1zaWduZWQtdXJscw", "alg": "HS512", "kid": "urls"});
        let keys = Keys::new(SECRET, &[]).unwrap().with_url_key(&key).unwrap();
        let token = keys.sign_url(json!({"url": "b/a"}).as_object().unwrap()).unwrap();
        let header = jsonwebtoken::decode_header(&token).unwrap();
        assert_eq!((header.alg, header.kid.as_deref()), (Algorithm::HS512, Some("urls")));
        assert!(keys.verify_url(&token, 0).is_ok());
        // It signs URLs alone, and URLs from before it was set stay valid.
        assert!(keys.verify(&token, 0).is_err());
        assert!(keys.verify_url(&sign(&json!({"url": "b/a"})), 0).is_ok());
        for malformed in [json!({}), json!({"kty": "RSA", "k": "YQ"}), json!({"kty": "oct", "k": "YQ", "alg": "RS256"})]
        {
            assert!(Keys::new(SECRET, &[]).unwrap().with_url_key(&malformed).is_err(), "{malformed}");
        }
    }

    #[test]
    fn secret_verifies_tokens_that_name_another_key() {
        let header = jsonwebtoken::Header { kid: Some("other".to_owned()), ..Default::default() };
        let token = jsonwebtoken::encode(&header, &json!({}), &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
        assert!(Keys::new(SECRET, &[]).unwrap().verify(&token, 0).is_ok());
    }
}
