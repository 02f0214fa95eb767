//! The two ceremonies: a key that was made, and a key that was used.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use gotrue_rules::domain::passkey::counter_fell_back;
use gotrue_rules::domain::policy::{RelyingParty, WebAuthnPolicy};
use gotrue_rules::wire::credential::{CreatedCredential, UsedCredential, is_authenticator_data};
use gotrue_rules::wire::webauthn::{
    AttestationRecord, AuthenticatorRecord, KeyFlags, KeyRecord, SessionData, UserVerification,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;
use uuid::Uuid;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::internals::AuthenticatorData;
use webauthn_rs_core::proto::{
    AttestationFormat, AuthenticationExtensionsClientOutputs, AuthenticationState, AuthenticatorAssertionResponseRaw,
    AuthenticatorAttestationResponseRaw, COSEAlgorithm, COSEKey, Credential, ParsedAttestation, PublicKeyCredential,
    RegisterPublicKeyCredential, RegisteredExtensions, RegistrationExtensionsClientOutputs, RegistrationState,
    RequestRegistrationExtensions, UserVerificationPolicy,
};

use super::Refusal;

/// The signatures that can be verified; keys of others are refused when they are made.
const VERIFIED: [COSEAlgorithm; 3] = [COSEAlgorithm::ES256, COSEAlgorithm::ES384, COSEAlgorithm::RS256];

/// A key that was made, as the browser tells of it.
#[derive(Debug)]
pub struct Registration {
    said: CreatedCredential,
    attested: Attested,
}

/// A key that was made and may be kept.
#[derive(Debug)]
pub struct NewKey {
    /// How the authenticator calls it.
    pub id: Vec<u8>,
    /// The COSE key as CBOR.
    pub public_key: Vec<u8>,
    /// The format of the attestation; `none` unless the authenticator insisted on one.
    pub format: String,
    /// The model of the authenticator; all zeros where that is not told.
    pub aaguid: Uuid,
    /// The signature counter.
    pub counter: u32,
    /// The ways to the authenticator; none if they were not told.
    pub transports: Option<Vec<String>>,
    /// `platform`, `cross-platform` or `""`.
    pub attachment: &'static str,
    /// What it was made with.
    pub attestation: AttestationRecord,
    /// Whether the authenticator made sure who uses it.
    pub user_verified: bool,
    /// Whether there may be copies of it elsewhere.
    pub backup_eligible: bool,
    /// Whether there are.
    pub backed_up: bool,
}

impl Registration {
    /// Reads what `navigator.credentials.create()` gave.
    pub fn read(credential: &Value) -> Result<Self, Refusal> {
        let said = CreatedCredential::read(credential).map_err(unreadable)?;
        let attested = Attested::read(&said.attestation_object)?;
        Ok(Self { said, attested })
    }

    /// The key, if it was made for this challenge, by a page of ours, for us.
    pub fn accept(self, party: &RelyingParty, session: &SessionData) -> Result<NewKey, Refusal> {
        let Self { said, attested } = self;
        let state = registration_state(session)?;
        let made = core(party).register_credential(&as_made(&said), &state, None).map_err(Refusal::Refused)?;
        let hash = digest(&SHA256, &said.client_data);
        Ok(NewKey {
            id: made.cred_id,
            public_key: attested.public_key,
            format: format(&made.attestation_format),
            aaguid: attested.aaguid,
            counter: made.counter,
            transports: said.transports,
            attachment: said.attachment,
            attestation: AttestationRecord {
                client_data: said.client_data,
                client_data_hash: hash.as_ref().to_vec(),
                authenticator_data: said.authenticator_data,
                public_key_algorithm: said.public_key_algorithm,
                object: said.attestation_object,
            },
            user_verified: made.user_verified,
            backup_eligible: made.backup_eligible,
            backed_up: made.backup_state,
        })
    }
}

/// The credential as the library reads it; the ways to the authenticator are nothing that it checks.
fn as_made(said: &CreatedCredential) -> RegisterPublicKeyCredential {
    RegisterPublicKeyCredential {
        id: said.id.clone(),
        raw_id: said.raw_id.clone(),
        response: AuthenticatorAttestationResponseRaw {
            attestation_object: said.attestation_object.clone(),
            client_data_json: said.client_data.clone(),
            transports: None,
        },
        type_: PUBLIC_KEY.to_owned(),
        extensions: RegistrationExtensionsClientOutputs::default(),
    }
}

impl NewKey {
    /// The key as a second factor keeps it.
    pub fn record(&self) -> KeyRecord {
        KeyRecord {
            id: self.id.clone(),
            public_key: self.public_key.clone(),
            attestation_type: self.format.clone(),
            transport: self.transports.clone(),
            flags: KeyFlags {
                user_present: true,
                user_verified: self.user_verified,
                backup_eligible: self.backup_eligible,
                backup_state: self.backed_up,
            },
            authenticator: AuthenticatorRecord {
                aaguid: self.aaguid.into_bytes().into(),
                sign_count: self.counter,
                clone_warning: false,
                attachment: self.attachment.to_owned(),
            },
            attestation: self.attestation.clone(),
        }
    }
}

/// A key that was used, as the browser tells of it.
#[derive(Debug)]
pub struct Assertion(PublicKeyCredential);

/// A key as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredKey<'a> {
    /// The COSE key as CBOR.
    pub public_key: &'a [u8],
    /// The signature counter.
    pub counter: u32,
    /// Whether there may be copies of it elsewhere.
    pub backup_eligible: bool,
    /// Whether there are.
    pub backed_up: bool,
}

