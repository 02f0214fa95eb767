//! What hooks are sent (`config.md` §7).

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::time;
use super::user::UserJson;
use crate::domain::policy::HookKind;
use crate::domain::user::Time;

/// A call: when and why, and what it is about.
#[derive(Debug, Serialize)]
pub struct Event<T> {
    /// When and why.
    pub metadata: Metadata,
    /// What it is about.
    #[serde(flatten)]
    pub about: T,
}

/// When and why a hook is called; the same for every attempt at one call.
#[derive(Debug, Serialize)]
pub struct Metadata {
    /// The call's id.
    pub uuid: Uuid,
    /// When it is made.
    #[serde(serialize_with = "time::serialize")]
    pub time: Time,
    /// The hook's name.
    #[serde(serialize_with = "name")]
    pub name: HookKind,
    /// The address of the client whose request it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over by reference")]
fn name<S: serde::Serializer>(kind: &HookKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// An account that is about to be stored, or was just stored.
#[derive(Debug, Serialize)]
pub struct UserCreated<'a> {
    /// The account.
    pub user: UserJson<'a>,
}

/// An access token that is about to be signed.
#[derive(Debug, Serialize)]
pub struct AccessToken<'a> {
    /// Whose it is.
    pub user_id: Uuid,
    /// Its claims.
    pub claims: &'a Map<String, Value>,
    /// How its owner signed in; `token_refresh` for the next token of a session.
    pub authentication_method: &'a str,
}

/// An attempt with a password.
#[derive(Debug, Serialize)]
pub struct PasswordAttempt {
    /// The account.
    pub user_id: Uuid,
    /// Whether the password is right.
    pub valid: bool,
}

/// An attempt with a second factor.
#[derive(Debug, Serialize)]
pub struct MfaAttempt<'a> {
    /// The account.
    pub user_id: Uuid,
    /// The factor.
    pub factor_id: Uuid,
    /// `totp` or `phone`.
    pub factor_type: &'a str,
    /// Whether the code is right.
    pub valid: bool,
}

/// A text to be sent.
#[derive(Debug, Serialize)]
pub struct SendSms<'a> {
    /// The account, as it is before the text is sent.
    pub user: UserJson<'a>,
    /// The text.
    pub sms: Sms<'a>,
}

/// What a text carries.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Sms<'a> {
    /// The code.
    pub otp: &'a str,
    /// `mfa` for the code of a second factor, else nothing.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub sms_type: &'a str,
    /// The number: digits only.
    pub phone: &'a str,
}

/// A mail to be sent.
#[derive(Debug, Serialize)]
pub struct SendEmail<'a> {
    /// The account, as it is before the mail is sent.
    pub user: UserJson<'a>,
    /// The mail.
    pub email_data: EmailData<'a>,
}

/// What a mail carries; members without a meaning for its kind are empty.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct EmailData<'a> {
    /// The code. Of a change that two addresses confirm: the one for the present address.
    pub token: &'a str,
    /// The hash for the link, with the prefix of its flow. Of such a change: the one for the **new** address, since the
    /// reference has the two hashes change places.
    pub token_hash: &'a str,
    /// Where the link leads in the end.
    pub redirect_to: &'a str,
    /// What the mail is for: `signup`, … or a notice's kind with `_notification`.
    pub email_action_type: &'a str,
    /// The server's own URL.
    pub site_url: &'a str,
    /// Of a change that two addresses confirm: the code for the new address.
    pub token_new: &'a str,
    /// Of such a change: the hash for the present address.
    pub token_hash_new: &'a str,
    /// Notice of a new address: the one before.
    pub old_email: &'a str,
    /// Notice of a new number: the one before.
    pub old_phone: &'a str,
    /// Notice of an identity: its provider.
    pub provider: &'a str,
    /// Notice of a second factor: its type.
    pub factor_type: &'a str,
}
