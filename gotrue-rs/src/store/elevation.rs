//! Raises a session to `aal2`.
//!
//! One statement, under a lock, updates session, AMR claims and refresh token, and deletes unverified factors and other
//! sessions.

use foundation::time::Time;
use gotrue_rules::domain::mfa::FactorType;
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::rows::{UserAndSession, account_columns, session_columns};

statements! {
    /// Locks the user, then all of its sessions in the order of their ids (`docs/concurrency.md`).
    ///
    /// PostgreSQL locks in the order of the clauses.
    LOCK = "elevation.lock":
        "WITH l AS (
             SELECT s.id, s.refresh_token_hmac_key, s.refresh_token_counter
             FROM sessions s
             JOIN users u ON u.id = s.user_id
             WHERE s.user_id = :user_id
             ORDER BY s.id
             FOR NO KEY UPDATE OF u
             FOR UPDATE OF s
         )
         SELECT l.refresh_token_hmac_key, l.refresh_token_counter
         FROM l
         WHERE l.id = :session_id";

    /// The result shows the factors before unverified ones are deleted, like the reference.
    #[proves(Audit, SessionsEnded)]
    ELEVATE = "elevation.elevate": concat!(
        "WITH t AS (
             SELECT r.id, r.token
             FROM refresh_tokens r
             WHERE r.session_id = :session_id
               AND r.revoked = false
               AND r.instance_id = '00000000-0000-0000-0000-000000000000'
             ORDER BY r.created_at, r.id
             LIMIT 1
         ), s AS (
             UPDATE sessions
             SET aal = 'aal2',
                 factor_id = :factor_id,
                 refresh_token_counter = COALESCE(:counter, refresh_token_counter),
                 updated_at = :now
             WHERE id = :session_id
               AND (:refresh_token::text IS NULL OR EXISTS (SELECT FROM t))
             RETURNING *
         ), old AS (
             UPDATE refresh_tokens SET revoked = true, updated_at = :now
             WHERE id = (SELECT t.id FROM t)
               AND :refresh_token::text IS NOT NULL
         ), new AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent,
                                         session_id)
             SELECT '00000000-0000-0000-0000-000000000000', :refresh_token::text, :user_id::uuid::text, false, :now,
                    :now, t.token, :session_id
             FROM t
             WHERE :refresh_token::text IS NOT NULL
         ), c AS (
             INSERT INTO mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
             SELECT :amr_id, s.id, :amr_method, :now, :now FROM s
             ON CONFLICT ON CONSTRAINT mfa_amr_claims_session_id_authentication_method_pkey
             DO UPDATE SET updated_at = EXCLUDED.updated_at
         ), u AS (
             UPDATE users
             SET updated_at = CASE WHEN :refresh_token::text IS NULL THEN updated_at ELSE :now END
             WHERE id = :user_id
             RETURNING *
         ), weak AS (
             DELETE FROM sessions WHERE user_id = :user_id AND aal < 'aal2' AND id <> :session_id
         ), unfinished AS (
             DELETE FROM mfa_factors
             WHERE user_id = :user_id
               AND status = 'unverified'
               AND factor_type = :factor_type::factor_type
               AND id <> :factor_id
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
         )
         SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        " FROM u CROSS JOIN s"
    );
}

/// The refresh token state of a locked session.
#[derive(Debug)]
pub struct LockedSession {
    /// `refresh_token_hmac_key`: set for version 2.
    pub refresh_token_hmac_key: Option<String>,
    pub refresh_token_counter: Option<i64>,
}

/// Locks the user's sessions until the transaction ends, and returns this one; `None` if it has ended.
pub async fn lock_sessions(db: &mut Connection, user_id: Uuid, session_id: Uuid) -> Result<Option<LockedSession>> {
    let row: Option<(Option<String>, Option<i64>)> = db.fetch_optional(bind!(LOCK, user_id, session_id)).await?;
    Ok(row.map(|(refresh_token_hmac_key, refresh_token_counter)| LockedSession {
        refresh_token_hmac_key,
        refresh_token_counter,
    }))
}

/// A session that presented a second factor.
#[derive(Debug)]
pub struct ElevatedSession<'a> {
    pub session_id: Uuid,
    pub user_id: Uuid,
    pub factor_id: Uuid,
    /// The factor's type.
    pub factor_type: FactorType,
    /// The time of the request.
    pub now: Time,
    /// The id of the AMR claim's row.
    pub amr_id: Uuid,
    /// The next refresh token (version 1).
    pub refresh_token: Option<&'a str>,
    /// The next counter (version 2).
    pub counter: Option<i64>,
    /// Audit rows of the elevation.
    pub audit: Vec<AuditRow>,
}

/// Raises a locked session and returns user and session, the latter with its previous AMR claims.
///
/// Returns `None` if the session has no refresh token to replace; then the transaction must not be committed.
pub async fn elevate(db: &mut Connection, elevated: ElevatedSession<'_>) -> Result<Option<UserAndSession>> {
    let kept = Some(elevated.session_id);
    let ended = || Fact::SessionsEnded(EndedSessions { kept, ..EndedSessions::of_user(elevated.user_id) });
    db.note(FactCondition::Statement, ended);
    let audit = AuditArrays::from_rows(elevated.audit);
    let bound = bind!(
        ELEVATE,
        session_id: elevated.session_id,
        user_id: elevated.user_id,
        factor_id: elevated.factor_id,
        factor_type: elevated.factor_type.as_str(),
        now: elevated.now,
        amr_id: elevated.amr_id,
        refresh_token: elevated.refresh_token,
        counter: elevated.counter,
        amr_method: elevated.factor_type.amr_method(),
        ..audit,
    );
    db.fetch_optional(bound).await
}