impl Assertion {
    /// Reads what `navigator.credentials.get()` gave.
    pub fn read(credential: &Value) -> Result<Self, Refusal> {
        let said = UsedCredential::read(credential).map_err(unreadable)?;
        Ok(Self(PublicKeyCredential {
            id: said.id,
            raw_id: said.raw_id,
            response: AuthenticatorAssertionResponseRaw {
                authenticator_data: said.authenticator_data,
                client_data_json: said.client_data,
                signature: said.signature,
                user_handle: said.user_handle,
            },
            extensions: AuthenticationExtensionsClientOutputs::default(),
            type_: PUBLIC_KEY.to_owned(),
        }))
    }

    /// How the authenticator calls the key.
    pub fn key_id(&self) -> &[u8] {
        &self.0.raw_id
    }

    /// Whose key it is, as the authenticator says; none if it does not say, or says what no account is called.
    pub fn account(&self) -> Option<Uuid> {
        Uuid::try_parse_ascii(self.0.get_user_unique_id()?).ok()
    }

    /// The user handle as it came; none if the authenticator did not say.
    pub fn user_handle(&self) -> Option<&[u8]> {
        self.0.get_user_unique_id().filter(|handle| !handle.is_empty())
    }

    /// The signature counter that came, if the key was used for this challenge, on a page of ours, for us.
    pub fn accept(
        &self,
        party: &RelyingParty,
        session: &SessionData,
        key: StoredKey<'_>,
        policy: &WebAuthnPolicy,
    ) -> Result<u32, Refusal> {
        let state = authentication_state(session)?;
        let credential = credential(self.key_id(), key)?;
        let proved =
            core(party).authenticate_single_credential(&self.0, &state, &credential).map_err(Refusal::Refused)?;
        let came = proved.counter();
        if policy.counter_must_grow && counter_fell_back(key.counter, came) {
            return Err(Refusal::CounterFellBack { stored: key.counter, came });
        }
        Ok(came)
    }
}

fn core(party: &RelyingParty) -> WebauthnCore {
    let origins = party.origins.iter().filter_map(|origin| Url::parse(origin).ok()).collect();
    // How long the browser waits is told elsewhere; subdomains and other ports are other origins.
    WebauthnCore::new_unsafe_experts_only(
        &party.display_name,
        &party.id,
        origins,
        Duration::ZERO,
        Some(false),
        Some(false),
    )
}

