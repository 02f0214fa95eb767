//! Parses public key credentials (WebAuthn §5.1) by the reference's rules.
//! These are the JSON results of `navigator.credentials.create()` and `get()`. A member of a wrong type is rejected;
//! most members may be absent or `null`.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::wire::go_json::{GoJsonError as JsonError, Object};

/// Base64url without padding; trailing bits are ignored.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The flag of authenticator data for attested credential data (WebAuthn §6.1).
const FLAG_ATTESTED_DATA: u8 = 0x40;
/// The flag of authenticator data for extension data.
const FLAG_EXTENSIONS: u8 = 0x80;
/// The length of authenticator data without credential and extensions.
const MIN_AUTHENTICATOR_DATA: usize = 37;
/// The length of authenticator data before the credential id.
const CREDENTIAL_ID_OFFSET: usize = 55;

/// Why a credential is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// A member has a wrong type.
    #[error("{0}")]
    Type(String),
    /// A member is not base64url.
    #[error("{0} is not base64url")]
    Base64(&'static str),
    /// The id is missing or not base64url.
    #[error("the credential id is missing or not base64url")]
    Id,
    /// The type is not `public-key`.
    #[error("the credential type is not public-key")]
    CredentialType,
    /// The authenticator data is malformed.
    #[error("the authenticator data is malformed")]
    AuthenticatorData,
}

/// Why client data is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientDataError {
    /// The challenge is not spelled as it was issued.
    #[error("the challenge differs from the issued one")]
    Challenge,
    /// The origin contains white space or control characters.
    #[error("the origin contains white space")]
    Origin,
    /// The status of the token binding is missing or unknown.
    #[error("the status of the token binding is missing or unknown")]
    TokenBinding,
}

impl From<JsonError> for CredentialError {
    fn from(error: JsonError) -> Self {
        Self::Type(error.to_string())
    }
}

/// The result of a registration ceremony.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCredential {
    pub id: String,
    pub raw_id: Vec<u8>,
    /// `authenticatorAttachment`: `platform` or `cross-platform`; empty for anything else.
    pub attachment: &'static str,
    /// `clientDataJSON`.
    pub client_data: Vec<u8>,
    /// The parsed `clientDataJSON`.
    pub client: ClientData,
    pub attestation_object: Vec<u8>,
    /// `authenticatorData`, a copy of a part of the attestation object, if sent.
    pub authenticator_data: Option<Vec<u8>>,
    pub public_key_algorithm: i64,
    /// `transports`; `None` if empty.
    pub transports: Option<Vec<String>>,
}

impl CreatedCredential {
    /// Parses the result of `navigator.credentials.create()`.
    pub fn read(credential: &Value) -> Result<Self, CredentialError> {
        let shared = CommonMembers::read(credential)?;
        if decode_id(&shared.id).is_none_or(|id| id.is_empty()) {
            return Err(CredentialError::Id);
        }
        let response = &shared.response;
        let transports = response.opt_strings("transports")?.unwrap_or_default();
        let transports = transports.into_iter().map(|name| if name == "cable" { "hybrid".to_owned() } else { name });
        let transports: Vec<_> = transports.collect();
        decode_member(response, "publicKey")?;
        Ok(Self {
            raw_id: shared.raw_id,
            attachment: shared.attachment,
            client_data: shared.client_data,
            client: shared.client,
            attestation_object: decode_member(response, "attestationObject")?.unwrap_or_default(),
            authenticator_data: decode_member(response, "authenticatorData")?,
            public_key_algorithm: response.opt_integer("publicKeyAlgorithm")?.unwrap_or_default(),
            transports: Some(transports).filter(|names| !names.is_empty()),
            id: shared.id,
        })
    }
}

/// The result of an authentication ceremony.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertedCredential {
    pub id: String,
    pub raw_id: Vec<u8>,
    /// `clientDataJSON`.
    pub client_data: Vec<u8>,
    /// The parsed `clientDataJSON`.
    pub client: ClientData,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
    /// `userHandle`, if the authenticator returned one.
    pub user_handle: Option<Vec<u8>>,
}

