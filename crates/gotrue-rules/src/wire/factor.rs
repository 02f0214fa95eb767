//! Factors as JSON, and the responses of enrollment, challenge and unenrollment.

use foundation::time::Time;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::time;
use crate::domain::user::Factor;
use crate::wire::webauthn::SessionData;

/// An entry of a user's `factors`.
#[derive(Debug, Serialize)]
pub struct FactorJson<'a> {
    id: Uuid,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    friendly_name: &'a str,
    factor_type: &'a str,
    phone: &'a str,
    #[serde(serialize_with = "time::serialize_option")]
    last_challenged_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_authn_aaguid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_webauthn_challenge_data: Option<&'a Value>,
}

impl<'a> From<&'a Factor> for FactorJson<'a> {
    fn from(factor: &'a Factor) -> Self {
        Self {
            id: factor.id,
            created_at: factor.created_at,
            updated_at: factor.updated_at,
            status: &factor.status,
            friendly_name: &factor.friendly_name,
            factor_type: &factor.factor_type,
            phone: &factor.phone,
            last_challenged_at: factor.last_challenged_at,
            web_authn_aaguid: factor.web_authn_aaguid,
            last_webauthn_challenge_data: factor.last_webauthn_challenge_data.as_ref(),
        }
    }
}

/// The response to an enrollment.
#[derive(Debug, Serialize)]
pub struct EnrolledJson<'a> {
    pub id: Uuid,
    #[serde(rename = "type")]
    pub factor_type: &'a str,
    /// `friendly_name`, also if empty.
    pub friendly_name: &'a str,
    /// `totp`: the secret of an authenticator app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totp: Option<TotpJson<'a>>,
    /// `phone`, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<&'a str>,
}

/// The number of a user's recovery codes.
#[derive(Debug, Serialize)]
pub struct RecoveryCodesStatusJson {
    /// `id`: the factor.
    pub id: Uuid,
    /// `type`: `recovery_code`.
    #[serde(rename = "type")]
    pub factor_type: &'static str,
    pub total: i64,
    /// `remaining`: those that were not used.
    pub remaining: i64,
}

/// New recovery codes. They are returned only once.
#[derive(Serialize)]
pub struct RecoveryCodesJson<'a> {
    /// `id`: the factor.
    pub id: Uuid,
    /// `type`: `recovery_code`.
    #[serde(rename = "type")]
    pub factor_type: &'static str,
    /// `friendly_name`; omitted if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub friendly_name: &'a str,
    pub total: usize,
    pub codes: &'a [String],
}

/// Hides the codes.
impl std::fmt::Debug for RecoveryCodesJson<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecoveryCodesJson").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The secret of an authenticator app. It is returned only once.
#[derive(Serialize)]
pub struct TotpJson<'a> {
    /// `qr_code`: the URI as an SVG QR code.
    pub qr_code: &'a str,
    /// `secret`, base32.
    pub secret: &'a str,
    pub uri: &'a str,
}

/// Hides the secret.
impl std::fmt::Debug for TotpJson<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TotpJson").finish_non_exhaustive()
    }
}

/// The response to a challenge.
#[derive(Debug, Serialize)]
pub struct ChallengeJson<'a> {
    pub id: Uuid,
    #[serde(rename = "type")]
    pub factor_type: &'a str,
    /// `expires_at`, seconds since the epoch.
    pub expires_at: i64,
}

/// The response to a WebAuthn challenge.
#[derive(Debug, Serialize)]
pub struct WebAuthnChallengeJson<'a, O> {
    #[serde(flatten)]
    pub challenge: ChallengeJson<'a>,
    /// `webauthn`: the options for the browser.
    pub webauthn: WebAuthnOptionsJson<O>,
}

/// The options for the browser.
#[derive(Debug, Serialize)]
pub struct WebAuthnOptionsJson<O> {
    /// `type`: `create` or `request`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub credential_options: PublicKeyOptionsJson<O>,
}

/// The argument of `navigator.credentials.create()` or `get()`.
#[derive(Debug, Serialize)]
pub struct PublicKeyOptionsJson<O> {
    #[serde(rename = "publicKey")]
    pub public_key: O,
}

/// The last verified challenge of a factor: `last_webauthn_challenge_data`.
#[derive(Debug, Serialize)]
pub struct LastChallengeJson<'a> {
    pub challenge: VerifiedChallengeJson<'a>,
    /// `type`: `create` or `request`.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// `credential_response`: the credential, without its signature.
    pub credential_response: CredentialJson<'a>,
}

#[derive(Debug, Serialize)]
pub struct VerifiedChallengeJson<'a> {
    pub challenge_id: Uuid,
    pub factor_id: Uuid,
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Time,
    pub ip_address: String,
    pub web_authn_session_data: &'a SessionData,
}

#[derive(Debug, Serialize)]
pub struct CredentialJson<'a> {
    /// `id`, base64url.
    pub id: &'a str,
    /// `rawId`, the same.
    #[serde(rename = "rawId")]
    pub raw_id: &'a str,
    /// `type`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// The response to an unenrollment.
#[derive(Debug, Serialize)]
pub struct UnenrolledJson {
    pub id: Uuid,
}
