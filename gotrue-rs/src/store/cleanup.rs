//! Batched deletion of expired rows.
//!
//! Locked rows are skipped, so that cleanup neither waits nor is waited for.

use std::time::Duration;

use foundation::time::Time;
use gotrue_rules::domain::policy::RetentionPolicy;
use platform::store::Result;
use platform::store::binding::{BoundStatement, Statement, bind, statements};
use platform::store::statement::Connection;

statements! {
    REVOKED_TOKENS = "cleanup.revoked_tokens":
        "DELETE FROM refresh_tokens
         WHERE id IN (SELECT id FROM refresh_tokens WHERE revoked IS TRUE AND updated_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    TOKENS_OF_ENDED_SESSIONS = "cleanup.tokens_of_ended_sessions":
        "UPDATE refresh_tokens
         SET revoked = true, updated_at = :now
         WHERE id IN (SELECT r.id
                      FROM refresh_tokens r
                      JOIN sessions s ON s.id = r.session_id
                      WHERE s.not_after < :cutoff
                        AND r.revoked IS FALSE
                      LIMIT :limit
                      FOR UPDATE OF r SKIP LOCKED)";

    #[proves(SessionsEnded)]
    ENDED_SESSIONS = "cleanup.ended_sessions":
        "DELETE FROM sessions
         WHERE id IN (SELECT id FROM sessions WHERE not_after < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    SAML_RELAY_STATES = "cleanup.saml_relay_states":
        "DELETE FROM saml_relay_states
         WHERE id IN (SELECT id FROM saml_relay_states WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    FLOWS = "cleanup.flows":
        "DELETE FROM flow_state
         WHERE id IN (SELECT id FROM flow_state WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    OAUTH_CLIENT_STATES = "cleanup.oauth_client_states":
        "DELETE FROM oauth_client_states
         WHERE id IN (SELECT id FROM oauth_client_states WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    OAUTH_REQUESTS = "cleanup.oauth_requests":
        "DELETE FROM oauth_authorizations
         WHERE id IN (SELECT id FROM oauth_authorizations WHERE expires_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    FACTOR_CHALLENGES = "cleanup.factor_challenges":
        "DELETE FROM mfa_challenges
         WHERE id IN (SELECT id FROM mfa_challenges WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    UNVERIFIED_FACTORS = "cleanup.unverified_factors":
        "DELETE FROM mfa_factors
         WHERE id IN (SELECT id FROM mfa_factors WHERE created_at < :cutoff AND status = 'unverified'
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    WEBAUTHN_CHALLENGES = "cleanup.webauthn_challenges":
        "DELETE FROM webauthn_challenges
         WHERE id IN (SELECT id FROM webauthn_challenges WHERE expires_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    ANONYMOUS_ACCOUNTS = "cleanup.anonymous_users":
        "DELETE FROM users
         WHERE id IN (SELECT id FROM users WHERE created_at < :cutoff AND is_anonymous IS TRUE
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    #[proves(SessionsEnded)]
    SESSIONS_BY_AGE = "cleanup.sessions_by_age":
        "DELETE FROM sessions
         WHERE id IN (SELECT id FROM sessions WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    #[proves(SessionsEnded)]
    INACTIVE_SESSIONS = "cleanup.inactive_sessions":
        "DELETE FROM sessions
         WHERE id IN (SELECT id FROM sessions WHERE refreshed_at < :cutoff::timestamptz AT TIME ZONE 'utc'
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";

    #[proves(SessionsEnded)]
    SESSIONS_NEVER_REFRESHED = "cleanup.sessions_never_refreshed":
        "DELETE FROM sessions
         WHERE id IN (SELECT s.id
                      FROM sessions s
                      JOIN refresh_tokens r ON r.session_id = s.id
                      WHERE s.refreshed_at IS NULL
                        AND r.revoked IS FALSE
                        AND r.updated_at < :cutoff
                      LIMIT :limit
                      FOR UPDATE OF s SKIP LOCKED)";

    /// The table has no index by time: each run reads some pages, wherever the last one ended.
    AUDIT_ENTRIES = "cleanup.audit_entries": "
        DELETE FROM audit_log_entries
        WHERE ctid >= format('(%s,0)', :first::bigint)::tid
          AND ctid < format('(%s,0)', :first::bigint + :pages::bigint)::tid
          AND created_at < :cutoff";

    AUDIT_PAGES = "cleanup.audit_pages": "
        SELECT pg_relation_size('audit_log_entries') / current_setting('block_size')::bigint AS pages";

    DECOYS_OF_REQUESTS = "cleanup.decoys":
        "DELETE FROM basalt.decoys
         WHERE id IN (SELECT id FROM basalt.decoys WHERE created_at < :cutoff
                      LIMIT :limit FOR UPDATE SKIP LOCKED)";
}

/// One kind of expired rows and the age at which they are deleted.
#[derive(Debug, Clone, Copy)]
pub struct CleanupTask {
    statement: &'static Statement,
    bind: fn(Batch) -> BoundStatement,
    /// The minimum age of the relevant timestamp.
    pub min_age: Duration,
    /// Rows per statement.
    pub batch_size: u64,
}

/// The values of a task's statement.
struct Batch {
    /// Rows with an earlier timestamp are expired.
    cutoff: Time,
    /// The highest number of rows.
    limit: i64,
    /// The time of the run.
    now: Time,
}

impl CleanupTask {
    /// The name in journal and log.
    pub fn name(self) -> &'static str {
        self.statement.name()
    }
}

/// A task that deletes rows with one of the statements, or with `stamps` marks and keeps them.
macro_rules! task {
    (@ $statement:ident, $min_age:expr, $bind:expr) => {
        CleanupTask { statement: &$statement, bind: $bind, min_age: $min_age, batch_size: 100 }
    };
    ($statement:ident, $min_age:expr) => {
        task!(@ $statement, $min_age, |Batch { cutoff, limit, .. }| bind!($statement, cutoff, limit))
    };
    ($statement:ident, $min_age:expr, stamps) => {
        task!(@ $statement, $min_age, |Batch { cutoff, limit, now }| bind!($statement, cutoff, limit, now))
    };
}

const DAY: Duration = Duration::from_hours(24);

/// The cleanup tasks that are always enabled.
pub fn unconditional_tasks(retention: &RetentionPolicy) -> [CleanupTask; 10] {
    [
        task!(REVOKED_TOKENS, retention.revoked_tokens),
        task!(TOKENS_OF_ENDED_SESSIONS, DAY, stamps),
        // Deleted after their tokens and in smaller batches, so that dependent rows are deleted in batches, too.
        CleanupTask { batch_size: 10, ..task!(ENDED_SESSIONS, retention.ended_sessions) },
        task!(SAML_RELAY_STATES, DAY),
        task!(FLOWS, DAY),
        task!(OAUTH_CLIENT_STATES, DAY),
        // Anonymous clients can create them without limit and the reference never deletes them. Expired requests are
        // unusable, so a day later they are deleted.
        task!(OAUTH_REQUESTS, DAY),
        task!(FACTOR_CHALLENGES, DAY),
        task!(UNVERIFIED_FACTORS, DAY),
        task!(WEBAUTHN_CHALLENGES, Duration::ZERO),
    ]
}

/// Rows that stood for those of a user.
pub const DECOYS: CleanupTask = task!(DECOYS_OF_REQUESTS, Duration::from_mins(1));

/// Anonymous users created a month ago, whether or not they are still active.
pub const ANONYMOUS_USERS: CleanupTask = task!(ANONYMOUS_ACCOUNTS, DAY.saturating_mul(30));

/// Sessions past their maximum lifetime.
pub fn timebox_task(timebox: Duration) -> CleanupTask {
    task!(SESSIONS_BY_AGE, timebox + DAY)
}

/// Sessions past their inactivity timeout: those that were refreshed, and those that never were.
pub fn inactivity_tasks(timeout: Duration) -> [CleanupTask; 2] {
    [task!(INACTIVE_SESSIONS, timeout + DAY), task!(SESSIONS_NEVER_REFRESHED, timeout + DAY)]
}

/// Deletes one batch and returns its number of rows.
pub async fn run_task(db: &mut Connection, cleanup_run: CleanupTask, now: Time) -> Result<u64> {
    // An age beyond the representable range matches no rows.
    let cutoff = chrono::TimeDelta::from_std(cleanup_run.min_age).ok().and_then(|age| now.checked_sub_signed(age));
    let Some(cutoff) = cutoff else { return Ok(0) };
    let limit = i64::try_from(cleanup_run.batch_size).unwrap_or(i64::MAX);
    db.execute((cleanup_run.bind)(Batch { cutoff, limit, now })).await
}

/// The pages that one deletion of audit entries reads.
const AUDIT_PAGES_PER_BATCH: i64 = 64;

/// The outcome of a deletion of audit entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditBatch {
    /// The deleted entries.
    pub rows: u64,
    /// The page with which the next deletion begins; `None` after the last one.
    pub next_page: Option<i64>,
}

/// Deletes the audit entries from before `cutoff` in some pages, beginning with the page `first`.
pub async fn delete_audit_entries(db: &mut Connection, cutoff: Time, first: i64) -> Result<AuditBatch> {
    let (total,): (i64,) = db.fetch_one(bind!(AUDIT_PAGES)).await?;
    let rows = db.execute(bind!(AUDIT_ENTRIES, first, pages: AUDIT_PAGES_PER_BATCH, cutoff)).await?;
    let next = first + AUDIT_PAGES_PER_BATCH;
    Ok(AuditBatch { rows, next_page: (next < total).then_some(next) })
}
