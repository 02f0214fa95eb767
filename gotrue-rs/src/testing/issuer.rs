//! An OpenID Connect issuer: discovery document, keys and signed tokens.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::receiver::HookServer;

/// The path of the discovery document.
pub const DOCUMENT: &str = "/.well-known/openid-configuration";
/// The path of the JWKS.
pub const KEYS: &str = "/jwks";

/// An issuer whose tokens are signed with ES256.
pub struct Issuer {
    /// The issuer URL.
    pub url: String,
    /// The default audience of the tokens.
    pub client: String,
    kid: String,
    pair: EcdsaKeyPair,
}

impl Issuer {
    /// An issuer with this URL and a new key.
    ///
    /// The server at that URL must return [`Issuer::document`] and [`Issuer::keys`].
    pub fn at(url: &str, client: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made");
        Self { url: url.to_owned(), client: client.to_owned(), kid: "key-1".to_owned(), pair }
    }

    /// An issuer whose document and keys are served by a local server.
    pub fn served_by(receiver: &HookServer, path: &str, client: &str) -> Self {
        let issuer = Self::at(&format!("{}{path}", receiver.address()), client);
        receiver.answer(&format!("{path}{DOCUMENT}"), issuer.document());
        receiver.answer(&format!("{path}{KEYS}"), issuer.keys());
        issuer
    }

    /// The same issuer with a new key and this key id.
    #[must_use]
    pub fn with_new_key(&self, kid: &str) -> Self {
        Self { kid: kid.to_owned(), ..Self::at(&self.url, &self.client) }
    }

    /// The discovery document.
    pub fn document(&self) -> Value {
        let url = &self.url;
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "userinfo_endpoint": format!("{url}/userinfo"),
            "jwks_uri": format!("{url}{KEYS}"),
            "id_token_signing_alg_values_supported": ["ES256", "RS256", "HS256", "none"],
        })
    }

    /// The JWKS.
    pub fn keys(&self) -> Value {
        json!({ "keys": [self.key()] })
    }

    /// The public key as a JSON Web Key.
    pub fn key(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.kid, "x": encoded(x), "y": encoded(y)})
    }

    /// A token for the client, valid for five minutes, with additional claims; null removes a claim.
    pub fn token(&self, now: DateTime<Utc>, claims: &Value) -> String {
        let mut all =
            json!({"iss": self.url, "aud": self.client, "iat": now.timestamp(), "exp": now.timestamp() + 300});
        let members = all.as_object_mut().expect("claims are an object");
        members.extend(claims.as_object().expect("claims are an object").clone());
        members.retain(|_, value| !value.is_null());
        self.sign(&json!({"alg": "ES256", "kid": self.kid, "typ": "JWT"}), &all)
    }

    /// A token of a user with a verified e-mail address.
    pub fn user_token(&self, now: DateTime<Utc>, email: &str) -> String {
        self.token(now, &json!({"sub": email, "email": email, "email_verified": true, "name": "Ann"}))
    }

    /// A token with exactly this header and these claims, signed with ES256 regardless of the header.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("it can be signed");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
