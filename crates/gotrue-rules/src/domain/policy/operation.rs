//! Policies for audit log, clean-up, background indexes and experiments.

use std::collections::BTreeMap;
use std::time::Duration;

/// Audit log, clean-up, background indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationPolicy {
    /// Audit entries are not written to `audit_log_entries`. Default false.
    pub audit_log_disable_postgres: bool,
    /// Expired rows are deleted, a few after each write. Default false.
    pub cleanup_enabled: bool,
    /// Anonymous users are excluded from the clean-up. Default false.
    pub should_cleanup_keep_anonymous: bool,
    /// When the clean-up deletes rows that a setting may keep.
    pub retention: RetentionPolicy,
    /// Background indexes.
    pub index_worker: IndexWorkerPolicy,
}

/// Ages at which the clean-up deletes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Audit entries, since they were written; `None` keeps them. Default `None`.
    pub audit_entries: Option<Duration>,
    /// Revoked refresh tokens, since they were revoked. Default 24 hours.
    pub revoked_tokens: Duration,
    /// Sessions, since they ended. Default 72 hours.
    pub ended_sessions: Duration,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self { audit_entries: None, revoked_tokens: Duration::from_hours(24), ended_sessions: Duration::from_hours(72) }
    }
}

/// Indexes for the user search, created in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexWorkerPolicy {
    /// They are always created. Default false.
    pub ensure_user_search_indexes_exist: bool,
    /// They are created up to this number of users; 0: never. Default 0.
    pub max_users_threshold: i64,
}

/// Behaviour that GoTrue marks as experimental. All off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExperimentalPolicy {
    /// The linking domain of a provider, if it is not the default one.
    pub provider_linking_domains: BTreeMap<String, String>,
    /// Lists of the admin API support cursor pagination.
    pub cursor_pagination_enabled: bool,
    pub scim_enabled: bool,
    /// Setting a password creates an e-mail identity for a user of an external provider.
    pub create_email_identity_on_password_set: bool,
}
