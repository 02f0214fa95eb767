//! A software WebAuthn authenticator and browser: one P-256 key, attestation `none`.
//!
//! The values of a correct response are fields, so that a test can replace them.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::policy::{Policy, RelyingParty};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};
use uuid::Uuid;

use super::answer::Answer;
use super::users::TestUser;
use super::world::World;

/// The origin of a correct browser.
pub const ORIGIN: &str = "https://shop.example.com";
/// The relying party id that [`enable_webauthn`] sets.
pub(super) const RELYING_PARTY: &str = "example.com";

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// Enables passkeys and security keys.
pub fn enable_webauthn(policy: &mut Policy) {
    policy.passkeys.enabled = true;
    policy.mfa.webauthn_enroll_enabled = true;
    policy.mfa.webauthn_verify_enabled = true;
    policy.webauthn.relying_party = Some(RelyingParty {
        id: RELYING_PARTY.to_owned(),
        display_name: "The Shop".to_owned(),
        origins: vec![ORIGIN.to_owned()],
    });
}

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
    /// The key pair.
    pub key: EcdsaKeyPair,
}

impl Default for Authenticator {
    fn default() -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key can be made");
        Self {
            // A part of the public key: unique per authenticator.
            id: key.public_key().as_ref()[1..21].to_vec(),
            aaguid: Uuid::nil(),
            origin: ORIGIN.to_owned(),
            rp_id: RELYING_PARTY.to_owned(),
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
}

impl Authenticator {
    /// The result of `navigator.credentials.create()` for these options.
    pub fn create(&mut self, options: &Value) -> Value {
        self.user_handle = options["user"]["id"].as_str().map(str::to_owned);
        let mut data = self.data(ATTESTED);
        data.extend(self.aaguid.as_bytes());
        data.extend(u16::try_from(self.id.len()).expect("a short id").to_be_bytes());
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

impl World {
    /// Attempts to register a passkey.
    pub async fn register_passkey(&self, user: &TestUser, device: &mut Authenticator) -> Answer {
        let response = self.post_as(&user.access_token, "/passkeys/registration/options", json!({})).await.expect(200);
        let credential = device.create(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        self.post_as(&user.access_token, "/passkeys/registration/verify", body).await
    }

    /// Registers a passkey: its id and its authenticator.
    pub async fn create_passkey(&self, user: &TestUser) -> (String, Authenticator) {
        let mut device = Authenticator::default();
        let made = self.register_passkey(user, &mut device).await.expect(200);
        (made.str("id").to_owned(), device)
    }

    /// Enrolls and verifies a security key: the user at AAL2, the factor id and the authenticator.
    pub async fn enroll_security_key(&self, user: &TestUser, name: &str) -> (TestUser, String, Authenticator) {
        let body = json!({"factor_type": "webauthn", "friendly_name": name});
        let factor = self.enroll(&user.access_token, body).await.expect(200).str("id").to_owned();
        let mut device = Authenticator::default();
        let response = self.create_challenge(&user.access_token, &factor).await.expect(200);
        let made = device.create(&response.json["webauthn"]["credential_options"]["publicKey"]);
        let answer = self.verify_webauthn_challenge(user, &factor, response.str("id"), ("create", made)).await;
        (TestUser { session: user.session.clone(), ..TestUser::from_session(&answer) }, factor, device)
    }

    /// Attempts to verify a new challenge with a security key.
    pub async fn verify_security_key(&self, user: &TestUser, factor: &str, device: &mut Authenticator) -> Answer {
        let response = self.create_challenge(&user.access_token, factor).await.expect(200);
        let credential = device.get(&response.json["webauthn"]["credential_options"]["publicKey"]);
        self.verify_webauthn_challenge(user, factor, response.str("id"), ("request", credential)).await
    }

    /// Attempts to verify a challenge with the credential response of a ceremony (`create` or `request`).
    pub async fn verify_webauthn_challenge(
        &self,
        user: &TestUser,
        factor: &str,
        challenge: &str,
        response: (&str, Value),
    ) -> Answer {
        let (kind, credential) = response;
        let webauthn = json!({"type": kind, "credential_response": credential});
        let body = json!({"challenge_id": challenge, "webauthn": webauthn});
        self.post_as(&user.access_token, &format!("/factors/{factor}/verify"), body).await
    }

    /// Attempts a sign-in by passkey.
    pub async fn sign_in_with_passkey(&self, device: &mut Authenticator) -> Answer {
        let response = self.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let credential = device.get(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        self.post("/passkeys/authentication/verify", body).await
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
