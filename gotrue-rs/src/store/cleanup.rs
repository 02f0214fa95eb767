//! Batched deletion of expired rows.
//!
//! Locked rows are skipped, so that cleanup neither waits nor is waited for.

use std::time::Duration;

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

/// One kind of expired rows and the age at which they are deleted.
#[derive(Debug, Clone, Copy)]
pub struct CleanupTask {
    statement: &'static Statement,
    /// The minimum age of the relevant timestamp.
    pub min_age: Duration,
    /// Rows per statement.
    pub batch_size: u64,
    /// Whether the rows are kept and only stamped.
    is_stamp: bool,
}

impl CleanupTask {
    const fn new(statement: &'static Statement, age: Duration) -> Self {
        Self { statement, min_age: age, batch_size: 100, is_stamp: false }
    }

    /// The name in journal and log.
    pub fn name(self) -> &'static str {
        self.statement.name
    }
}

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// The cleanup tasks that do not depend on configuration.
pub const UNCONDITIONAL_TASKS: [CleanupTask; 10] = [
    CleanupTask::new(&REVOKED_TOKENS, DAY),
    CleanupTask { is_stamp: true, ..CleanupTask::new(&TOKENS_OF_ENDED_SESSIONS, DAY) },
    // Deleted after their tokens and in smaller batches, so that dependent rows are deleted in batches, too.
    CleanupTask { batch_size: 10, ..CleanupTask::new(&ENDED_SESSIONS, HOUR.saturating_mul(72)) },
    CleanupTask::new(&SAML_RELAY_STATES, DAY),
    CleanupTask::new(&FLOWS, DAY),
    CleanupTask::new(&OAUTH_CLIENT_STATES, DAY),
    // Anonymous clients can create them without limit and the reference never deletes them. Expired requests are
    // unusable, so a day later they are deleted.
    CleanupTask::new(&OAUTH_REQUESTS, DAY),
    CleanupTask::new(&FACTOR_CHALLENGES, DAY),
    CleanupTask::new(&UNVERIFIED_FACTORS, DAY),
    CleanupTask::new(&WEBAUTHN_CHALLENGES, Duration::ZERO),
];

/// Anonymous users created a month ago, whether or not they are still active.
pub const ANONYMOUS_USERS: CleanupTask = CleanupTask::new(&ANONYMOUS_ACCOUNTS, DAY.saturating_mul(30));

/// Sessions past their maximum lifetime.
pub fn timebox_task(timebox: Duration) -> CleanupTask {
    CleanupTask::new(&SESSIONS_BY_AGE, timebox + DAY)
}

/// Sessions past their inactivity timeout: those that were refreshed, and those that never were.
pub fn inactivity_tasks(timeout: Duration) -> [CleanupTask; 2] {
    [CleanupTask::new(&INACTIVE_SESSIONS, timeout + DAY), CleanupTask::new(&SESSIONS_NEVER_REFRESHED, timeout + DAY)]
}

/// Deletes one batch and returns its number of rows.
pub async fn run_task(db: &mut Connection, cleanup_run: CleanupTask, now: Time) -> Result<u64> {
    // An age beyond the representable range matches no rows.
    let before = chrono::TimeDelta::from_std(cleanup_run.min_age).ok().and_then(|age| now.checked_sub_signed(age));
    let Some(before) = before else { return Ok(0) };
    let batch = i64::try_from(cleanup_run.batch_size).unwrap_or(i64::MAX);
    let values = if cleanup_run.is_stamp { args![before, batch, now] } else { args![before, batch] };
    db.execute(cleanup_run.statement, values).await
}

macro_rules! delete {
    ($table:literal, $condition:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE id IN (SELECT id FROM ",
            $table,
            " WHERE ",
            $condition,
            " LIMIT $2 FOR UPDATE SKIP LOCKED)"
        )
    };
}

const REVOKED_TOKENS: Statement =
    Statement { name: "cleanup.revoked_tokens", sql: delete!("refresh_tokens", "revoked IS TRUE AND updated_at < $1") };
const TOKENS_OF_ENDED_SESSIONS: Statement = Statement {
    name: "cleanup.tokens_of_ended_sessions",
    sql: "UPDATE refresh_tokens
          SET revoked = true, updated_at = $3
          WHERE id IN (SELECT r.id
                       FROM refresh_tokens r
                       JOIN sessions s ON s.id = r.session_id
                       WHERE s.not_after < $1
                         AND r.revoked IS FALSE
                       LIMIT $2
                       FOR UPDATE OF r SKIP LOCKED)",
};
const ENDED_SESSIONS: Statement =
    Statement { name: "cleanup.ended_sessions", sql: delete!("sessions", "not_after < $1") };
const SAML_RELAY_STATES: Statement =
    Statement { name: "cleanup.saml_relay_states", sql: delete!("saml_relay_states", "created_at < $1") };
const FLOWS: Statement = Statement { name: "cleanup.flows", sql: delete!("flow_state", "created_at < $1") };
const OAUTH_CLIENT_STATES: Statement =
    Statement { name: "cleanup.oauth_client_states", sql: delete!("oauth_client_states", "created_at < $1") };
const OAUTH_REQUESTS: Statement =
    Statement { name: "cleanup.oauth_requests", sql: delete!("oauth_authorizations", "expires_at < $1") };
const FACTOR_CHALLENGES: Statement =
    Statement { name: "cleanup.factor_challenges", sql: delete!("mfa_challenges", "created_at < $1") };
const UNVERIFIED_FACTORS: Statement = Statement {
    name: "cleanup.unverified_factors",
    sql: delete!("mfa_factors", "created_at < $1 AND status = 'unverified'"),
};
const WEBAUTHN_CHALLENGES: Statement =
    Statement { name: "cleanup.webauthn_challenges", sql: delete!("webauthn_challenges", "expires_at < $1") };
const ANONYMOUS_ACCOUNTS: Statement =
    Statement { name: "cleanup.anonymous_accounts", sql: delete!("users", "created_at < $1 AND is_anonymous IS TRUE") };
const SESSIONS_BY_AGE: Statement =
    Statement { name: "cleanup.sessions_by_age", sql: delete!("sessions", "created_at < $1") };
const INACTIVE_SESSIONS: Statement = Statement {
    name: "cleanup.resting_sessions",
    sql: delete!("sessions", "refreshed_at < $1::timestamptz AT TIME ZONE 'utc'"),
};
const SESSIONS_NEVER_REFRESHED: Statement = Statement {
    name: "cleanup.sessions_never_refreshed",
    sql: "DELETE FROM sessions
          WHERE id IN (SELECT s.id
                       FROM sessions s
                       JOIN refresh_tokens r ON r.session_id = s.id
                       WHERE s.refreshed_at IS NULL
                         AND r.revoked IS FALSE
                         AND r.updated_at < $1
                       LIMIT $2
                       FOR UPDATE OF s SKIP LOCKED)",
};

/// All statements of this file.
pub const ALL: &[&Statement] = &[
    &REVOKED_TOKENS,
    &TOKENS_OF_ENDED_SESSIONS,
    &ENDED_SESSIONS,
    &SAML_RELAY_STATES,
    &FLOWS,
    &OAUTH_CLIENT_STATES,
    &OAUTH_REQUESTS,
    &FACTOR_CHALLENGES,
    &UNVERIFIED_FACTORS,
    &WEBAUTHN_CHALLENGES,
    &ANONYMOUS_ACCOUNTS,
    &SESSIONS_BY_AGE,
    &INACTIVE_SESSIONS,
    &SESSIONS_NEVER_REFRESHED,
];
