//! WebAuthn options for browsers (WebAuthn §5.4, §5.5) and stored ceremony data as JSON.
//! Bytes are base64url without padding; in stored session data, which the reference also reads, ids are padded base64.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The type of every credential.
const PUBLIC_KEY: &str = "public-key";

/// The timeout of a ceremony in milliseconds.
const TIMEOUT: u32 = 300_000;

/// The requested COSE algorithms, in order of preference.
/// Keys with -7, -35 and -257 can be verified; every known authenticator supports one of them.
const ALGORITHMS: [i32; 10] = [-7, -35, -36, -257, -258, -259, -37, -38, -39, -8];

/// The user verification requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserVerification {
    /// User verification is required.
    Required,
    /// User verification is preferred.
    Preferred,
    /// User verification is discouraged.
    Discouraged,
}

/// The relying party (WebAuthn §5.4.2).
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RelyingPartyEntity<'a> {
    /// The relying party id: a host name.
    pub id: &'a str,
    /// The displayed name.
    pub name: &'a str,
}

/// The user of a new credential (WebAuthn §5.4.3).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserEntity<'a> {
    /// The user handle.
    pub id: String,
    /// The email address or phone number.
    pub name: &'a str,
    /// The displayed name.
    pub display_name: &'a str,
}

/// A credential type and algorithm (WebAuthn §5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialParameter {
    #[serde(rename = "type")]
    kind: String,
    alg: i32,
}

/// A credential descriptor (WebAuthn §5.8.3).
#[derive(Debug, Clone, Serialize)]
pub struct CredentialDescriptor {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transports: Vec<String>,
}

impl CredentialDescriptor {
    /// Builds the descriptor of a credential id with its transports.
    pub fn new(id: &[u8], transports: Vec<String>) -> Self {
        Self { kind: PUBLIC_KEY, id: encode_base64url(id), transports }
    }
}

/// The authenticator selection criteria (WebAuthn §5.4.4).
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSelection {
    /// The resident key requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_key: Option<&'static str>,
    /// The user verification requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_verification: Option<UserVerification>,
}

/// The options of `navigator.credentials.create()`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions<'a> {
    rp: RelyingPartyEntity<'a>,
    user: UserEntity<'a>,
    challenge: &'a str,
    pub_key_cred_params: Vec<CredentialParameter>,
    timeout: u32,
    /// Credentials that the user has already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_credentials: Vec<CredentialDescriptor>,
    /// The authenticator selection criteria (WebAuthn §5.4.4).
    pub authenticator_selection: AuthenticatorSelection,
    /// The attestation conveyance preference; absent means the browser's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestation: Option<&'static str>,
}

impl<'a> CreationOptions<'a> {
    /// Options without restrictions on the authenticator.
    pub fn new(rp: RelyingPartyEntity<'a>, user: UserEntity<'a>, challenge: &'a str) -> Self {
        Self {
            rp,
            user,
            challenge,
            pub_key_cred_params: credential_parameters(),
            timeout: TIMEOUT,
            exclude_credentials: Vec::new(),
            authenticator_selection: AuthenticatorSelection::default(),
            attestation: None,
        }
    }
}

/// The options of `navigator.credentials.get()`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions<'a> {
    challenge: &'a str,
    timeout: u32,
    rp_id: &'a str,
    /// The allowed credentials; empty means discoverable credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_credentials: Vec<CredentialDescriptor>,
    /// The user verification requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_verification: Option<UserVerification>,
}

impl<'a> RequestOptions<'a> {
    /// Options that allow any credential of the relying party.
    pub fn new(rp_id: &'a str, challenge: &'a str) -> Self {
        Self { challenge, timeout: TIMEOUT, rp_id, allow_credentials: Vec::new(), user_verification: None }
    }
}

/// The stored session data of a ceremony.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionData {
    pub challenge: String,
    #[serde(rename = "rpId", default)]
    rp_id: String,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    allowed_credentials: Vec<String>,
    #[serde(default)]
    expires: String,
    /// The requested user verification.
    #[serde(
        rename = "userVerification",
        serialize_with = "verification_or_empty",
        deserialize_with = "verification",
        default
    )]
    pub user_verification: Option<UserVerification>,
    #[serde(rename = "credParams", skip_serializing_if = "Vec::is_empty", default)]
    parameters: Vec<CredentialParameter>,
}

impl SessionData {
    /// Session data of a registration for the user with that user handle.
    pub fn for_creation(rp_id: &str, challenge: &str, user_handle: &str, requested: Option<UserVerification>) -> Self {
        Self {
            user_id: Some(STANDARD.encode(user_handle)),
            parameters: credential_parameters(),
            ..Self::for_request(rp_id, challenge, requested)
        }
    }

