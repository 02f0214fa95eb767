//! The fast paths of a refresh: one statement per version locks, decides and writes, or returns no row.
//!
//! Without a row the general path decides again and answers (`services/sessions/refresh`). It also takes every refresh
//! under a policy that needs more facts.
//!
//! Both statements insert the same audit rows for user `u`: `token_refreshed`, then `token_revoked`.

use foundation::time::Time;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

use super::refresh_tokens::ClientInfo;
use super::rows::{UserAndSession, account_columns, session_columns};

statements! {
    /// Takes one outcome of `decide_stored` (`domain/refresh.rs`): `Rotate` of an unrevoked token.
    ///
    /// `t.revoked = false` in `t` is the first condition of that decision, and `decide_stored` then returns `Rotate`
    /// whatever else holds. All other parts read from `t`, so that nothing is written without a row of it:
    ///
    /// - `Rotate` of a revoked token within the reuse interval, `ReturnActive`, `RevokeFamily` and `Reject` require a
    ///   revoked token, which `t` never contains.
    /// - The errors before the decision, `user_banned`, `session_not_found`, `invalid_client` and those of an expired
    ///   session, are conditions of `t`, too: a missing session or user fails its joins.
    /// - `refresh_token_not_found` is no row of `t`; nor is a token whose `revoked` is NULL, which counts as unrevoked.
    ///
    /// The statement waits for the user's row while it holds no other lock, and skips a locked token or session.
    /// PostgreSQL locks in the order of the clauses and evaluates the conditions again on the locked rows
    /// (`EvalPlanQual`), so that a concurrently rotated token yields no row. The statement decides on no other data.
    #[proves(Audit)]
    ROTATE = "refresh_tokens.rotate_fast": concat!(
        r#"WITH t AS (
             SELECT t.id, t.token, s.id AS session_id, s.user_id
             FROM refresh_tokens t
             JOIN sessions s ON s.id = t.session_id
             JOIN users u ON u.id = s.user_id
             WHERE t.token = :token
               AND t.instance_id = '00000000-0000-0000-0000-000000000000'
               AND t.revoked = false
               AND s.oauth_client_id IS NOT DISTINCT FROM :oauth_client_id
               AND (s.not_after IS NULL OR s.not_after >= :now)
               AND (:timebox_cutoff::timestamptz IS NULL OR s.created_at >= :timebox_cutoff)
               AND (:inactivity_cutoff::timestamptz IS NULL
                    OR COALESCE(s.refreshed_at AT TIME ZONE 'utc', GREATEST(t.updated_at, s.created_at))
                       >= :inactivity_cutoff)
               AND (u.banned_until IS NULL OR u.banned_until <= :now)
             FOR NO KEY UPDATE OF u
             FOR UPDATE OF t, s SKIP LOCKED
         ), old AS (
             UPDATE refresh_tokens SET revoked = true, updated_at = :now WHERE id = (SELECT id FROM t)
         ), new AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent,
                                         session_id)
             SELECT '00000000-0000-0000-0000-000000000000', :successor, t.user_id::text, false, :now, :now, t.token,
                    t.session_id
             FROM t
         ), s AS (
             UPDATE sessions
             SET refreshed_at = :now::timestamptz AT TIME ZONE 'utc', updated_at = :now, user_agent = :user_agent,
                 ip = :ip
             WHERE id = (SELECT session_id FROM t)
             RETURNING *
         ), u AS (
             UPDATE users SET last_sign_in_at = last_sign_in_at, updated_at = :now
             WHERE id = (SELECT user_id FROM t)
             RETURNING *
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000', e.id,
                    format('{"action":"%s","actor_id":"%s"%s,"actor_username":%s,"actor_via_sso":%s,"log_type":"token"}',
                           CASE e.n WHEN 1 THEN 'token_refreshed' ELSE 'token_revoked' END,
                           u.id,
                           ',"actor_name":' || (u.raw_user_meta_data -> 'full_name')::text,
                           to_json(COALESCE(NULLIF(u.phone, ''), u.email, '')),
                           u.is_sso_user::text)::json,
                    :now::timestamptz + (e.n - 1) * interval '1 microsecond', ''
             FROM u, unnest(:audit_ids::uuid[]) WITH ORDINALITY AS e (id, n)
         )
         SELECT "#,
        account_columns!(),
        ", ",
        session_columns!(),
        " FROM u CROSS JOIN s"
    );

    /// Takes one outcome of `decide_signed` (`domain/refresh.rs`): `Advance`, that of an equal counter.
    ///
    /// `ReturnCurrent`, `EndSession`, `Refuse` and `CounterNotIssued` require another counter than the token's. The
    /// errors before the decision are conditions of `t`: another key, a missing or expired session, a banned user,
    /// another OAuth client.
    ///
    /// The caller has verified the signature with the key that `:verified_key` contains as it is stored.
    /// `:resealed_key` replaces it.
    ///
    /// Only the session is locked; a locked one is skipped. Its conditions are evaluated again on the locked row
    /// (`EvalPlanQual`), so that a concurrently advanced counter yields no row. They read no subquery, whose result
    /// would be that of the older row. The ban is as of the start of the statement, as in the general path.
    #[proves(Audit)]
    ADVANCE = "sessions.advance_fast": concat!(
        r#"WITH t AS (
             SELECT s.id AS session_id
             FROM sessions s
             JOIN users u ON u.id = s.user_id
             WHERE s.id = :session_id
               AND COALESCE(s.refresh_token_counter, 0) = :counter
               AND s.oauth_client_id IS NOT DISTINCT FROM :oauth_client_id
               AND (s.not_after IS NULL OR s.not_after >= :now)
               AND (:timebox_cutoff::timestamptz IS NULL OR s.created_at >= :timebox_cutoff)
               AND (:inactivity_cutoff::timestamptz IS NULL
                    OR COALESCE(s.refreshed_at AT TIME ZONE 'utc', s.created_at) >= :inactivity_cutoff)
               AND (u.banned_until IS NULL OR u.banned_until <= :now)
               AND s.refresh_token_hmac_key = :verified_key
             FOR UPDATE OF s SKIP LOCKED
         ), s AS (
             UPDATE sessions
             SET refreshed_at = :now::timestamptz AT TIME ZONE 'utc', updated_at = :now, user_agent = :user_agent,
                 ip = :ip, refresh_token_counter = :counter + 1,
                 refresh_token_hmac_key = COALESCE(:resealed_key, refresh_token_hmac_key)
             WHERE id = (SELECT session_id FROM t)
             RETURNING *
         ), u AS (
             SELECT users.* FROM users WHERE id = (SELECT user_id FROM s)
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000', e.id,
                    format('{"action":"%s","actor_id":"%s"%s,"actor_username":%s,"actor_via_sso":%s,"log_type":"token"}',
                           CASE e.n WHEN 1 THEN 'token_refreshed' ELSE 'token_revoked' END,
                           u.id,
                           ',"actor_name":' || (u.raw_user_meta_data -> 'full_name')::text,
                           to_json(COALESCE(NULLIF(u.phone, ''), u.email, '')),
                           u.is_sso_user::text)::json,
                    :now::timestamptz + (e.n - 1) * interval '1 microsecond', ''
             FROM u, unnest(:audit_ids::uuid[]) WITH ORDINALITY AS e (id, n)
         )
         SELECT "#,
        account_columns!(),
        ", ",
        session_columns!(),
        " FROM u CROSS JOIN s"
    );
}

