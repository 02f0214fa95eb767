//! The keys of access tokens: one signs, all verify, and the public ones are published.
//!
//! They are parsed once at start. Verification errors have the reference's texts, because clients match on them.

mod jwk;
mod token;
mod verified;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use foundation::secret::Secret;
use gotrue_rules::wire::go_json;
use serde::Serialize;
use serde_json::{Value, json};

pub use self::jwk::{KeyError, SignError};
use self::jwk::{PreparedKey, SigningMaterial, Verifying};
pub use self::token::{Object, VerifyError};
use self::verified::VerifiedTokens;

/// The configured keys.
#[derive(Debug, Clone, Copy)]
pub struct KeySettings<'a> {
    /// The JSON Web Keys, at most one of which signs. If empty, the secret signs.
    pub jwks: &'a [Object],
    /// The HS256 secret. It also verifies tokens whose header names none of the keys, unless it is empty.
    pub secret: &'a Secret,
    /// The key id of the secret; empty for none.
    pub key_id: &'a str,
    /// The accepted algorithms; `None` for those of the keys.
    pub valid_methods: Option<&'a [String]>,
}

/// All keys, ready for use and shared by all requests.
#[derive(Debug)]
pub struct KeyRing {
    signer: SigningMaterial,
    /// `base64(header)` of every signed token.
    header: String,
    by_id: HashMap<String, Verifying>,
    /// The secret; `None` if it is empty.
    secret: Option<Verifying>,
    secret_id: String,
    valid_methods: BTreeSet<String>,
    jwks_json: String,
    verified: VerifiedTokens,
    is_signature_encoding_strict: bool,
    is_critical_header_rejected: bool,
}

impl KeyRing {
    /// Parses and checks all keys, and signs once, because the library's first use in a process is slow.
    pub fn build(settings: KeySettings<'_>) -> Result<Self, KeyError> {
        let mut keys: Vec<PreparedKey> = Vec::new();
        for object in settings.jwks {
            let key = jwk::parse_key(object)?;
            keys.retain(|other| other.kid != key.kid);
            keys.push(key);
        }
        if keys.is_empty() {
            let key = jwk::secret_key(settings.secret.reveal().as_bytes(), settings.key_id);
            keys.push(key.map_err(|reason| KeyError::Unusable { kid: settings.key_id.to_owned(), reason })?);
        }
        let public: Vec<&Object> = keys.iter().filter_map(|key| key.public.as_ref()).collect();
        let jwks_json = json!({ "keys": public }).to_string();
        let valid_methods = match settings.valid_methods {
            Some(methods) => methods.iter().cloned().collect(),
            None => keys.iter().map(|key| key.method.to_owned()).collect(),
        };
        let mut signers: Vec<(String, &'static str, SigningMaterial)> = Vec::new();
        let mut by_id = HashMap::new();
        for key in keys {
            if let Some(signing) = key.signing {
                signers.push((key.kid.clone(), key.method, signing));
            }
            by_id.insert(key.kid, key.verifying);
        }
        if signers.len() > 1 {
            return Err(KeyError::ManySigners(
                signers.iter().map(|(kid, ..)| format!("{kid:?}")).collect::<Vec<_>>().join(", "),
            ));
        }
        let (kid, method, signer) = signers.pop().ok_or(KeyError::NoSigner)?;
        let ring = Self {
            signer,
            header: encode_header(method, &kid),
            by_id,
            secret: Verifying::secret(settings.secret.reveal().as_bytes()),
            secret_id: settings.key_id.to_owned(),
            valid_methods,
            jwks_json,
            verified: VerifiedTokens::new(),
            is_signature_encoding_strict: false,
            is_critical_header_rejected: false,
        };
        match ring.sign(&json!({})) {
            Ok(_) => Ok(ring),
            Err(error) => Err(KeyError::Unusable { kid, reason: error.to_string() }),
        }
    }

    /// Sets whether signatures with non-zero unused bits are refused.
    #[must_use]
    pub fn with_strict_signature_encoding(self, is_strict: bool) -> Self {
        Self { is_signature_encoding_strict: is_strict, ..self }
    }

    /// Sets whether tokens with the header parameter `crit` are refused.
    #[must_use]
    pub fn with_critical_header_rejected(self, is_rejected: bool) -> Self {
        Self { is_critical_header_rejected: is_rejected, ..self }
    }

    /// Signs a token with these claims.
    pub fn sign<C: Serialize>(&self, claims: &C) -> Result<String, SignError> {
        let mut token = self.header.clone();
        URL_SAFE_NO_PAD.encode_string(go_json::to_vec(claims)?, &mut token);
        let signature = self.signer.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&signature);
        Ok(token)
    }

    /// Verifies signature and times of a token and returns its claims.
    ///
    /// The signature of a token that is presented again is not verified again.
    pub fn verify(&self, token: &str, now: DateTime<Utc>) -> Result<Arc<Object>, VerifyError> {
        if let Some(claims) = self.verified.find(token) {
            token::check_times(&claims, now)?;
            return Ok(claims);
        }
        let parts = token::parse_token(token)?;
        if parts.is_critical && self.is_critical_header_rejected {
            return Err(VerifyError::Critical);
        }
        if !self.valid_methods.contains(&parts.method) {
            return Err(VerifyError::MethodRefused(parts.method));
        }
        let signature = token::decode_signature(parts.signature, self.is_signature_encoding_strict)?;
        let key = self.find_key(parts.kid.as_ref(), &parts.method)?;
        key.verify(&parts.method, parts.signed.as_bytes(), &signature)?;
        let claims = Arc::new(parts.claims);
        self.verified.insert(token, &claims);
        token::check_times(&claims, now)?;
        Ok(claims)
    }

    /// Returns the body of `/.well-known/jwks.json`: the public keys.
    pub fn jwks_json(&self) -> &str {
        &self.jwks_json
    }

    /// Returns the signing algorithm: `HS256`, `RS256`, `RS512`, `ES256`, `ES512` or `EdDSA`.
    pub fn signing_method(&self) -> &'static str {
        self.signer.method()
    }

    /// Returns the key of that id, else the secret for its own id and for HS256.
    fn find_key(&self, kid: Option<&Value>, method: &str) -> Result<&Verifying, VerifyError> {
        let id = kid.and_then(Value::as_str);
        if let Some(key) = id.and_then(|id| self.by_id.get(id)) {
            return Ok(key);
        }
        let secret = self.secret.as_ref().filter(|_| id == Some(&self.secret_id) || method == "HS256");
        secret.ok_or_else(|| VerifyError::unknown_key(kid, method))
    }
}

fn encode_header(method: &str, kid: &str) -> String {
    let header = if kid.is_empty() {
        json!({"alg": method, "typ": "JWT"})
    } else {
        json!({"alg": method, "kid": kid, "typ": "JWT"})
    };
    URL_SAFE_NO_PAD.encode(header.to_string()) + "."
}
