//! `auth.sessions` with the rows written together with them: AMR claims and the first refresh token.

use std::net::IpAddr;

use foundation::time::Time;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::User;
use ipnet::IpNet;
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::rows::{SessionRow, UserRow, account_columns, session_columns};

statements! {
    #[proves(Audit)]
    CREATE = "sessions.create": concat!(
        "WITH u AS (
             UPDATE users SET last_sign_in_at = :now, updated_at = :now
             WHERE id = :user_id
               AND (:expected_password_hash::text IS NULL OR encrypted_password = :expected_password_hash)
             RETURNING *
         ), s AS (
             INSERT INTO sessions (id, user_id, created_at, updated_at, aal, not_after, user_agent, ip,
                                   oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter)
             SELECT :session_id, u.id, :now, :now, 'aal1', :not_after, :user_agent, :ip, :oauth_client_id, :scopes,
                    :hmac_key::text, CASE WHEN :hmac_key::text IS NULL THEN NULL ELSE 0 END
             FROM u
             RETURNING id, user_id
         ), t AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
             SELECT '00000000-0000-0000-0000-000000000000', :refresh_token::text, s.user_id::text, false, :now, :now,
                    s.id
             FROM s
             WHERE :refresh_token::text IS NOT NULL
         ), c AS (
             INSERT INTO mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
             SELECT :amr_id, s.id, :amr_method, :now, :now FROM s
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u)
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    #[repeatable]
    LIST_BY_USER = "sessions.of_account":
        concat!("SELECT ", session_columns!(), " FROM sessions s WHERE s.user_id = :user_id");

    #[repeatable]
    HAS_SESSION_FROM = "sessions.has_session_from":
        "SELECT EXISTS (SELECT FROM sessions WHERE user_id = :user_id AND ip <<= :network::inet)";

    #[proves(Audit, SessionsEnded)]
    DELETE = "sessions.delete_one": "
        WITH s AS (
            DELETE FROM sessions WHERE user_id = :user_id AND id = :session_id
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    /// Locks the user first, so that two statements that delete several sessions are serialized.
    #[proves(Audit, SessionsEnded)]
    DELETE_OF_ACCOUNT = "sessions.delete": "
        WITH u AS (
            SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE
        ), s AS (
            DELETE FROM sessions
            WHERE user_id = (SELECT id FROM u)
              AND (:kept_session_id::uuid IS NULL OR id <> :kept_session_id)
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";
}

/// A session to insert.
#[derive(Debug)]
pub struct NewSession {
    pub id: Uuid,
    pub user_id: Uuid,
    /// `created_at`, and the user's `last_sign_in_at`.
    pub now: Time,
    pub not_after: Option<Time>,
    pub user_agent: Option<String>,
    pub ip: Option<IpAddr>,
    pub oauth_client_id: Option<Uuid>,
    pub scopes: Option<String>,
    /// The first refresh token (version 1); `None` for version 2.
    pub refresh_token: Option<String>,
    /// `refresh_token_hmac_key` (version 2).
    pub hmac_key: Option<String>,
    /// The id of the AMR claim's row.
    pub amr_id: Uuid,
    /// The authentication method.
    pub method: String,
    /// The password hash that was verified: if the user has another by now, no session is created.
    pub expected_password_hash: Option<String>,
    /// Audit rows of the sign-in.
    pub audit: Vec<AuditRow>,
}

/// Creates a session and returns the updated user.
///
/// `None` if the user is gone or the verified password has changed.
///
/// One statement, usable with and without a transaction.
pub async fn create(db: &mut Connection, new: NewSession) -> Result<Option<User>> {
    let audit = AuditArrays::from_rows(new.audit);
    let bound = bind!(
        CREATE,
        session_id: new.id,
        user_id: new.user_id,
        now: new.now,
        not_after: new.not_after,
        user_agent: new.user_agent,
        ip: new.ip.map(IpNetwork::from),
        oauth_client_id: new.oauth_client_id,
        scopes: new.scopes,
        hmac_key: new.hmac_key,
        refresh_token: new.refresh_token,
        amr_id: new.amr_id,
        amr_method: new.method,
        expected_password_hash: new.expected_password_hash,
        ..audit,
    );
    let row: Option<UserRow> = db.fetch_optional(bound).await?;
    Ok(row.map(|row| row.0))
}

/// Returns all sessions of the user.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<Session>> {
    let rows: Vec<SessionRow> = db.fetch_all(bind!(LIST_BY_USER, user_id)).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

/// Whether the user has a session that was last used from an address in that network.
pub async fn has_session_from(db: &mut Connection, user_id: Uuid, network: IpNet) -> Result<bool> {
    let network = IpNetwork::new(network.addr(), network.prefix_len());
    let Ok(network) = network else { return Ok(false) };
    let (found,): (bool,) = db.fetch_one(bind!(HAS_SESSION_FROM, user_id, network)).await?;
    Ok(found)
}

/// The sessions of a user to delete.
#[derive(Debug, Clone, Copy)]
pub enum SessionSelection {
    All,
    /// This session.
    Only(Uuid),
    /// All sessions except this one.
    AllBut(Uuid),
}

/// Deletes sessions of the user with their AMR claims and refresh tokens, and writes the audit rows.
pub async fn delete(db: &mut Connection, user_id: Uuid, ending: SessionSelection, audit: Vec<AuditRow>) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let bound = match ending {
        SessionSelection::All => bind!(DELETE_OF_ACCOUNT, user_id, kept_session_id: None::<Uuid>, ..audit),
        SessionSelection::Only(session_id) => bind!(DELETE, user_id, session_id, ..audit),
        SessionSelection::AllBut(id) => bind!(DELETE_OF_ACCOUNT, user_id, kept_session_id: id, ..audit),
    };
    let (only, kept) = match ending {
        SessionSelection::All => (None, None),
        SessionSelection::Only(id) => (Some(id), None),
        SessionSelection::AllBut(id) => (None, Some(id)),
    };
    let ended = || Fact::SessionsEnded(EndedSessions { only, kept, ..EndedSessions::of_user(user_id) });
    db.note(FactCondition::Statement, ended);
    db.execute(bound).await?;
    Ok(())
}
