//! `auth.identities` and their users: looked up, created, linked and unlinked in one statement each.

use foundation::time::Time;
use gotrue_rules::domain::linking::manual::UnlinkingOutcome;
use gotrue_rules::domain::linking::outcome::LinkingOutcome;
use gotrue_rules::domain::user::{Identity, User};
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::{Error, Result};
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::accounts::{take_later_steps, without_later_steps};
use super::audit::{AuditArrays, AuditRow};
use super::insertion::with_shown_parts;
use super::rows::{UserRow, account_columns};

/// The optional parts of a change of a user, and whether it has them.
fn changed_parts(before: &User, after: &User, clears_pending: bool) -> Vec<(&'static str, bool)> {
    vec![
        ("email", before.email != after.email),
        ("phone", before.phone != after.phone),
        ("email_confirmed_at", before.email_confirmed_at != after.email_confirmed_at),
        ("phone_confirmed_at", before.phone_confirmed_at != after.phone_confirmed_at),
        ("confirmation_token", before.confirmation_token != after.confirmation_token),
        ("pending", clears_pending),
        ("app_metadata", before.app_metadata != after.app_metadata),
        ("user_metadata", before.user_metadata != after.user_metadata),
        ("is_anonymous", before.is_anonymous != after.is_anonymous),
    ]
}

