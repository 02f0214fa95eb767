//! A session of the auth API.

use uuid::Uuid;

/// A session of the auth API and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuthSession {
    pub user_id: Uuid,
    pub session_id: Uuid,
}