impl AssertedCredential {
    /// Parses the result of `navigator.credentials.get()`.
    pub fn read(credential: &Value) -> Result<Self, CredentialError> {
        let shared = CommonMembers::read(credential)?;
        if decode_id(&shared.id).is_none() {
            return Err(CredentialError::Id);
        }
        let response = &shared.response;
        let authenticator_data = decode_member(response, "authenticatorData")?.unwrap_or_default();
        if !is_authenticator_data(&authenticator_data) {
            return Err(CredentialError::AuthenticatorData);
        }
        Ok(Self {
            raw_id: shared.raw_id,
            client_data: shared.client_data,
            client: shared.client,
            authenticator_data,
            signature: decode_member(response, "signature")?.unwrap_or_default(),
            user_handle: decode_member(response, "userHandle")?.filter(|handle| !handle.is_empty()),
            id: shared.id,
        })
    }
}

/// The common members of both results.
struct CommonMembers {
    id: String,
    raw_id: Vec<u8>,
    attachment: &'static str,
    client_data: Vec<u8>,
    client: ClientData,
    response: Object,
}

impl CommonMembers {
    fn read(credential: &Value) -> Result<Self, CredentialError> {
        let object = Object::parse(credential.to_string().as_bytes())?;
        let (id, kind) = (object.string("id")?, object.string("type")?);
        object.opt_object("clientExtensionResults")?;
        let attachment = match object.string("authenticatorAttachment")?.as_str() {
            "platform" => "platform",
            "cross-platform" => "cross-platform",
            _ => "",
        };
        let raw_id = decode_member(&object, "rawId")?.unwrap_or_default();
        let response = object.nested("response")?;
        let client_data = decode_member(&response, "clientDataJSON")?.unwrap_or_default();
        if id.is_empty() {
            return Err(CredentialError::Id);
        }
        if kind != "public-key" {
            return Err(CredentialError::CredentialType);
        }
        let client = ClientData::parse(&client_data)?;
        Ok(Self { id, raw_id, attachment, client_data, client, response })
    }
}

/// The members of client data (WebAuthn §5.8.1) that must be spelled exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientData {
    challenge: String,
    origin: String,
    /// The status of the token binding, if there is one.
    token_binding: Option<String>,
}

impl ClientData {
    /// Parses client data and checks the types of its members.
    fn parse(text: &[u8]) -> Result<Self, CredentialError> {
        let data = Object::parse(text)?;
        for name in ["type", "topOrigin", "new_keys_may_be_added_here"] {
            data.string(name)?;
        }
        data.bool("crossOrigin")?;
        let (challenge, origin) = (data.string("challenge")?, data.string("origin")?);
        let binding = data.nested("tokenBinding")?;
        binding.string("id")?;
        let status = binding.string("status")?;
        let token_binding = data.value("tokenBinding").map(|_| status);
        Ok(Self { challenge, origin, token_binding })
    }

    /// Checks the spelling of challenge, origin and token binding.
    ///
    /// Their values are verified with the signature.
    ///
    /// # Errors
    ///
    /// The first member that the reference refuses although a lenient parser would not.
    pub fn validate(&self, challenge: &str) -> Result<(), ClientDataError> {
        if self.challenge != challenge {
            return Err(ClientDataError::Challenge);
        }
        if self.origin.contains(|character: char| character.is_whitespace() || character.is_control()) {
            return Err(ClientDataError::Origin);
        }
        match self.token_binding.as_deref() {
            None | Some("present" | "supported" | "not-supported") => Ok(()),
            Some(_) => Err(ClientDataError::TokenBinding),
        }
    }
}

/// Whether the length fits the flags of authenticator data (WebAuthn §6.1).
pub fn is_authenticator_data(data: &[u8]) -> bool {
    let Some(flags) = data.get(32).filter(|_| data.len() >= MIN_AUTHENTICATOR_DATA) else { return false };
    if flags & FLAG_ATTESTED_DATA == 0 {
        return flags & FLAG_EXTENSIONS != 0 || data.len() == MIN_AUTHENTICATOR_DATA;
    }
    let Some(&[high, low]) = data.get(CREDENTIAL_ID_OFFSET - 2..CREDENTIAL_ID_OFFSET) else { return false };
    let id_length = usize::from(u16::from_be_bytes([high, low]));
    data.len() > CREDENTIAL_ID_OFFSET && data.len() >= CREDENTIAL_ID_OFFSET + id_length
}

