//! A software WebAuthn authenticator and browser: one P-256 key, attestation `none`.
//!
//! Tests and test environments register passkeys with it. The values of a correct response are fields, so that a test
//! can replace them.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};
use uuid::Uuid;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// The key cannot be generated, read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key is no P-256 key in PKCS #8")]
pub struct AuthenticatorKeyError;

/// An authenticator that holds one key.
#[derive(Debug)]
pub struct Authenticator {
    /// The credential id.
    pub id: Vec<u8>,
    /// The AAGUID of the authenticator model.
    pub aaguid: Uuid,
    /// The origin of the client data.
    pub origin: String,
    /// The relying party id.
    pub rp_id: String,
    /// Replaces the challenge in the client data.
    pub challenge: Option<String>,
    /// Replaces the ceremony type in the client data.
    pub ceremony: Option<&'static str>,
    /// The flag `UP`, user present.
    pub is_user_present: bool,
    /// The flag `UV`, user verified.
    pub is_user_verified: bool,
    /// The flag `BE`, backup eligible.
    pub is_backup_eligible: bool,
    /// The flag `BS`, backed up.
    pub is_backed_up: bool,
    /// The member `crossOrigin` of the client data.
    pub is_cross_origin: bool,
    /// The signature counter.
    pub counter: u32,
    /// Whether each use increments the counter.
    pub has_counter: bool,
    /// The user handle in base64url.
    pub user_handle: Option<String>,
    pub key: EcdsaKeyPair,
}

impl Authenticator {
    /// Creates an authenticator with a new key, whose credential id is a part of the public key.
    pub fn new(origin: &str, rp_id: &str) -> Result<Self, AuthenticatorKeyError> {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|_| AuthenticatorKeyError)?;
        Ok(Self::with_key(key, origin, rp_id))
    }

    /// Creates an authenticator with a key in PKCS #8 (RFC 5208).
    pub fn from_pkcs8(key: &[u8], origin: &str, rp_id: &str) -> Result<Self, AuthenticatorKeyError> {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key).map_err(|_| AuthenticatorKeyError)?;
        Ok(Self::with_key(key, origin, rp_id))
    }

    /// Returns the key in PKCS #8.
    pub fn to_pkcs8(&self) -> Result<Vec<u8>, AuthenticatorKeyError> {
        self.key.to_pkcs8v1().map(|key| key.as_ref().to_vec()).map_err(|_| AuthenticatorKeyError)
    }

    fn with_key(key: EcdsaKeyPair, origin: &str, rp_id: &str) -> Self {
        Self {
            id: key.public_key().as_ref()[1..21].to_vec(),
            aaguid: Uuid::nil(),
            origin: origin.to_owned(),
            rp_id: rp_id.to_owned(),
            challenge: None,
            ceremony: None,
            is_user_present: true,
            is_user_verified: true,
            is_backup_eligible: false,
            is_backed_up: false,
            is_cross_origin: false,
            counter: 0,
            has_counter: true,
            user_handle: None,
            key,
        }
    }

    /// The result of `navigator.credentials.create()` for these options.
    pub fn create(&mut self, options: &Value) -> Value {
        self.user_handle = options["user"]["id"].as_str().map(str::to_owned);
        let mut data = self.data(ATTESTED);
        data.extend(self.aaguid.as_bytes());
        data.extend(u16::try_from(self.id.len()).unwrap_or(u16::MAX).to_be_bytes());
        data.extend(&self.id);
        data.extend(self.public_key());
        let object = cbor(vec![
            (text("fmt"), text("none")),
            (text("attStmt"), Cbor::Map([].into())),
            (text("authData"), Cbor::Bytes(data)),
        ]);
        self.answer(&json!({
            "clientDataJSON": encode(self.client_data("webauthn.create", options).as_bytes()),
            "attestationObject": encode(&object),
            "transports": ["internal", "hybrid"],
        }))
    }

    /// The result of `navigator.credentials.get()` for these options.
    pub fn get(&mut self, options: &Value) -> Value {
        if self.has_counter {
            self.counter += 1;
        }
        let data = self.data(0);
        let client_data = self.client_data("webauthn.get", options);
        let signed = [data.as_slice(), digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).expect("the key signs");
        self.answer(&json!({
            "clientDataJSON": encode(client_data.as_bytes()),
            "authenticatorData": encode(&data),
            "signature": encode(signature.as_ref()),
            "userHandle": self.user_handle,
        }))
    }

    fn answer(&self, response: &Value) -> Value {
        let id = encode(&self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": response,
        })
    }

    fn client_data(&self, ceremony: &str, options: &Value) -> String {
        json!({
            "type": self.ceremony.unwrap_or(ceremony),
            "challenge": self.challenge.as_deref().or(options["challenge"].as_str()),
            "origin": self.origin,
            "crossOrigin": self.is_cross_origin,
        })
        .to_string()
    }

    fn data(&self, more: u8) -> Vec<u8> {
        let flags = [
            (self.is_user_present, PRESENT),
            (self.is_user_verified, VERIFIED),
            (self.is_backup_eligible, BACKUP_ELIGIBLE),
            (self.is_backed_up, BACKED_UP),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(more, |flags, (_, flag)| flags | flag);
        let mut data = digest(&SHA256, self.rp_id.as_bytes()).as_ref().to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// The COSE key: type, algorithm, curve, x, y.
    fn public_key(&self) -> Vec<u8> {
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        cbor(vec![
            (Cbor::Integer(1), Cbor::Integer(2)),
            (Cbor::Integer(3), Cbor::Integer(-7)),
            (Cbor::Integer(-1), Cbor::Integer(1)),
            (Cbor::Integer(-2), Cbor::Bytes(x.to_vec())),
            (Cbor::Integer(-3), Cbor::Bytes(y.to_vec())),
        ])
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn text(text: &str) -> Cbor {
    Cbor::Text(text.to_owned())
}

fn cbor(members: Vec<(Cbor, Cbor)>) -> Vec<u8> {
    serde_cbor_2::to_vec(&Cbor::Map(members.into_iter().collect())).expect("plain values can be written")
}