statements! {
    #[repeatable]
    FIND_CANDIDATES = "identities.find_candidates": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM (SELECT i.user_id AS id
               FROM identities i
               WHERE i.provider_id = :provider_id
                 AND i.provider = :provider
               UNION
               SELECT i.user_id
               FROM identities i
               WHERE i.email = ANY(:emails)
               UNION
               SELECT a.id
               FROM users a
               WHERE lower(a.email) = ANY(:emails)
                 AND a.instance_id = '00000000-0000-0000-0000-000000000000'
               UNION
               SELECT :user_id::uuid) AS found
         JOIN users u ON u.id = found.id
         WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
         ORDER BY u.id
         FOR NO KEY UPDATE OF u"
    );

    #[proves(Audit)]
    INSERT_USER = "identities.insert_user": concat!(
        "WITH t AS (
             SELECT NOT :is_in_steps::boolean
                    AND EXISTS (SELECT
                                FROM pg_catalog.pg_trigger g
                                WHERE g.tgrelid = 'users'::regclass
                                  AND NOT g.tgisinternal
                                  AND g.tgenabled <> 'D'
                                  AND g.tgtype & 16 <> 0) AS has_update_triggers
         ),
         u AS (
             INSERT INTO users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                                confirmation_token, recovery_token, email_change_token_new, email_change,
                                email_change_token_current, email_change_confirm_status, phone_change,
                                phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data,
                                is_super_admin, is_sso_user, is_anonymous, created_at, updated_at)
             SELECT '00000000-0000-0000-0000-000000000000', :user_id, :audience, :role, :email, :encrypted_password,
                    :email_confirmed_at, '', '', '', '', '', 0, '', '', '',
                    :app_metadata, :user_metadata, NULL, :is_sso_user, false, :now, :now
             FROM t
             WHERE NOT t.has_update_triggers
             ON CONFLICT DO NOTHING
             RETURNING *
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT :identity_id, u.id, :provider, :provider_id, :identity_data, :now, :now, :now FROM u
             ON CONFLICT DO NOTHING
             RETURNING id
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM i)
         )
         SELECT t.has_update_triggers, EXISTS (SELECT FROM i) AS has_identity, ",
        account_columns!(),
        " FROM t LEFT JOIN u ON true"
    );

    DELETE_USER = "identities.delete_user": "DELETE FROM users WHERE id = :user_id";

    #[proves(Audit, SessionsEnded)]
    LINK = "identities.link": "
        WITH i AS (
            INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                    updated_at)
            VALUES (:identity_id, :user_id, :provider, :provider_id, :identity_data, :now, :now, :now)
            ON CONFLICT (provider_id, provider) DO UPDATE
            SET identity_data = EXCLUDED.identity_data, updated_at = EXCLUDED.updated_at
            WHERE identities.user_id = EXCLUDED.user_id
              AND identities.id = EXCLUDED.id
            RETURNING id
        ), u AS (
            UPDATE users
            SET /*if email*/ email = :email, /*end*/
                /*if phone*/ phone = :phone, /*end*/
                /*if email_confirmed_at*/ email_confirmed_at = :email_confirmed_at, /*end*/
                /*if phone_confirmed_at*/ phone_confirmed_at = :phone_confirmed_at, /*end*/
                /*if confirmation_token*/ confirmation_token = :confirmation_token, /*end*/
                /*if pending*/
                confirmation_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE confirmation_sent_at END,
                recovery_token = CASE WHEN :clears_pending::boolean THEN '' ELSE recovery_token END,
                recovery_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE recovery_sent_at END,
                email_change_token_current =
                    CASE WHEN :clears_pending::boolean THEN '' ELSE email_change_token_current END,
                email_change_token_new = CASE WHEN :clears_pending::boolean THEN '' ELSE email_change_token_new END,
                email_change_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE email_change_sent_at END,
                phone_change_token = CASE WHEN :clears_pending::boolean THEN '' ELSE phone_change_token END,
                phone_change_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE phone_change_sent_at END,
                reauthentication_token = CASE WHEN :clears_pending::boolean THEN '' ELSE reauthentication_token END,
                reauthentication_sent_at =
                    CASE WHEN :clears_pending::boolean THEN NULL ELSE reauthentication_sent_at END,
                email_change = CASE WHEN :clears_pending::boolean THEN '' ELSE email_change END,
                email_change_confirm_status =
                    CASE WHEN :clears_pending::boolean THEN 0 ELSE email_change_confirm_status END,
                phone_change = CASE WHEN :clears_pending::boolean THEN '' ELSE phone_change END,
                /*end*/
                /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                /*if user_metadata*/ raw_user_meta_data = :user_metadata, /*end*/
                /*if password*/ encrypted_password = NULL, /*end*/
                /*if is_anonymous*/ is_anonymous = :is_anonymous, /*end*/
                updated_at = :now
            WHERE id = :user_id
              AND EXISTS (SELECT FROM i)
            RETURNING id
        ), gone AS (
            DELETE FROM identities
            WHERE user_id = (SELECT id FROM u)
              AND id <> :identity_id
              AND :removes_credentials::boolean
        ), o AS (
            DELETE FROM one_time_tokens
            WHERE user_id = (SELECT id FROM u)
              AND (:clears_pending::boolean OR :confirms_email::boolean)
        ), s AS (
            DELETE FROM sessions WHERE user_id = (SELECT id FROM u) AND :resets_account::boolean
        ), f AS (
            DELETE FROM mfa_factors WHERE user_id = (SELECT id FROM u) AND :resets_account::boolean
        ), w AS (
            DELETE FROM webauthn_credentials WHERE user_id = (SELECT id FROM u) AND :resets_account::boolean
        ), c AS (
            DELETE FROM flow_state WHERE user_id = (SELECT id FROM u) AND :resets_account::boolean
        ), k AS (
            DELETE FROM oauth_consents WHERE user_id = (SELECT id FROM u) AND :resets_account::boolean
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM u)
        )
        SELECT EXISTS (SELECT FROM u)";

    MOVE = "identities.move":
        "UPDATE identities SET user_id = :user_id WHERE id = :identity_id AND user_id = :previous_user_id";

    INSERT = "identities.insert":
        "WITH i AS (
            INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                    updated_at)
            VALUES (:identity_id, :user_id, :provider, :provider_id, :identity_data, :now, :now, :now)
            ON CONFLICT DO NOTHING
            RETURNING user_id
        )
        UPDATE users SET raw_app_meta_data = COALESCE(raw_app_meta_data, '{}') || :app_metadata, updated_at = :now
        WHERE id IN (SELECT user_id FROM i)";

    LOCK = "identities.lock_owner": "SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE";

    #[proves(Audit)]
    UNLINK = "identities.unlink": "
        WITH i AS (
            DELETE FROM identities WHERE id = :identity_id AND user_id = :user_id RETURNING id
        ), u AS (
            UPDATE users
            SET /*if email*/ email = :email, /*end*/
                /*if phone*/ phone = :phone, /*end*/
                /*if email_confirmed_at*/ email_confirmed_at = :email_confirmed_at, /*end*/
                /*if phone_confirmed_at*/ phone_confirmed_at = :phone_confirmed_at, /*end*/
                /*if confirmation_token*/ confirmation_token = :confirmation_token, /*end*/
                /*if pending*/
                confirmation_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE confirmation_sent_at END,
                recovery_token = CASE WHEN :clears_pending::boolean THEN '' ELSE recovery_token END,
                recovery_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE recovery_sent_at END,
                email_change_token_current =
                    CASE WHEN :clears_pending::boolean THEN '' ELSE email_change_token_current END,
                email_change_token_new = CASE WHEN :clears_pending::boolean THEN '' ELSE email_change_token_new END,
                email_change_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE email_change_sent_at END,
                phone_change_token = CASE WHEN :clears_pending::boolean THEN '' ELSE phone_change_token END,
                phone_change_sent_at = CASE WHEN :clears_pending::boolean THEN NULL ELSE phone_change_sent_at END,
                reauthentication_token = CASE WHEN :clears_pending::boolean THEN '' ELSE reauthentication_token END,
                reauthentication_sent_at =
                    CASE WHEN :clears_pending::boolean THEN NULL ELSE reauthentication_sent_at END,
                email_change = CASE WHEN :clears_pending::boolean THEN '' ELSE email_change END,
                email_change_confirm_status =
                    CASE WHEN :clears_pending::boolean THEN 0 ELSE email_change_confirm_status END,
                phone_change = CASE WHEN :clears_pending::boolean THEN '' ELSE phone_change END,
                /*end*/
                /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                /*if user_metadata*/ raw_user_meta_data = :user_metadata, /*end*/
                updated_at = :now
            WHERE id = :user_id
              AND EXISTS (SELECT FROM i)
            RETURNING id
        ), o AS (
            DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u) AND :clears_pending::boolean
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM u)
        )
        SELECT EXISTS (SELECT FROM u)";
}

