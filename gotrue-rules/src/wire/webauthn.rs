//! What browsers are asked for (WebAuthn §5.4, §5.5) and what is kept of a challenge, as JSON. Bytes are base64url
//! without padding; in the stored session, whose form the reference reads too, ids are base64 with it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The kind of every credential.
const PUBLIC_KEY: &str = "public-key";

/// How long a browser waits for its user, milliseconds.
const TIMEOUT: u32 = 300_000;

/// The COSE numbers of the signatures asked for, best first. Keys of the first two, and of -257, can be verified; no
/// authenticator is known that has none of them.
const ALGORITHMS: [i32; 10] = [-7, -35, -36, -257, -258, -259, -37, -38, -39, -8];

/// Whether an authenticator is to make sure who uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserVerification {
    /// It must.
    Required,
    /// It should.
    Preferred,
    /// It need not.
    Discouraged,
}

/// A name for something the browser shows, with its id.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Party<'a> {
    /// The host name.
    pub id: &'a str,
    /// The name shown.
    pub name: &'a str,
}

/// The account that a key is made for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserEntity<'a> {
    /// The user handle.
    pub id: String,
    /// What tells accounts apart: an address or a number.
    pub name: &'a str,
    /// What the account is called.
    pub display_name: &'a str,
}

/// A signature that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialParameter {
    #[serde(rename = "type")]
    kind: String,
    alg: i32,
}

/// A key by its id.
#[derive(Debug, Clone, Serialize)]
pub struct Descriptor {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transports: Vec<String>,
}

impl Descriptor {
    /// The key of that id, reached by these transports.
    pub fn of(id: &[u8], transports: Vec<String>) -> Self {
        Self { kind: PUBLIC_KEY, id: encode(id), transports }
    }
}

/// Which authenticators may be used.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Whether the key must be found without its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_key: Option<&'static str>,
    /// Whether the authenticator is to make sure who uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_verification: Option<UserVerification>,
}

/// What `navigator.credentials.create()` is asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions<'a> {
    rp: Party<'a>,
    user: UserEntity<'a>,
    challenge: &'a str,
    pub_key_cred_params: Vec<CredentialParameter>,
    timeout: u32,
    /// Keys that the account has already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_credentials: Vec<Descriptor>,
    /// Which authenticators may be used.
    pub authenticator_selection: Selection,
    /// Whether the authenticator is to tell its make; absent means the browser's own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestation: Option<&'static str>,
}

impl<'a> CreationOptions<'a> {
    /// A key of any authenticator for that account.
    pub fn new(rp: Party<'a>, user: UserEntity<'a>, challenge: &'a str) -> Self {
        Self {
            rp,
            user,
            challenge,
            pub_key_cred_params: parameters(),
            timeout: TIMEOUT,
            exclude_credentials: Vec::new(),
            authenticator_selection: Selection::default(),
            attestation: None,
        }
    }
}

/// What `navigator.credentials.get()` is asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions<'a> {
    challenge: &'a str,
    timeout: u32,
    rp_id: &'a str,
    /// Keys that may be used; with none the authenticator knows its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_credentials: Vec<Descriptor>,
    /// Whether the authenticator is to make sure who uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_verification: Option<UserVerification>,
}

impl<'a> RequestOptions<'a> {
    /// Any key of that relying party.
    pub fn new(rp_id: &'a str, challenge: &'a str) -> Self {
        Self { challenge, timeout: TIMEOUT, rp_id, allow_credentials: Vec::new(), user_verification: None }
    }
}

/// What is kept of a challenge until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionData {
    /// The challenge.
    pub challenge: String,
    #[serde(rename = "rpId", default)]
    rp_id: String,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    allowed_credentials: Vec<String>,
    #[serde(default)]
    expires: String,
    /// What the authenticator was asked to make sure of.
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
    /// For a key that is to be made for the account with that user handle.
    pub fn of_creation(rp_id: &str, challenge: &str, user_handle: &str, asked: Option<UserVerification>) -> Self {
        Self {
            user_id: Some(STANDARD.encode(user_handle)),
            parameters: parameters(),
            ..Self::of_request(rp_id, challenge, asked)
        }
    }

    /// For a key that is to be used.
    pub fn of_request(rp_id: &str, challenge: &str, asked: Option<UserVerification>) -> Self {
        Self {
            challenge: challenge.to_owned(),
            rp_id: rp_id.to_owned(),
            user_id: None,
            allowed_credentials: Vec::new(),
            // The row knows when it ends.
            expires: "0001-01-01T00:00:00Z".to_owned(),
            user_verification: asked,
            parameters: Vec::new(),
        }
    }

    /// The same for one of these keys of the account with that user handle.
    #[must_use]
    pub fn among<'k>(mut self, user_handle: &str, keys: impl IntoIterator<Item = &'k [u8]>) -> Self {
        self.user_id = Some(STANDARD.encode(user_handle));
        self.allowed_credentials = keys.into_iter().map(|key| STANDARD.encode(key)).collect();
        self
    }

    /// Whether a key was to be made, and not used.
    pub fn is_creation(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// Whether that key was among those asked for, if any were named.
    pub fn allows(&self, key: &[u8]) -> bool {
        self.allowed_credentials.is_empty() || self.allowed_credentials.contains(&STANDARD.encode(key))
    }
}