    /// Session data of an authentication.
    pub fn for_request(rp_id: &str, challenge: &str, requested: Option<UserVerification>) -> Self {
        Self {
            challenge: challenge.to_owned(),
            rp_id: rp_id.to_owned(),
            user_id: None,
            allowed_credentials: Vec::new(),
            // The expiry is stored in a column of its own.
            expires: "0001-01-01T00:00:00Z".to_owned(),
            user_verification: requested,
            parameters: Vec::new(),
        }
    }

    /// Restricts the session data to these credentials of the user with that user handle.
    #[must_use]
    pub fn with_allowed_credentials<'k>(mut self, user_handle: &str, keys: impl IntoIterator<Item = &'k [u8]>) -> Self {
        self.user_id = Some(STANDARD.encode(user_handle));
        self.allowed_credentials = keys.into_iter().map(|key| STANDARD.encode(key)).collect();
        self
    }

    /// Whether this is a registration ceremony.
    pub fn is_creation(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// Whether the credential is allowed, if any are listed.
    pub fn allows(&self, key: &[u8]) -> bool {
        self.allowed_credentials.is_empty() || self.allowed_credentials.contains(&STANDARD.encode(key))
    }
}

/// The stored credential of a WebAuthn factor, in the reference's format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialRecord {
    /// The credential id.
    #[serde(with = "padded")]
    pub id: Vec<u8>,
    /// The COSE public key in CBOR.
    #[serde(with = "padded")]
    pub public_key: Vec<u8>,
    /// The attestation format.
    pub attestation_type: String,
    pub transport: Option<Vec<String>>,
    /// The flags at registration.
    pub flags: CredentialFlags,
    /// The authenticator's data.
    pub authenticator: AuthenticatorRecord,
    /// The registration data.
    pub attestation: AttestationRecord,
}

/// The flags of a credential (WebAuthn §6.1).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialFlags {
    /// The user was present.
    pub user_present: bool,
    /// The user was verified.
    pub user_verified: bool,
    /// The credential may be backed up.
    pub backup_eligible: bool,
    /// The credential is backed up.
    pub backup_state: bool,
}

/// The stored data of an authenticator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthenticatorRecord {
    /// The AAGUID: the authenticator's model.
    #[serde(rename = "AAGUID", with = "padded")]
    pub aaguid: Vec<u8>,
    /// The signature counter.
    pub sign_count: u32,
    /// Whether the counter regressed; the reference writes this member but never sets it.
    pub clone_warning: bool,
    /// `platform`, `cross-platform` or `""`.
    pub attachment: String,
}

/// The registration data as sent by the page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttestationRecord {
    /// The client data JSON.
    #[serde(rename = "clientDataJSON", with = "padded")]
    pub client_data: Vec<u8>,
    /// The SHA-256 of the client data.
    #[serde(with = "padded")]
    pub client_data_hash: Vec<u8>,
    /// The authenticator data, if the page sent it separately.
    #[serde(with = "padded_or_null")]
    pub authenticator_data: Option<Vec<u8>>,
    /// The COSE algorithm sent by the page; 0 if absent.
    pub public_key_algorithm: i64,
    /// The attestation object.
    #[serde(with = "padded")]
    pub object: Vec<u8>,
}

/// Serializes bytes as padded base64; null is read as empty.
mod padded {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        STANDARD.decode(text).map_err(de::Error::custom)
    }
}

/// Serializes bytes as padded base64 or null.
mod padded_or_null {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[expect(clippy::ref_option, reason = "serde calls it by reference")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| STANDARD.decode(text).map_err(de::Error::custom)).transpose()
    }
}

/// Encodes bytes as base64url without padding, as browsers do.
pub fn encode_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn credential_parameters() -> Vec<CredentialParameter> {
    ALGORITHMS.map(|alg| CredentialParameter { kind: PUBLIC_KEY.to_owned(), alg }).into()
}

/// Writes `""` if nothing was requested, as the reference does.
#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn verification_or_empty<S: serde::Serializer>(
    requested: &Option<UserVerification>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match requested {
        Some(requested) => requested.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

/// Reads `""` as nothing requested, as the reference writes it.
fn verification<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<UserVerification>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    Ok(match word.as_deref() {
        Some("required") => Some(UserVerification::Required),
        Some("preferred") => Some(UserVerification::Preferred),
        Some("discouraged") => Some(UserVerification::Discouraged),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