fn unreadable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refusal {
    Refusal::Unreadable(cause.into())
}

/// The library's states can be had only from its own challenges, or from what they are stored as.
#[derive(Serialize)]
struct State<'a> {
    policy: UserVerificationPolicy,
    challenge: &'a str,
    exclude_credentials: [(); 0],
    credential_algorithms: [COSEAlgorithm; 3],
    require_resident_key: bool,
    authenticator_attachment: Option<()>,
    extensions: RequestRegistrationExtensions,
    allow_synchronised_authenticators: bool,
    credentials: [(); 0],
    appid: Option<()>,
    allow_backup_eligible_upgrade: bool,
}

impl<'a> State<'a> {
    fn of(session: &'a SessionData) -> Self {
        Self {
            policy: match session.user_verification {
                Some(UserVerification::Required) => UserVerificationPolicy::Required,
                _ => UserVerificationPolicy::Preferred,
            },
            challenge: &session.challenge,
            exclude_credentials: [],
            credential_algorithms: VERIFIED,
            require_resident_key: false,
            authenticator_attachment: None,
            extensions: RequestRegistrationExtensions::default(),
            allow_synchronised_authenticators: true,
            credentials: [],
            appid: None,
            allow_backup_eligible_upgrade: false,
        }
    }

    fn as_library_s<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::to_value(self).and_then(serde_json::from_value).map_err(unreadable)
    }
}

fn registration_state(session: &SessionData) -> Result<RegistrationState, Refusal> {
    State::of(session).as_library_s()
}

fn authentication_state(session: &SessionData) -> Result<AuthenticationState, Refusal> {
    State::of(session).as_library_s()
}

/// A stored key as the library wants it. Its own counter is left at nought: the library would refuse every counter that
/// does not grow, which is for the policy to say. What was verified when it was made is not stored.
fn credential(id: &[u8], key: StoredKey<'_>) -> Result<Credential, Refusal> {
    let cbor: serde_cbor_2::Value = serde_cbor_2::from_slice(key.public_key).map_err(unreadable)?;
    Ok(Credential {
        cred_id: id.to_vec(),
        cred: COSEKey::try_from(&cbor).map_err(Refusal::Refused)?,
        counter: 0,
        transports: None,
        user_verified: false,
        backup_eligible: key.backup_eligible,
        backup_state: key.backed_up,
        registration_policy: UserVerificationPolicy::Preferred,
        extensions: RegisteredExtensions::none(),
        attestation: ParsedAttestation::default(),
        attestation_format: AttestationFormat::None,
    })
}

fn format(format: &AttestationFormat) -> String {
    let word = serde_json::to_value(format).ok();
    word.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The kind of every credential.
const PUBLIC_KEY: &str = "public-key";

/// What the library does not hand out of the authenticator's data: the model, and the key as it came.
#[derive(Debug)]
struct Attested {
    aaguid: Uuid,
    public_key: Vec<u8>,
}

impl Attested {
    /// Reads an attestation object.
    fn read(object: &[u8]) -> Result<Self, Refusal> {
        use webauthn_rs_core::proto::Registration as Ceremony;
        let missing = || unreadable("no authenticator data in the attestation object");
        let object: serde_cbor_2::Value = serde_cbor_2::from_slice(object).map_err(unreadable)?;
        let serde_cbor_2::Value::Map(members) = object else { return Err(missing()) };
        let Some(serde_cbor_2::Value::Bytes(data)) = members.get(&serde_cbor_2::Value::Text("authData".into())) else {
            return Err(missing());
        };
        if !is_authenticator_data(data) {
            return Err(missing());
        }
        let data = AuthenticatorData::<Ceremony>::try_from(data.as_slice())
            .map_err(|error| unreadable(format!("{error:?}")))?;
        let attested = data.acd.ok_or_else(missing)?;
        Ok(Self {
            aaguid: Uuid::from_bytes(attested.aaguid),
            public_key: serde_cbor_2::to_vec(&attested.credential_pk).map_err(unreadable)?,
        })
    }
}
