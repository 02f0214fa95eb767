//! An OpenID Connect issuer in a test's hand: its document, its keys, and whatever tokens the test wants signed.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::receiver::Receiver;

/// Where its document is, below its address.
pub const DOCUMENT: &str = "/.well-known/openid-configuration";
/// Where its keys are.
pub const KEYS: &str = "/jwks";

/// An issuer whose tokens are signed with ES256.
pub struct Issuer {
    /// Its address, which is its name.
    pub url: String,
    /// The client that its tokens are for, where a test says nothing else.
    pub client: String,
    kid: String,
    pair: EcdsaKeyPair,
}

impl Issuer {
    /// An issuer at that address, with a key of its own. Whoever answers there serves [`Issuer::document`] and
    /// [`Issuer::keys`].
    pub fn at(url: &str, client: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made");
        Self { url: url.to_owned(), client: client.to_owned(), kid: "key-1".to_owned(), pair }
    }

    /// An issuer that a server on this machine answers for, at that path.
    pub fn served_by(receiver: &Receiver, path: &str, client: &str) -> Self {
        let issuer = Self::at(&format!("{}{path}", receiver.address()), client);
        receiver.answer(&format!("{path}{DOCUMENT}"), issuer.document());
        receiver.answer(&format!("{path}{KEYS}"), issuer.keys());
        issuer
    }

    /// The same issuer with another key of another name.
    #[must_use]
    pub fn with_new_key(&self, kid: &str) -> Self {
        Self { kid: kid.to_owned(), ..Self::at(&self.url, &self.client) }
    }

    /// What it says of itself.
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

    /// Its public keys.
    pub fn keys(&self) -> Value {
        json!({ "keys": [self.key()] })
    }

    /// Its public key.
    pub fn key(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.kid, "x": encoded(x), "y": encoded(y)})
    }

    /// A token of five minutes for its client, with these claims besides; a claim of null is left out.
    pub fn token(&self, now: DateTime<Utc>, claims: &Value) -> String {
        let mut all =
            json!({"iss": self.url, "aud": self.client, "iat": now.timestamp(), "exp": now.timestamp() + 300});
        let members = all.as_object_mut().expect("claims are an object");
        members.extend(claims.as_object().expect("claims are an object").clone());
        members.retain(|_, value| !value.is_null());
        self.sign(&json!({"alg": "ES256", "kid": self.kid, "typ": "JWT"}), &all)
    }

    /// A token for somebody with a verified address.
    pub fn person(&self, now: DateTime<Utc>, email: &str) -> String {
        self.token(now, &json!({"sub": email, "email": email, "email_verified": true, "name": "Ann"}))
    }

    /// A token with this header and these claims and nothing else, signed with its key whatever the header says.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("it can be signed");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
