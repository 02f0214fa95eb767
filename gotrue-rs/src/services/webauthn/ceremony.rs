//! The WebAuthn ceremonies: registration and authentication.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use gotrue_rules::domain::passkey::has_counter_regressed;
use gotrue_rules::domain::policy::{RelyingParty, WebAuthnPolicy};
use gotrue_rules::wire::credential::{
    AssertedCredential, ClientData, ClientDataError, CreatedCredential, is_authenticator_data,
};
use gotrue_rules::wire::webauthn::{
    AttestationRecord, AuthenticatorRecord, CredentialFlags, CredentialRecord, SessionData, UserVerification,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;
use uuid::Uuid;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::internals::AuthenticatorData;
use webauthn_rs_core::proto::{
    AttestationFormat, AuthenticationExtensionsClientOutputs, AuthenticationState, AuthenticatorAssertionResponseRaw,
    AuthenticatorAttestationResponseRaw, COSEAlgorithm, COSEKey, Credential, ParsedAttestation, PublicKeyCredential,
    RegisterPublicKeyCredential, RegisteredExtensions, RegistrationExtensionsClientOutputs, RegistrationState,
    RequestRegistrationExtensions, UserVerificationPolicy,
};

/// The supported signature algorithms; keys of other algorithms are refused at registration.
const SUPPORTED_ALGORITHMS: [COSEAlgorithm; 3] = [COSEAlgorithm::ES256, COSEAlgorithm::ES384, COSEAlgorithm::RS256];

/// Why a response of the browser is refused.
#[derive(Debug, thiserror::Error)]
pub enum CeremonyError {
    /// The response is malformed.
    #[error("malformed credential: {0}")]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
    /// The response does not answer this challenge, or is not signed by this credential.
    #[error("credential rejected: {0:?}")]
    Rejected(WebauthnError),
    /// A member of the client data is not spelled as it must be.
    #[error("client data rejected: {0}")]
    ClientData(#[from] ClientDataError),
    /// The signature counter did not grow: the credential may have been cloned.
    #[error("the signature counter decreased from {stored} to {received}")]
    CounterRegressed {
        /// The stored counter.
        stored: u32,
        /// The received counter.
        received: u32,
    },
}

/// The response of the browser to a registration.
#[derive(Debug)]
pub struct RegistrationResponse {
    response: CreatedCredential,
    attested: AttestedCredential,
}

/// A verified credential of a registration.
#[derive(Debug)]
pub struct RegisteredCredential {
    /// The credential id.
    pub id: Vec<u8>,
    /// The COSE key as CBOR.
    pub public_key: Vec<u8>,
    /// The attestation format; `none` unless the authenticator insists on another.
    pub format: String,
    /// The AAGUID, the model of the authenticator; nil if it is not disclosed.
    pub aaguid: Uuid,
    /// The signature counter.
    pub counter: u32,
    /// The transports of the authenticator; `None` if they are not disclosed.
    pub transports: Option<Vec<String>>,
    /// `platform`, `cross-platform` or `""`.
    pub attachment: &'static str,
    pub attestation: AttestationRecord,
    /// Whether the authenticator verified the user.
    pub user_verified: bool,
    /// Whether the credential may be backed up.
    pub backup_eligible: bool,
    /// Whether the credential is backed up.
    pub backed_up: bool,
}

impl RegistrationResponse {
    /// Parses the result of `navigator.credentials.create()`.
    pub fn parse(credential: &Value) -> Result<Self, CeremonyError> {
        let response = CreatedCredential::read(credential).map_err(unreadable_error)?;
        let attested = AttestedCredential::read(&response.attestation_object)?;
        Ok(Self { response, attested })
    }

    /// Verifies challenge, origin and relying party, and returns the credential.
    pub fn verify(self, party: &RelyingParty, session: &SessionData) -> Result<RegisteredCredential, CeremonyError> {
        let Self { response, attested } = self;
        response.client.validate(&session.challenge)?;
        let state = registration_state(session)?;
        let made = webauthn_core(party)
            .register_credential(&library_credential(&response), &state, None)
            .map_err(CeremonyError::Rejected)?;
        let hash = digest(&SHA256, &response.client_data);
        Ok(RegisteredCredential {
            id: made.cred_id,
            public_key: attested.public_key,
            format: attestation_format_name(&made.attestation_format),
            aaguid: attested.aaguid,
            counter: made.counter,
            transports: response.transports,
            attachment: response.attachment,
            attestation: AttestationRecord {
                client_data: response.client_data,
                client_data_hash: hash.as_ref().to_vec(),
                authenticator_data: response.authenticator_data,
                public_key_algorithm: response.public_key_algorithm,
                object: response.attestation_object,
            },
            user_verified: made.user_verified,
            backup_eligible: made.backup_eligible,
            backed_up: made.backup_state,
        })
    }
}

/// Converts the credential to the library's type. The library does not check the transports.
fn library_credential(response: &CreatedCredential) -> RegisterPublicKeyCredential {
    RegisterPublicKeyCredential {
        id: response.id.clone(),
        raw_id: response.raw_id.clone(),
        response: AuthenticatorAttestationResponseRaw {
            attestation_object: response.attestation_object.clone(),
            client_data_json: response.client_data.clone(),
            transports: None,
        },
        type_: PUBLIC_KEY.to_owned(),
        extensions: RegistrationExtensionsClientOutputs::default(),
    }
}

impl RegisteredCredential {
    /// The credential as a second factor stores it.
    pub fn to_record(&self) -> CredentialRecord {
        CredentialRecord {
            id: self.id.clone(),
            public_key: self.public_key.clone(),
            attestation_type: self.format.clone(),
            transport: self.transports.clone(),
            flags: CredentialFlags {
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

/// The response of the browser to an authentication.
#[derive(Debug)]
pub struct AssertionResponse {
    credential: PublicKeyCredential,
    client: ClientData,
}

/// What the verification of an assertion needs of a stored passkey or security key.
#[derive(Debug, Clone, Copy)]
pub struct StoredCredential<'a> {
    /// The COSE key as CBOR.
    pub public_key: &'a [u8],
    /// The signature counter.
    pub counter: u32,
    /// Whether the credential may be backed up.
    pub backup_eligible: bool,
    /// Whether the credential is backed up.
    pub backed_up: bool,
}

impl AssertionResponse {
    /// Parses the result of `navigator.credentials.get()`.
    pub fn read(credential: &Value) -> Result<Self, CeremonyError> {
        let response = AssertedCredential::read(credential).map_err(unreadable_error)?;
        let credential = PublicKeyCredential {
            id: response.id,
            raw_id: response.raw_id,
            response: AuthenticatorAssertionResponseRaw {
                authenticator_data: response.authenticator_data,
                client_data_json: response.client_data,
                signature: response.signature,
                user_handle: response.user_handle,
            },
            extensions: AuthenticationExtensionsClientOutputs::default(),
            type_: PUBLIC_KEY.to_owned(),
        };
        Ok(Self { credential, client: response.client })
    }

    pub fn credential_id(&self) -> &[u8] {
        &self.credential.raw_id
    }

    /// The user id of the user handle; `None` if the handle is not the canonical text of a UUID.
    pub fn user_handle_id(&self) -> Option<Uuid> {
        let handle = self.credential.get_user_unique_id()?;
        let id = Uuid::try_parse_ascii(handle).ok()?;
        (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()).as_bytes() == handle).then_some(id)
    }

    /// The user handle; `None` if the authenticator returned none.
    pub fn user_handle(&self) -> Option<&[u8]> {
        self.credential.get_user_unique_id().filter(|handle| !handle.is_empty())
    }

    /// Verifies signature, challenge, origin and relying party, and returns the signature counter.
    pub fn accept(
        &self,
        party: &RelyingParty,
        session: &SessionData,
        key: StoredCredential<'_>,
        policy: &WebAuthnPolicy,
    ) -> Result<u32, CeremonyError> {
        self.client.validate(&session.challenge)?;
        let state = authentication_state(session)?;
        let credential = library_stored_credential(self.credential_id(), key)?;
        let proved = webauthn_core(party)
            .authenticate_single_credential(&self.credential, &state, &credential)
            .map_err(CeremonyError::Rejected)?;
        let received = proved.counter();
        if policy.counter_must_increase && has_counter_regressed(key.counter, received) {
            return Err(CeremonyError::CounterRegressed { stored: key.counter, received });
        }
        Ok(received)
    }
}

fn webauthn_core(party: &RelyingParty) -> WebauthnCore {
    let origins = party.origins.iter().filter_map(|origin| Url::parse(origin).ok()).collect();
    // The timeout is part of the options that the browser gets. Subdomains and other ports are other origins.
    WebauthnCore::new_unsafe_experts_only(
        &party.display_name,
        &party.id,
        origins,
        Duration::ZERO,
        Some(false),
        Some(false),
    )
}

fn unreadable_error(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CeremonyError {
    CeremonyError::Unreadable(cause.into())
}

/// The library's ceremony state in its serialized form.
///
/// The library creates states only with its own challenges.
#[derive(Serialize)]
struct LibraryState<'a> {
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

impl<'a> LibraryState<'a> {
    fn from_session(session: &'a SessionData) -> Self {
        Self {
            policy: match session.user_verification {
                Some(UserVerification::Required) => UserVerificationPolicy::Required,
                _ => UserVerificationPolicy::Preferred,
            },
            challenge: &session.challenge,
            exclude_credentials: [],
            credential_algorithms: SUPPORTED_ALGORITHMS,
            require_resident_key: false,
            authenticator_attachment: None,
            extensions: RequestRegistrationExtensions::default(),
            allow_synchronised_authenticators: true,
            credentials: [],
            appid: None,
            allow_backup_eligible_upgrade: false,
        }
    }

    fn deserialize_as<T: DeserializeOwned>(&self) -> Result<T, CeremonyError> {
        serde_json::to_value(self).and_then(serde_json::from_value).map_err(unreadable_error)
    }
}

fn registration_state(session: &SessionData) -> Result<RegistrationState, CeremonyError> {
    LibraryState::from_session(session).deserialize_as()
}

fn authentication_state(session: &SessionData) -> Result<AuthenticationState, CeremonyError> {
    LibraryState::from_session(session).deserialize_as()
}

/// Converts a stored credential to the library's type.
///
/// Its counter is zero, because the library refuses every counter that does not grow, which the policy decides here.
/// User verification at registration is not stored.
fn library_stored_credential(id: &[u8], key: StoredCredential<'_>) -> Result<Credential, CeremonyError> {
    let cbor: serde_cbor_2::Value = serde_cbor_2::from_slice(key.public_key).map_err(unreadable_error)?;
    Ok(Credential {
        cred_id: id.to_vec(),
        cred: COSEKey::try_from(&cbor).map_err(CeremonyError::Rejected)?,
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

fn attestation_format_name(format: &AttestationFormat) -> String {
    let word = serde_json::to_value(format).ok();
    word.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The type of every WebAuthn credential.
const PUBLIC_KEY: &str = "public-key";

/// The parts of the authenticator data that the library does not expose: AAGUID and public key.
#[derive(Debug)]
struct AttestedCredential {
    aaguid: Uuid,
    public_key: Vec<u8>,
}

impl AttestedCredential {
    /// Parses an attestation object.
    fn read(object: &[u8]) -> Result<Self, CeremonyError> {
        use webauthn_rs_core::proto::Registration as Ceremony;
        let missing = || unreadable_error("no authenticator data in the attestation object");
        let object: serde_cbor_2::Value = serde_cbor_2::from_slice(object).map_err(unreadable_error)?;
        let serde_cbor_2::Value::Map(members) = object else { return Err(missing()) };
        let Some(serde_cbor_2::Value::Bytes(data)) = members.get(&serde_cbor_2::Value::Text("authData".into())) else {
            return Err(missing());
        };
        if !is_authenticator_data(data) {
            return Err(missing());
        }
        let data = AuthenticatorData::<Ceremony>::try_from(data.as_slice())
            .map_err(|error| unreadable_error(format!("{error:?}")))?;
        let attested = data.acd.ok_or_else(missing)?;
        Ok(Self {
            aaguid: Uuid::from_bytes(attested.aaguid),
            public_key: serde_cbor_2::to_vec(&attested.credential_pk).map_err(unreadable_error)?,
        })
    }
}
