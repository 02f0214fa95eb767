//! A session of the auth API.

use uuid::Uuid;

/// A session of the auth API and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuthSession {
    /// `user_id`.
    pub user_id: Uuid,
    /// `id`.
    pub session_id: Uuid,
}