/// The keys by which users of an external identity are found.
#[derive(Debug, Clone, Copy)]
pub struct IdentityQuery<'a> {
    /// `identities.provider`.
    pub provider: &'a str,
    /// `identities.provider_id`.
    pub subject: &'a str,
    /// Addresses in lower case.
    pub emails: &'a [String],
    /// A user that is included in any case.
    pub user_id: Option<Uuid>,
}

/// Returns the users that have the identity or any of the addresses.
///
/// Locks them until the transaction ends.
pub async fn find_candidates(db: &mut Connection, query: IdentityQuery<'_>) -> Result<Vec<User>> {
    let bound = bind!(
        FIND_CANDIDATES,
        provider_id: query.subject,
        provider: query.provider,
        emails: query.emails,
        user_id: query.user_id,
    );
    let rows: Vec<UserRow> = db.fetch_all(bound).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// Inserts a user with its identity, in steps where the project has triggers on updates.
///
/// Returns the user as it is stored; `None` if identity or address were stored concurrently. Of two concurrent inserts the
/// later waits for the earlier. Requires a transaction.
///
/// # Errors
/// A trigger refused the row, or the database failed.
pub async fn insert_user(db: &mut Connection, outcome: &LinkingOutcome, audit: Vec<AuditRow>) -> Result<Option<User>> {
    let inserted = insert_user_row(db, outcome, &outcome.user, false, audit.clone()).await?;
    if !inserted.has_update_triggers {
        return finish_insert(db, outcome, inserted).await;
    }
    let first = without_later_steps(&outcome.user);
    let inserted = insert_user_row(db, outcome, &first, true, audit).await?;
    match finish_insert(db, outcome, inserted).await? {
        Some(stored) => take_later_steps(db, &outcome.user, stored).await?.into_result().map(Some),
        None => Ok(None),
    }
}

/// The row of a statement that inserts a user with its identity.
struct InsertedUserRow {
    has_update_triggers: bool,
    has_identity: bool,
    stored: Option<User>,
}

impl FromRow<'_, PgRow> for InsertedUserRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_stored = row.try_get::<Option<Uuid>, _>("id")?.is_some();
        Ok(Self {
            has_update_triggers: row.try_get("has_update_triggers")?,
            has_identity: row.try_get("has_identity")?,
            stored: if is_stored { Some(UserRow::from_row(row)?.0) } else { None },
        })
    }
}

async fn insert_user_row(
    db: &mut Connection,
    outcome: &LinkingOutcome,
    user: &User,
    is_in_steps: bool,
    audit: Vec<AuditRow>,
) -> Result<InsertedUserRow> {
    let identity = user.identities.iter().find(|identity| identity.id == outcome.identity);
    let identity = identity.ok_or_else(|| Error::in_statement("identities.insert_user", sqlx::Error::RowNotFound))?;
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(
        INSERT_USER,
        is_in_steps,
        user_id: user.id,
        audience: user.aud.as_str(),
        role: user.role.as_str(),
        email: user.email.as_deref(),
        email_confirmed_at: user.email_confirmed_at,
        app_metadata: Value::Object(user.app_metadata.clone()),
        user_metadata: Value::Object(user.user_metadata.clone()),
        is_sso_user: user.is_sso_user,
        now: user.created_at,
        identity_id: identity.id,
        provider: identity.provider.as_str(),
        provider_id: identity.provider_id.as_str(),
        identity_data: Value::Object(identity.identity_data.clone()),
        encrypted_password: (!outcome.removes_other_credentials).then_some(""),
        ..audit,
    );
    db.fetch_one(bound).await
}

