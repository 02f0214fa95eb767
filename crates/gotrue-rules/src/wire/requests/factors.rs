//! Bodies of `/factors` and `/admin/users/{id}/factors`. Strings are empty if absent.

use foundation::error::{Error, ErrorCode, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::wire::go_json::Object;
use crate::wire::uuid::parse_uuid;

/// The body of `POST /factors`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnrollFactor {
    pub friendly_name: String,
    pub factor_type: String,
    /// `issuer`, for TOTP.
    pub issuer: String,
    pub phone: String,
}

impl EnrollFactor {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            friendly_name: body.string("friendly_name")?,
            factor_type: body.string("factor_type")?,
            issuer: body.string("issuer")?,
            phone: body.string("phone")?,
        })
    }
}

/// The body of `POST /factors/recovery-codes`, which may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GenerateRecoveryCodes {
    pub friendly_name: String,
}

impl GenerateRecoveryCodes {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self { friendly_name: Object::parse(body)?.string("friendly_name")? })
    }
}

/// The body of `POST /factors/recovery-codes/verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyRecoveryCode {
    pub code: String,
}

impl VerifyRecoveryCode {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        Ok(Self { code: Object::parse(body)?.string("code")? })
    }
}

/// The body of `POST /factors/{factor_id}/challenge`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChallengeFactor {
    /// `channel`, for a phone factor.
    pub channel: String,
}

impl ChallengeFactor {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        WebAuthnResponse::decode(&body)?;
        Ok(Self { channel: body.string("channel")? })
    }
}

/// The body of `POST /factors/{factor_id}/verify`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerifyFactor {
    /// `challenge_id`; the nil UUID if absent.
    pub challenge_id: Uuid,
    pub code: String,
    /// `webauthn`, if present.
    pub webauthn: Option<WebAuthnResponse>,
}

impl VerifyFactor {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let challenge_id = body.opt_string("challenge_id")?.map(|text| require_uuid(&text)).transpose()?;
        Ok(Self {
            challenge_id: challenge_id.unwrap_or_default(),
            code: body.string("code")?,
            webauthn: WebAuthnResponse::decode(&body)?,
        })
    }
}

/// The result of a WebAuthn ceremony.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebAuthnResponse {
    /// `type`: `create` or `request`.
    pub kind: String,
    /// `credential_response`; `None` if absent, but not if `null`.
    pub credential_response: Option<Value>,
}

impl WebAuthnResponse {
    fn decode(body: &Object) -> Result<Option<Self>> {
        if body.value("webauthn").is_none() {
            return Ok(None);
        }
        let answer = body.nested("webauthn")?;
        let credential_response = answer.raw("credential_response").cloned();
        Ok(Some(Self { kind: answer.string("type")?, credential_response }))
    }
}

/// The body of `PUT /admin/users/{user_id}/factors/{factor_id}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdminFactor {
    pub friendly_name: String,
    pub phone: String,
}

impl AdminFactor {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { friendly_name: body.string("friendly_name")?, phone: body.string("phone")? })
    }
}

fn require_uuid(text: &str) -> Result<Uuid> {
    parse_uuid(text).ok_or_else(|| {
        Error::new(ErrorCode::BadJson, "Could not parse request body as JSON: the field challenge_id must be a UUID")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_parsed() {
        let enroll = EnrollFactor::decode(br#"{"factor_type":"phone","friendly_name":"a","phone":"1"}"#).unwrap();
        let expected = EnrollFactor {
            factor_type: "phone".into(),
            friendly_name: "a".into(),
            phone: "1".into(),
            ..EnrollFactor::default()
        };
        assert_eq!(enroll, expected);
        assert_eq!(ChallengeFactor::decode(br#"{"channel":"sms"}"#).unwrap().channel, "sms");
        assert_eq!(AdminFactor::decode(br#"{"phone":"1"}"#).unwrap().phone, "1");
    }

    #[test]
    fn challenge_id_is_parsed() {
        let id = Uuid::from_u128(7);
        let read = |body: serde_json::Value| VerifyFactor::decode(body.to_string().as_bytes());
        assert_eq!(read(json!({"challenge_id": id, "code": "1"})).unwrap().challenge_id, id);
        assert_eq!(read(json!({"challenge_id": null})).unwrap().challenge_id, Uuid::nil());
        assert_eq!(read(json!({})).unwrap(), VerifyFactor::default());
        for bad in [json!({"challenge_id": "nonsense"}), json!({"challenge_id": ""}), json!({"code": 1})] {
            assert_eq!(read(bad).unwrap_err().code().as_str(), "bad_json");
        }
    }

    #[test]
    fn webauthn_response_is_passed_through() {
        let read = |body: &[u8]| VerifyFactor::decode(body).map(|read| read.webauthn);
        let answer = read(br#"{"webauthn":{"type":"create","credential_response":{"id":"x"}}}"#).unwrap().unwrap();
        assert_eq!((answer.kind.as_str(), answer.credential_response), ("create", Some(json!({"id": "x"}))));
        assert_eq!(read(br#"{"webauthn":{}}"#).unwrap(), Some(WebAuthnResponse::default()));
        assert_eq!(read(br#"{"webauthn":null}"#).unwrap(), None);
        assert_eq!(read(br#"{"webauthn":1}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