/// Decodes a base64url member; `None` if absent or `null`.
/// As in the reference a boolean or number is decoded from its JSON text, padding is ignored, and line breaks are not.
fn decode_member(object: &Object, name: &'static str) -> Result<Option<Vec<u8>>, CredentialError> {
    let Some(value) = object.value(name) else { return Ok(None) };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    LENIENT.decode(text.trim_end_matches('=')).map(Some).map_err(|_| CredentialError::Base64(name))
}

/// Decodes the id. As in the reference, line breaks are ignored.
fn decode_id(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    LENIENT.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn asserted_json() -> Value {
        let response = json!({
            "clientDataJSON": encoded(br#"{"type":"webauthn.get","challenge":"YQ","origin":"https://a.example"}"#),
            "authenticatorData": encoded(&[0; 37]),
            "signature": "AQ",
            "userHandle": null,
        });
        json!({"id": "AQI", "rawId": "AQI", "type": "public-key", "response": response})
    }

    fn with(mut credential: Value, path: &str, value: Value) -> Value {
        let (parent, name) = path.rsplit_once('/').unwrap();
        credential.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
        credential
    }

    #[test]
    fn optional_members_may_be_null() {
        let read = AssertedCredential::read(&asserted_json()).unwrap();
        assert_eq!((read.raw_id, read.user_handle), (vec![1, 2], None));
        for path in ["/rawId", "/clientExtensionResults", "/authenticatorAttachment", "/response/signature"] {
            assert!(AssertedCredential::read(&with(asserted_json(), path, Value::Null)).is_ok(), "{path}");
        }
    }

    #[test]
    fn members_of_wrong_type_are_rejected() {
        for (path, value) in [
            ("/id", json!(7)),
            ("/id", json!("!!")),
            ("/id", json!("AQI=")),
            ("/id", Value::Null),
            ("/type", json!("password")),
            ("/rawId", json!({})),
            ("/rawId", json!("a!")),
            ("/rawId", json!("AQI\n")),
            ("/response/signature", json!("A\rQ")),
            ("/authenticatorAttachment", json!(true)),
            ("/clientExtensionResults", json!([])),
            ("/response", json!([])),
            ("/response", Value::Null),
            ("/response/clientDataJSON", json!("")),
            ("/response/clientDataJSON", json!(encoded(br#"{"origin":1}"#))),
            ("/response/authenticatorData", json!("")),
            ("/response/authenticatorData", json!("AAAA")),
            ("/response/signature", json!([])),
        ] {
            assert!(AssertedCredential::read(&with(asserted_json(), path, value.clone())).is_err(), "{path}: {value}");
        }
        for whole in [json!(null), json!([]), json!("{}"), json!(1)] {
            assert!(AssertedCredential::read(&whole).is_err(), "{whole}");
        }
    }

    #[test]
    fn names_are_case_insensitive_and_padding_is_ignored() {
        let mut credential = asserted_json();
        let response = credential.as_object_mut().unwrap().remove("response").unwrap();
        credential["RESPONSE"] = response;
        let read = AssertedCredential::read(&with(credential, "/rawId", json!("AQI="))).unwrap();
        assert_eq!(read.raw_id, [1, 2]);
    }

    #[test]
    fn created_credential_members_are_parsed() {
        let made = with(asserted_json(), "/response/transports", json!(["cable", "other", null]));
        let made = with(made, "/authenticatorAttachment", json!("cross-platform"));
        let made = with(made, "/response/publicKeyAlgorithm", json!(-7));
        let read = CreatedCredential::read(&made).unwrap();
        assert_eq!(read.transports.unwrap(), ["hybrid", "other", ""]);
        assert_eq!((read.attachment, read.public_key_algorithm), ("cross-platform", -7));
        assert!(CreatedCredential::read(&with(made.clone(), "/response/transports", json!(["usb", 1]))).is_err());
        assert!(CreatedCredential::read(&with(made.clone(), "/response/publicKeyAlgorithm", json!("x"))).is_err());
        let none = CreatedCredential::read(&with(made, "/response/transports", json!([]))).unwrap();
        assert_eq!(none.transports, None);
    }
}
