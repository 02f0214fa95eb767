//! Rows that nobody needs any more, taken away a few at a time. What somebody works with right now is skipped, so that a
//! sweep waits for nobody and nobody for it.

use std::time::Duration;

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

/// One kind of old rows, and when they count as old.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    statement: &'static Statement,
    /// How long ago the moment that counts must be.
    pub age: Duration,
    /// How many rows go at once.
    pub batch: u64,
    /// Whether the rows stay and are only stamped.
    stamps: bool,
}

impl Sweep {
    const fn of(statement: &'static Statement, age: Duration) -> Self {
        Self { statement, age, batch: 100, stamps: false }
    }

    /// As journal and log name it.
    pub fn name(self) -> &'static str {
        self.statement.name
    }
}

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// The sweeps that need no policy.
pub const ALWAYS: [Sweep; 10] = [
    Sweep::of(&REVOKED_TOKENS, DAY),
    Sweep { stamps: true, ..Sweep::of(&TOKENS_OF_ENDED_SESSIONS, DAY) },
    // Later than their tokens, and fewer at once, so that what hangs on a session goes piecemeal too.
    Sweep { batch: 10, ..Sweep::of(&ENDED_SESSIONS, HOUR.saturating_mul(72)) },
    Sweep::of(&SAML_RELAY_STATES, DAY),
    Sweep::of(&FLOWS, DAY),
    Sweep::of(&OAUTH_CLIENT_STATES, DAY),
    // Anybody can make them, and the reference keeps them for ever: to whoever asks, they are gone once they expire.
    Sweep::of(&OAUTH_REQUESTS, DAY),
    Sweep::of(&FACTOR_CHALLENGES, DAY),
    Sweep::of(&UNVERIFIED_FACTORS, DAY),
    Sweep::of(&WEBAUTHN_CHALLENGES, Duration::ZERO),
];

/// Anonymous accounts of a month ago, whoever may still use them.
pub const ANONYMOUS: Sweep = Sweep::of(&ANONYMOUS_ACCOUNTS, DAY.saturating_mul(30));

/// Sessions past their longest life.
pub fn past_timebox(timebox: Duration) -> Sweep {
    Sweep::of(&SESSIONS_BY_AGE, timebox + DAY)
}

/// Sessions past their longest rest: those that were refreshed, and those that never were.
pub fn past_inactivity(timeout: Duration) -> [Sweep; 2] {
    [Sweep::of(&RESTING_SESSIONS, timeout + DAY), Sweep::of(&SESSIONS_NEVER_REFRESHED, timeout + DAY)]
}

/// Sweeps once: how many rows that was.
pub async fn sweep(db: &mut Connection, sweep: Sweep, now: Time) -> Result<u64> {
    // An age that reaches before time itself finds nothing.
    let before = chrono::TimeDelta::from_std(sweep.age).ok().and_then(|age| now.checked_sub_signed(age));
    let Some(before) = before else { return Ok(0) };
    let batch = i64::try_from(sweep.batch).unwrap_or(i64::MAX);
    let values = if sweep.stamps { args![before, batch, now] } else { args![before, batch] };
    db.execute(sweep.statement, values).await
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
const RESTING_SESSIONS: Statement = Statement {
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

/// Every statement of this file.
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
    &RESTING_SESSIONS,
    &SESSIONS_NEVER_REFRESHED,
];
