//! A public key credential as a page hands it on (WebAuthn §5.1): what `navigator.credentials.create()` and `get()`
//! gave, read by the reference's rules. A member of the wrong type is refused; most members may be absent or `null`.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::wire::go_json::{Error as JsonError, Object};

/// Base64url without padding; bits that are left over are not looked at.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The flag of authenticator data (WebAuthn §6.1) that holds a key.
const ATTESTED: u8 = 0x40;
/// The flag of authenticator data that holds extensions.
const EXTENDED: u8 = 0x80;
/// How long authenticator data without a key is.
const BARE_LENGTH: usize = 37;
/// How long authenticator data is before the id of its key.
const LENGTH_BEFORE_ID: usize = 55;

/// Why a credential cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A member is of another type.
    #[error("{0}")]
    Type(String),
    /// A member is no base64url.
    #[error("{0} is not base64url")]
    Base64(&'static str),
    /// No id, or one that is no base64url.
    #[error("a credential has an id")]
    Id,
    /// Another kind of credential.
    #[error("the type of a credential is public-key")]
    Kind,
    /// The authenticator's data cannot be what one has said.
    #[error("the authenticator data cannot be read")]
    AuthenticatorData,
}

impl From<JsonError> for Unreadable {
    fn from(error: JsonError) -> Self {
        Self::Type(error.to_string())
    }
}

/// A key that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCredential {
    /// `id`.
    pub id: String,
    /// `rawId`.
    pub raw_id: Vec<u8>,
    /// `authenticatorAttachment`: `platform` or `cross-platform`; `""` for anything else.
    pub attachment: &'static str,
    /// `clientDataJSON`.
    pub client_data: Vec<u8>,
    /// `attestationObject`.
    pub attestation_object: Vec<u8>,
    /// `authenticatorData`, which repeats a part of the attestation object; none if it was not sent.
    pub authenticator_data: Option<Vec<u8>>,
    /// `publicKeyAlgorithm`.
    pub public_key_algorithm: i64,
    /// `transports`; none if there are none.
    pub transports: Option<Vec<String>>,
}

impl CreatedCredential {
    /// Reads what `navigator.credentials.create()` gave.
    pub fn read(credential: &Value) -> Result<Self, Unreadable> {
        let shared = Shared::read(credential)?;
        if decode(&shared.id).is_none_or(|id| id.is_empty()) {
            return Err(Unreadable::Id);
        }
        let response = &shared.response;
        let transports = response.opt_strings("transports")?.unwrap_or_default();
        let transports = transports.into_iter().map(|name| if name == "cable" { "hybrid".to_owned() } else { name });
        let transports: Vec<_> = transports.collect();
        bytes(response, "publicKey")?;
        Ok(Self {
            raw_id: shared.raw_id,
            attachment: shared.attachment,
            client_data: shared.client_data,
            attestation_object: bytes(response, "attestationObject")?.unwrap_or_default(),
            authenticator_data: bytes(response, "authenticatorData")?,
            public_key_algorithm: response.opt_integer("publicKeyAlgorithm")?.unwrap_or_default(),
            transports: Some(transports).filter(|names| !names.is_empty()),
            id: shared.id,
        })
    }
}

/// A key that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedCredential {
    /// `id`.
    pub id: String,
    /// `rawId`.
    pub raw_id: Vec<u8>,
    /// `clientDataJSON`.
    pub client_data: Vec<u8>,
    /// `authenticatorData`.
    pub authenticator_data: Vec<u8>,
    /// `signature`.
    pub signature: Vec<u8>,
    /// `userHandle`; none if the authenticator does not know.
    pub user_handle: Option<Vec<u8>>,
}

impl UsedCredential {
    /// Reads what `navigator.credentials.get()` gave.
    pub fn read(credential: &Value) -> Result<Self, Unreadable> {
        let shared = Shared::read(credential)?;
        if decode(&shared.id).is_none() {
            return Err(Unreadable::Id);
        }
        let response = &shared.response;
        let authenticator_data = bytes(response, "authenticatorData")?.unwrap_or_default();
        if !is_authenticator_data(&authenticator_data) {
            return Err(Unreadable::AuthenticatorData);
        }
        Ok(Self {
            raw_id: shared.raw_id,
            client_data: shared.client_data,
            authenticator_data,
            signature: bytes(response, "signature")?.unwrap_or_default(),
            user_handle: bytes(response, "userHandle")?.filter(|handle| !handle.is_empty()),
            id: shared.id,
        })
    }
}

