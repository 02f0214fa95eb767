//! Request payloads of hooks.

use std::net::IpAddr;

use foundation::time::Time;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::time;
use super::user::UserJson;
use crate::domain::policy::HookKind;

/// The payload of a hook call.
#[derive(Debug, Serialize)]
pub struct HookPayload<T> {
    /// The metadata of the call.
    pub metadata: HookMetadata,
    /// The event data.
    #[serde(flatten)]
    pub data: T,
}

/// Metadata of a hook call; unchanged in retries.
#[derive(Debug, Serialize)]
pub struct HookMetadata {
    /// The call's id.
    pub uuid: Uuid,
    /// The time of the call.
    #[serde(serialize_with = "time::serialize")]
    pub time: Time,
    /// The hook's name.
    #[serde(serialize_with = "name")]
    pub name: HookKind,
    /// The address of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over by reference")]
fn name<S: serde::Serializer>(kind: &HookKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// A user that is about to be stored, or was just stored.
#[derive(Debug, Serialize)]
pub struct UserCreated<'a> {
    pub user: UserJson<'a>,
}

/// An access token before it is signed.
#[derive(Debug, Serialize)]
pub struct AccessToken<'a> {
    /// The user's id.
    pub user_id: Uuid,
    pub claims: &'a Map<String, Value>,
    /// The authentication method of the sign-in; `token_refresh` at a refresh.
    pub authentication_method: &'a str,
}

/// The payload of the password verification hook.
#[derive(Debug, Serialize)]
pub struct PasswordAttempt {
    /// The user's id.
    pub user_id: Uuid,
    /// Whether the password is correct.
    pub valid: bool,
}

/// A second-factor attempt.
#[derive(Debug, Serialize)]
pub struct MfaAttempt<'a> {
    /// The user's id.
    pub user_id: Uuid,
    pub factor_id: Uuid,
    /// `totp` or `phone`.
    pub factor_type: &'a str,
    /// Whether the code is correct.
    pub valid: bool,
}

/// An SMS to send.
#[derive(Debug, Serialize)]
pub struct SendSms<'a> {
    /// The user before the message is sent.
    pub user: UserJson<'a>,
    /// The message.
    pub sms: Sms<'a>,
}

/// The content of an SMS.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Sms<'a> {
    /// The code.
    pub otp: &'a str,
    /// `mfa` for a second-factor code, else absent.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub sms_type: &'a str,
    /// The number: digits only.
    pub phone: &'a str,
}

/// An e-mail to send.
#[derive(Debug, Serialize)]
pub struct SendEmail<'a> {
    /// The user before the message is sent.
    pub user: UserJson<'a>,
    /// The message.
    pub email_data: EmailData<'a>,
}

/// The content of an e-mail; members without a meaning for its type are empty.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct EmailData<'a> {
    /// The code. In a secure email change: the code for the current address.
    pub token: &'a str,
    /// The hash of the link, with the prefix of its flow.
    /// In a secure email change: the hash for the **new** address, since GoTrue swaps the two hashes.
    pub token_hash: &'a str,
    /// The final redirect target of the link.
    pub redirect_to: &'a str,
    /// The purpose: `signup` and others, or the kind of a notification with `_notification`.
    pub email_action_type: &'a str,
    /// The server's own URL.
    pub site_url: &'a str,
    /// In a secure email change: the code for the new address.
    pub token_new: &'a str,
    /// In a secure email change: the hash for the current address.
    pub token_hash_new: &'a str,
    /// Address change notification: the previous address.
    pub old_email: &'a str,
    /// Number change notification: the previous number.
    pub old_phone: &'a str,
    /// Identity notification: the provider.
    pub provider: &'a str,
    /// Factor notification: the factor type.
    pub factor_type: &'a str,
}