/// A key of a second factor as it is stored, in the form that the reference reads too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeyRecord {
    /// How the authenticator calls it.
    #[serde(with = "padded")]
    pub id: Vec<u8>,
    /// The COSE key as CBOR.
    #[serde(with = "padded")]
    pub public_key: Vec<u8>,
    /// The format of the attestation.
    pub attestation_type: String,
    /// The ways to the authenticator.
    pub transport: Option<Vec<String>>,
    /// What was told when it was made.
    pub flags: KeyFlags,
    /// The authenticator.
    pub authenticator: AuthenticatorRecord,
    /// What the key was made with.
    pub attestation: AttestationRecord,
}

/// What an authenticator tells of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeyFlags {
    /// Somebody touched it.
    pub user_present: bool,
    /// It made sure who that was.
    pub user_verified: bool,
    /// There may be copies of the key elsewhere.
    pub backup_eligible: bool,
    /// There are.
    pub backup_state: bool,
}

/// What is kept of an authenticator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthenticatorRecord {
    /// Its model.
    #[serde(rename = "AAGUID", with = "padded")]
    pub aaguid: Vec<u8>,
    /// The key's signature counter.
    pub sign_count: u32,
    /// Whether the counter fell back once; the reference writes this member and never sets it.
    pub clone_warning: bool,
    /// `platform`, `cross-platform` or `""`.
    pub attachment: String,
}

/// What a key was made with, as the page handed it on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttestationRecord {
    /// What the browser signed for.
    #[serde(rename = "clientDataJSON", with = "padded")]
    pub client_data: Vec<u8>,
    /// The SHA-256 of that.
    #[serde(with = "padded")]
    pub client_data_hash: Vec<u8>,
    /// The authenticator's data, where the page repeated it.
    #[serde(with = "padded_or_null")]
    pub authenticator_data: Option<Vec<u8>>,
    /// The COSE number of the key's signatures as the page told it; 0 if it did not.
    pub public_key_algorithm: i64,
    /// The attestation object.
    #[serde(with = "padded")]
    pub object: Vec<u8>,
}

/// Bytes in the stored form; null counts as none.
mod padded {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        STANDARD.decode(text).map_err(de::Error::custom)
    }
}

/// Bytes in the stored form, or null.
mod padded_or_null {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[expect(clippy::ref_option, reason = "serde calls it by reference")]
    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| STANDARD.decode(text).map_err(de::Error::custom)).transpose()
    }
}

/// Bytes as browsers send and want them.
pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn parameters() -> Vec<CredentialParameter> {
    ALGORITHMS.map(|alg| CredentialParameter { kind: PUBLIC_KEY.to_owned(), alg }).into()
}

/// As the reference writes it: `""` where nothing was asked for.
#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn verification_or_empty<S: serde::Serializer>(
    asked: &Option<UserVerification>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match asked {
        Some(asked) => asked.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

/// The reference writes `""` where it asked for nothing.
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
mod tests {
    use super::*;

    #[test]
    fn a_session_of_the_reference_is_read() {
        let text = r#"{"challenge":"YWJj","rpId":"example.com","user_id":null,"allowed_credentials":["AQI="],
            "expires":"0001-01-01T00:00:00Z","userVerification":"","extensions":{"x":1}}"#;
        let session: SessionData = serde_json::from_str(text).unwrap();
        assert_eq!((session.challenge.as_str(), session.user_verification), ("YWJj", None));
        assert!(session.allows(&[1, 2]) && !session.allows(&[1, 3]));
    }

    #[test]
    fn a_session_comes_back_as_it_was_written() {
        for session in [
            SessionData::of_creation("example.com", "YWJj", "ann", Some(UserVerification::Preferred)),
            SessionData::of_request("example.com", "YWJj", None).among("ann", [[1u8, 2].as_slice()]),
        ] {
            let text = serde_json::to_string(&session).unwrap();
            assert_eq!(serde_json::from_str::<SessionData>(&text).unwrap(), session, "{text}");
        }
    }

    #[test]
    fn a_key_of_the_reference_is_read() {
        let text = r#"{"id":"AQI=","publicKey":"AwQ=","attestationType":"none","transport":null,
            "flags":{"userPresent":true,"userVerified":true,"backupEligible":false,"backupState":false},
            "authenticator":{"AAGUID":"AAAAAAAAAAAAAAAAAAAAAA==","signCount":7,"cloneWarning":false,"attachment":""},
            "attestation":{"clientDataJSON":"e30="}}"#;
        let key: KeyRecord = serde_json::from_str(text).unwrap();
        assert_eq!((key.id.as_slice(), key.public_key.as_slice()), ([1, 2].as_slice(), [3, 4].as_slice()));
        assert_eq!((key.authenticator.sign_count, key.authenticator.aaguid.len()), (7, 16));
        let again = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<KeyRecord>(&again).unwrap(), key, "{again}");
    }

    #[test]
    fn a_session_knows_which_ceremony_it_is_for() {
        assert!(SessionData::of_creation("example.com", "YWJj", "ann", None).is_creation());
        assert!(!SessionData::of_request("example.com", "YWJj", None).is_creation());
    }

    #[test]
    fn what_was_not_asked_is_left_out() {
        let asked = serde_json::to_string(&RequestOptions::new("example.com", "YWJj")).unwrap();
        assert_eq!(asked, r#"{"challenge":"YWJj","timeout":300000,"rpId":"example.com"}"#);
    }
}