/// What both have.
struct Shared {
    id: String,
    raw_id: Vec<u8>,
    attachment: &'static str,
    client_data: Vec<u8>,
    response: Object,
}

impl Shared {
    fn read(credential: &Value) -> Result<Self, Unreadable> {
        let object = Object::parse(credential.to_string().as_bytes())?;
        let (id, kind) = (object.string("id")?, object.string("type")?);
        object.opt_object("clientExtensionResults")?;
        let attachment = match object.string("authenticatorAttachment")?.as_str() {
            "platform" => "platform",
            "cross-platform" => "cross-platform",
            _ => "",
        };
        let raw_id = bytes(&object, "rawId")?.unwrap_or_default();
        let response = object.nested("response")?;
        let client_data = bytes(&response, "clientDataJSON")?.unwrap_or_default();
        if id.is_empty() {
            return Err(Unreadable::Id);
        }
        if kind != "public-key" {
            return Err(Unreadable::Kind);
        }
        check_client_data(&client_data)?;
        Ok(Self { id, raw_id, attachment, client_data, response })
    }
}

/// Whether the client data (WebAuthn §5.8.1) has the form of one; what it says is looked at later.
fn check_client_data(text: &[u8]) -> Result<(), Unreadable> {
    let data = Object::parse(text)?;
    for name in ["type", "challenge", "origin", "topOrigin", "new_keys_may_be_added_here"] {
        data.string(name)?;
    }
    data.bool("crossOrigin")?;
    let binding = data.nested("tokenBinding")?;
    binding.string("status")?;
    binding.string("id")?;
    Ok(())
}

/// Whether that can be authenticator data (WebAuthn §6.1).
pub fn is_authenticator_data(data: &[u8]) -> bool {
    let Some(flags) = data.get(32).filter(|_| data.len() >= BARE_LENGTH) else { return false };
    if flags & ATTESTED == 0 {
        return flags & EXTENDED != 0 || data.len() == BARE_LENGTH;
    }
    let Some(&[high, low]) = data.get(LENGTH_BEFORE_ID - 2..LENGTH_BEFORE_ID) else { return false };
    let id_length = usize::from(u16::from_be_bytes([high, low]));
    data.len() > LENGTH_BEFORE_ID && data.len() >= LENGTH_BEFORE_ID + id_length
}

/// A member of base64url; none if it is absent or `null`. As in the reference a truth value or a number is taken by its
/// letters, and padding is not looked at.
fn bytes(object: &Object, name: &'static str) -> Result<Option<Vec<u8>>, Unreadable> {
    let Some(value) = object.value(name) else { return Ok(None) };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    decode(text.trim_end_matches('=')).map(Some).ok_or(Unreadable::Base64(name))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
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

    fn used() -> Value {
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
        let read = UsedCredential::read(&used()).unwrap();
        assert_eq!((read.raw_id, read.user_handle), (vec![1, 2], None));
        for path in ["/rawId", "/clientExtensionResults", "/authenticatorAttachment", "/response/signature"] {
            assert!(UsedCredential::read(&with(used(), path, Value::Null)).is_ok(), "{path}");
        }
    }

    #[test]
    fn members_of_another_type_are_refused() {
        for (path, value) in [
            ("/id", json!(7)),
            ("/id", json!("!!")),
            ("/id", json!("AQI=")),
            ("/id", Value::Null),
            ("/type", json!("password")),
            ("/rawId", json!({})),
            ("/rawId", json!("a!")),
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
            assert!(UsedCredential::read(&with(used(), path, value.clone())).is_err(), "{path}: {value}");
        }
        for whole in [json!(null), json!([]), json!("{}"), json!(1)] {
            assert!(UsedCredential::read(&whole).is_err(), "{whole}");
        }
    }

    #[test]
    fn names_are_read_in_any_case_and_padding_is_ignored() {
        let mut credential = used();
        let response = credential.as_object_mut().unwrap().remove("response").unwrap();
        credential["RESPONSE"] = response;
        let read = UsedCredential::read(&with(credential, "/rawId", json!("AQI="))).unwrap();
        assert_eq!(read.raw_id, [1, 2]);
    }

    #[test]
    fn what_a_key_that_was_made_tells_is_kept() {
        let made = with(used(), "/response/transports", json!(["cable", "other", null]));
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
