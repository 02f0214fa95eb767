//! Passkeys as JSON.

use foundation::time::Time;
use serde::Serialize;
use uuid::Uuid;

use super::time;

/// A passkey, for its user and for administrators.
#[derive(Debug, Serialize)]
pub struct PasskeyJson<'a> {
    pub id: Uuid,
    /// `friendly_name`; omitted if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub friendly_name: &'a str,
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Time,
    /// `last_used_at`; omitted until the first use.
    #[serde(serialize_with = "time::serialize_option", skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
}

/// A challenge with the options for the browser.
#[derive(Debug, Serialize)]
pub struct PasskeyChallengeJson<O> {
    /// `challenge_id`, which the verification must contain.
    pub challenge_id: Uuid,
    /// `options`, not wrapped in `publicKey`.
    pub options: O,
    /// `expires_at`, seconds since the epoch.
    pub expires_at: i64,
}
