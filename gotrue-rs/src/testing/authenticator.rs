//! An authenticator in software, with the browser in front of it: one P-256 key, attestation `none`. What an honest one
//! would say is in its fields, so that a test can make it lie.

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
use super::people::Person;
use super::world::World;

/// The page that an honest browser shows.
pub const ORIGIN: &str = "https://shop.example.com";
/// The relying party of worlds [`with_keys`].
pub const RELYING_PARTY: &str = "example.com";

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// Turns passkeys and security keys on.
pub fn with_keys(policy: &mut Policy) {
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
    /// How it calls its key.
    pub id: Vec<u8>,
    /// Its model.
    pub aaguid: Uuid,
    /// The page that the browser shows.
    pub origin: String,
    /// Whom it makes and uses the key for.
    pub rp_id: String,
    /// What it answers instead of the challenge.
    pub challenge: Option<String>,
    /// The ceremony that it says this is, instead of the true one.
    pub ceremony: Option<&'static str>,
    /// Somebody touched it.
    pub user_present: bool,
    /// It made sure who that was.
    pub user_verified: bool,
    /// There may be copies of its key.
    pub backup_eligible: bool,
    /// There are.
    pub backed_up: bool,
    /// The page was shown inside a page of others.
    pub cross_origin: bool,
    /// How often the key was used.
    pub counter: u32,
    /// Each use counts.
    pub counts: bool,
    /// Whose its key is, base64url.
    pub user_handle: Option<String>,
    /// The key.
    pub key: EcdsaKeyPair,
}

impl Default for Authenticator {
    fn default() -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key can be made");
        Self {
            // A part of a key that nobody else has.
            id: key.public_key().as_ref()[1..21].to_vec(),
            aaguid: Uuid::nil(),
            origin: ORIGIN.to_owned(),
            rp_id: RELYING_PARTY.to_owned(),
            challenge: None,
            ceremony: None,
            user_present: true,
            user_verified: true,
            backup_eligible: false,
            backed_up: false,
            cross_origin: false,
            counter: 0,
            counts: true,
            user_handle: None,
            key,
        }
    }
}

impl Authenticator {
    /// Makes a key: what `navigator.credentials.create()` gives for these options.
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

    /// Uses the key: what `navigator.credentials.get()` gives for these options.
    pub fn get(&mut self, options: &Value) -> Value {
        if self.counts {
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
            "crossOrigin": self.cross_origin,
        })
        .to_string()
    }

    fn data(&self, more: u8) -> Vec<u8> {
        let flags = [
            (self.user_present, PRESENT),
            (self.user_verified, VERIFIED),
            (self.backup_eligible, BACKUP_ELIGIBLE),
            (self.backed_up, BACKED_UP),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(more, |flags, (_, flag)| flags | flag);
        let mut data = digest(&SHA256, self.rp_id.as_bytes()).as_ref().to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// The key as COSE has it: type, algorithm, curve, x, y.
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
    /// Makes a passkey for that person, however that ends.
    pub async fn try_registering(&self, person: &Person, device: &mut Authenticator) -> Answer {
        let asked = self.post_as(&person.access_token, "/passkeys/registration/options", json!({})).await.expect(200);
        let credential = device.create(&asked.json["options"]);
        let body = json!({"challenge_id": asked.str("challenge_id"), "credential": credential});
        self.post_as(&person.access_token, "/passkeys/registration/verify", body).await
    }

    /// A new passkey of that person: its id, and the device that holds it.
    pub async fn passkey(&self, person: &Person) -> (String, Authenticator) {
        let mut device = Authenticator::default();
        let made = self.try_registering(person, &mut device).await.expect(200);
        (made.str("id").to_owned(), device)
    }

    /// Sets a security key up and has it make its key: the person, lifted, the factor's id, and the device.
    pub async fn key_factor(&self, person: &Person, name: &str) -> (Person, String, Authenticator) {
        let body = json!({"factor_type": "webauthn", "friendly_name": name});
        let factor = self.enroll(&person.access_token, body).await.expect(200).str("id").to_owned();
        let mut device = Authenticator::default();
        let asked = self.challenge(&person.access_token, &factor).await.expect(200);
        let made = device.create(&asked.json["webauthn"]["credential_options"]["publicKey"]);
        let answer = self.answer_key(person, &factor, asked.str("id"), ("create", made)).await;
        (Person { session: person.session.clone(), ..Person::of(&answer) }, factor, device)
    }

    /// Uses a security key for a new challenge, however that ends.
    pub async fn try_key(&self, person: &Person, factor: &str, device: &mut Authenticator) -> Answer {
        let asked = self.challenge(&person.access_token, factor).await.expect(200);
        let used = device.get(&asked.json["webauthn"]["credential_options"]["publicKey"]);
        self.answer_key(person, factor, asked.str("id"), ("request", used)).await
    }

    /// What a key said in that ceremony (`create` or `request`), given for a challenge, however that ends.
    pub async fn answer_key(&self, person: &Person, factor: &str, challenge: &str, said: (&str, Value)) -> Answer {
        let (kind, credential) = said;
        let webauthn = json!({"type": kind, "credential_response": credential});
        let body = json!({"challenge_id": challenge, "webauthn": webauthn});
        self.post_as(&person.access_token, &format!("/factors/{factor}/verify"), body).await
    }

    /// A sign-in by passkey, however it ends.
    pub async fn try_passkey(&self, device: &mut Authenticator) -> Answer {
        let asked = self.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let credential = device.get(&asked.json["options"]);
        let body = json!({"challenge_id": asked.str("challenge_id"), "credential": credential});
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
