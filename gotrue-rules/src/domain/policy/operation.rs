//! Audit rows, clean-up, background indexes, experiments.

use std::collections::BTreeMap;

/// Audit rows, clean-up, background indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationPolicy {
    /// No rows are written to `audit_log_entries`. Default false.
    pub audit_log_disable_postgres: bool,
    /// Old rows are deleted, a few after each write. Default false.
    pub cleanup_enabled: bool,
    /// Anonymous accounts are not among the old rows, whatever their age. Default false.
    pub cleanup_keeps_anonymous: bool,
    /// Indexes made in the background.
    pub index_worker: IndexWorkerPolicy,
}

/// Indexes for searching users, made in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexWorkerPolicy {
    /// They are made in any case. Default false.
    pub ensure_user_search_indexes_exist: bool,
    /// They are made where there are at most so many users; 0: not. Default 0.
    pub max_users_threshold: i64,
}

/// Behaviour the reference marks as experimental. All off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExperimentalPolicy {
    /// Linking pool of a provider, where it is not the common one.
    pub provider_linking_domains: BTreeMap<String, String>,
    /// Lists of the admin API can be paged by cursor.
    pub cursor_pagination_enabled: bool,
    /// SCIM is served.
    pub scim_enabled: bool,
    /// An account of another service that gets a password also gets an identity of its e-mail address.
    pub create_email_identity_on_password_set: bool,
}
