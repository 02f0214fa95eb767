//! Passkeys as JSON (`endpoints.md` §10).

use serde::Serialize;
use uuid::Uuid;

use super::time;
use crate::domain::user::Time;

/// A passkey as its owner and the administrator see it.
#[derive(Debug, Serialize)]
pub struct PasskeyJson<'a> {
    /// `id`.
    pub id: Uuid,
    /// `friendly_name`; left out when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub friendly_name: &'a str,
    /// `created_at`.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Time,
    /// `last_used_at`; left out until it has been used.
    #[serde(serialize_with = "time::serialize_option", skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
}

/// A challenge with what the browser is to be asked for.
#[derive(Debug, Serialize)]
pub struct PasskeyChallengeJson<O> {
    /// `challenge_id`: what the answer must name.
    pub challenge_id: Uuid,
    /// `options`, without `publicKey` around them.
    pub options: O,
    /// `expires_at`, seconds since the epoch.
    pub expires_at: i64,
}