/// What both fast paths compare and write.
#[derive(Debug)]
pub struct FastRefresh {
    /// The time of the request.
    pub now: Time,
    /// Sessions created before this have exceeded the time-box; `None` for no time-box.
    pub timebox_cutoff: Option<Time>,
    /// Sessions last refreshed before this have exceeded the inactivity timeout; `None` for no timeout.
    pub inactivity_cutoff: Option<Time>,
    pub client: ClientInfo,
    /// Ids of the audit rows (`token_refreshed`, then `token_revoked`); empty if none are written.
    pub audit_ids: Vec<Uuid>,
    /// The OAuth client to which the session must belong; `None` for a session without one.
    pub oauth_client: Option<Uuid>,
}

/// The input of [`rotate_fast`].
#[derive(Debug)]
pub struct FastRotation<'a> {
    /// The presented token.
    pub token: &'a str,
    /// The token that replaces it.
    pub successor: String,
    /// The session and what is written.
    pub refresh: FastRefresh,
}

/// Rotates an unrevoked token of a valid session in one statement; `None` if it changed nothing.
pub async fn rotate_fast(db: &mut Connection, rotation: FastRotation<'_>) -> Result<Option<UserAndSession>> {
    let refresh = rotation.refresh;
    let bound = bind!(
        ROTATE,
        token: rotation.token,
        successor: rotation.successor,
        now: refresh.now,
        timebox_cutoff: refresh.timebox_cutoff,
        inactivity_cutoff: refresh.inactivity_cutoff,
        user_agent: refresh.client.user_agent,
        ip: refresh.client.ip.map(IpNetwork::from),
        audit_ids: refresh.audit_ids,
        oauth_client_id: refresh.oauth_client,
    );
    db.fetch_optional(bound).await
}

/// The input of [`advance_fast`].
#[derive(Debug)]
pub struct FastAdvance {
    /// The session of the presented token.
    pub session_id: Uuid,
    /// The counter of the presented token, below the largest.
    pub counter: i64,
    /// The key that verified the signature of the presented token, as it is stored.
    pub verified_key: String,
    /// The key to store instead, if the stored one is encrypted with an outdated key.
    pub resealed_key: Option<String>,
    /// The session and what is written.
    pub refresh: FastRefresh,
}

/// Advances the counter of a valid session in one statement; `None` if it changed nothing.
pub async fn advance_fast(db: &mut Connection, advance: FastAdvance) -> Result<Option<UserAndSession>> {
    let FastAdvance { session_id, counter, verified_key, resealed_key, refresh } = advance;
    let bound = bind!(
        ADVANCE,
        session_id,
        counter,
        verified_key,
        resealed_key,
        now: refresh.now,
        timebox_cutoff: refresh.timebox_cutoff,
        inactivity_cutoff: refresh.inactivity_cutoff,
        user_agent: refresh.client.user_agent,
        ip: refresh.client.ip.map(IpNetwork::from),
        audit_ids: refresh.audit_ids,
        oauth_client_id: refresh.oauth_client,
    );
    db.fetch_optional(bound).await
}