/// Removes a user whose identity another request stored first, and tells a concurrent request from a refusing trigger.
async fn finish_insert(
    db: &mut Connection,
    outcome: &LinkingOutcome,
    inserted: InsertedUserRow,
) -> Result<Option<User>> {
    match inserted {
        InsertedUserRow { stored: Some(stored), has_identity: true, .. } => {
            Ok(Some(with_shown_parts(stored, &outcome.user)))
        }
        InsertedUserRow { stored: Some(_), .. } => {
            db.execute(bind!(DELETE_USER, user_id: outcome.user.id)).await?;
            Ok(None)
        }
        InsertedUserRow { stored: None, .. } => Ok(None),
    }
}

/// Links a new identity, moves one from another user, or updates a known one.
///
/// False if it belongs to another user by then.
pub async fn link(db: &mut Connection, outcome: &LinkingOutcome, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let user = &outcome.user;
    let Some(identity) = user.identities.iter().find(|identity| identity.id == outcome.identity) else {
        return Ok(false);
    };
    if let Some(from) = outcome.moved_from {
        db.execute(bind!(MOVE, identity_id: identity.id, user_id: user.id, previous_user_id: from)).await?;
    }
    let audit = AuditArrays::from_rows(audit);
    if outcome.resets_account {
        let sessions = EndedSessions::of_user(user.id);
        db.note(FactCondition::Statement, || Fact::SessionsEnded(sessions));
    }
    let bound = bind!(
        LINK,
        identity_id: identity.id,
        user_id: user.id,
        provider: identity.provider.as_str(),
        provider_id: identity.provider_id.as_str(),
        identity_data: Value::Object(identity.identity_data.clone()),
        now,
        email: user.email.as_deref(),
        phone: user.phone.as_deref(),
        email_confirmed_at: user.email_confirmed_at,
        phone_confirmed_at: user.phone_confirmed_at,
        confirmation_token: user.confirmation_token.as_str(),
        app_metadata: Value::Object(user.app_metadata.clone()),
        user_metadata: Value::Object(user.user_metadata.clone()),
        is_anonymous: user.is_anonymous,
        removes_credentials: outcome.removes_other_credentials,
        clears_pending: outcome.voids_pending_requests,
        confirms_email: outcome.confirms_email,
        resets_account: outcome.resets_account,
        ..audit,
    );
    let mut parts = changed_parts(&outcome.before, user, outcome.voids_pending_requests);
    parts.push(("password", outcome.removes_other_credentials));
    let (written,): (bool,) = db.fetch_one(bound.with_changed(&parts)).await?;
    Ok(written)
}

/// Adds an identity and merges `providers` into the user's app metadata; false if the identity exists.
pub async fn insert(
    db: &mut Connection,
    identity: &Identity,
    providers: Map<String, Value>,
    now: Time,
) -> Result<bool> {
    let bound = bind!(
        INSERT,
        identity_id: identity.id,
        user_id: identity.user_id,
        provider: identity.provider.as_str(),
        provider_id: identity.provider_id.as_str(),
        identity_data: Value::Object(identity.identity_data.clone()),
        now,
        app_metadata: Value::Object(providers),
    );
    Ok(db.execute(bound).await? > 0)
}

/// Locks the user until the transaction ends.
///
/// So data that is read next is still current when it is written.
pub async fn lock_user(db: &mut Connection, user: Uuid) -> Result<()> {
    db.execute(bind!(LOCK, user_id: user)).await?;
    Ok(())
}

/// Unlinks an identity from its user; false if it was gone.
pub async fn unlink(db: &mut Connection, parting: &UnlinkingOutcome, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let user = &parting.user;
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(
        UNLINK,
        identity_id: parting.identity.id,
        user_id: user.id,
        email: user.email.as_deref(),
        phone: user.phone.as_deref(),
        email_confirmed_at: user.email_confirmed_at,
        phone_confirmed_at: user.phone_confirmed_at,
        confirmation_token: user.confirmation_token.as_str(),
        app_metadata: Value::Object(user.app_metadata.clone()),
        user_metadata: Value::Object(user.user_metadata.clone()),
        now,
        clears_pending: parting.voids_pending_requests,
        ..audit,
    );
    let parts = changed_parts(&parting.before, user, parting.voids_pending_requests);
    let (written,): (bool,) = db.fetch_one(bound.with_changed(&parts)).await?;
    Ok(written)
}
