//! `auth.identities` and their users: looked up, created, linked and unlinked in one statement each.

use gotrue_rules::domain::linking::manual::UnlinkingOutcome;
use gotrue_rules::domain::linking::outcome::LinkingOutcome;
use gotrue_rules::domain::user::{Identity, Time, User};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, account_columns};
use super::statement::{Connection, Statement, args};

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

const FIND_CANDIDATES: Statement = Statement {
    name: "identities.known",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM (SELECT i.user_id AS id
               FROM identities i
               WHERE i.provider_id = $1
                 AND i.provider = $2
               UNION
               SELECT i.user_id
               FROM identities i
               WHERE i.email = ANY($3)
               UNION
               SELECT a.id
               FROM users a
               WHERE lower(a.email) = ANY($3)
                 AND a.instance_id = '00000000-0000-0000-0000-000000000000'
               UNION
               SELECT $4::uuid) AS found
         JOIN users u ON u.id = found.id
         WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
         ORDER BY u.id
         FOR NO KEY UPDATE OF u"
    ),
};

/// Returns the users that have the identity or any of the addresses.
///
/// Locks them until the transaction ends.
pub async fn find_candidates(db: &mut Connection, query: IdentityQuery<'_>) -> Result<Vec<User>> {
    let values = args![query.subject, query.provider, query.emails, query.user_id];
    let rows: Vec<AccountRow> = db.fetch_all(&FIND_CANDIDATES, values).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

const INSERT_USER: Statement = Statement {
    name: "identities.make",
    sql: concat!(
        "WITH u AS (
             INSERT INTO users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                                confirmation_token, recovery_token, email_change_token_new, email_change,
                                email_change_token_current, email_change_confirm_status, phone_change,
                                phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data,
                                is_super_admin, is_sso_user, is_anonymous, created_at, updated_at)
             VALUES ('00000000-0000-0000-0000-000000000000', $1, $2, $3, $4, $18, $5, '', '', '', '', '', 0, '', '', '',
                     $6, $7, NULL, $8, false, $9, $9)
             ON CONFLICT DO NOTHING
             RETURNING id
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT $10, u.id, $11, $12, $13, $9, $9, $9 FROM u
             ON CONFLICT DO NOTHING
             RETURNING id
         ), a AS (",
        audit_insert!(14, 15, 16, 17),
        " WHERE EXISTS (SELECT FROM i))
         SELECT EXISTS (SELECT FROM u), EXISTS (SELECT FROM i)"
    ),
};

const DELETE_USER: Statement = Statement { name: "identities.unmake", sql: "DELETE FROM users WHERE id = $1" };

/// Inserts a user with its identity; false if identity or address were stored concurrently.
///
/// Of two concurrent inserts the later waits for the earlier.
pub async fn insert_user(db: &mut Connection, outcome: &LinkingOutcome, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &outcome.account;
    let Some(identity) = account.identities.iter().find(|it| it.id == outcome.identity) else { return Ok(false) };
    let audit = AuditArrays::from_rows(audit);
    let values = args![
        account.id,
        account.aud.as_str(),
        account.role.as_str(),
        account.email.as_deref(),
        account.email_confirmed_at,
        Value::Object(account.app_metadata.clone()),
        Value::Object(account.user_metadata.clone()),
        account.is_sso_user,
        account.created_at,
        identity.id,
        identity.provider.as_str(),
        identity.provider_id.as_str(),
        Value::Object(identity.identity_data.clone()),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        // Like the reference: NULL where the address had to be verified, as if a foreign password had been removed.
        (!outcome.removes_other_credentials).then_some(""),
    ];
    let (has_account, has_identity): (bool, bool) = db.fetch_one(&INSERT_USER, values).await?;
    if has_account && !has_identity {
        db.execute(&DELETE_USER, args![account.id]).await?;
    }
    Ok(has_identity)
}

/// Clears the pending tokens of the previous address if the boolean parameter of this number is true.
///
/// The statement itself handles the confirmation token.
macro_rules! clear_pending_tokens {
    ($forgets:literal) => {
        concat!(
            "confirmation_sent_at = CASE WHEN $",
            $forgets,
            "::boolean THEN NULL ELSE confirmation_sent_at END,
             recovery_token = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE recovery_token END,
             recovery_sent_at = CASE WHEN $",
            $forgets,
            "::boolean THEN NULL ELSE recovery_sent_at END,
             email_change = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE email_change END,
             email_change_token_current = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE email_change_token_current END,
             email_change_token_new = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE email_change_token_new END,
             email_change_sent_at = CASE WHEN $",
            $forgets,
            "::boolean THEN NULL ELSE email_change_sent_at END,
             email_change_confirm_status = CASE WHEN $",
            $forgets,
            "::boolean THEN 0 ELSE email_change_confirm_status END,
             phone_change = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE phone_change END,
             phone_change_token = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE phone_change_token END,
             phone_change_sent_at = CASE WHEN $",
            $forgets,
            "::boolean THEN NULL ELSE phone_change_sent_at END,
             reauthentication_token = CASE WHEN $",
            $forgets,
            "::boolean THEN '' ELSE reauthentication_token END,
             reauthentication_sent_at = CASE WHEN $",
            $forgets,
            "::boolean THEN NULL ELSE reauthentication_sent_at END"
        )
    };
}

const LINK: Statement = Statement {
    name: "identities.join",
    sql: concat!(
        "WITH i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6, $6)
             ON CONFLICT (provider_id, provider) DO UPDATE
             SET identity_data = EXCLUDED.identity_data, updated_at = EXCLUDED.updated_at
             WHERE identities.user_id = EXCLUDED.user_id
               AND identities.id = EXCLUDED.id
             RETURNING id
         ), u AS (
             UPDATE users
             SET email = $7,
                 phone = $8,
                 encrypted_password = CASE WHEN $15::boolean THEN NULL ELSE encrypted_password END,
                 email_confirmed_at = $9,
                 phone_confirmed_at = $10,
                 confirmation_token = $11,
                 ",
        clear_pending_tokens!(16),
        ",
                 raw_app_meta_data = $12,
                 raw_user_meta_data = $13,
                 is_anonymous = $14,
                 updated_at = $6
             WHERE id = $2
               AND EXISTS (SELECT FROM i)
             RETURNING id
         ), gone AS (
             DELETE FROM identities WHERE user_id = (SELECT id FROM u) AND id <> $1 AND $15::boolean
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u) AND ($16::boolean OR $17::boolean)
         ), s AS (
             DELETE FROM sessions WHERE user_id = (SELECT id FROM u) AND $18::boolean
         ), f AS (
             DELETE FROM mfa_factors WHERE user_id = (SELECT id FROM u) AND $18::boolean
         ), w AS (
             DELETE FROM webauthn_credentials WHERE user_id = (SELECT id FROM u) AND $18::boolean
         ), c AS (
             DELETE FROM flow_state WHERE user_id = (SELECT id FROM u) AND $18::boolean
         ), k AS (
             DELETE FROM oauth_consents WHERE user_id = (SELECT id FROM u) AND $18::boolean
         ), a AS (",
        audit_insert!(19, 20, 21, 22),
        " WHERE EXISTS (SELECT FROM u))
         SELECT EXISTS (SELECT FROM u)"
    ),
};

const MOVE: Statement =
    Statement { name: "identities.move", sql: "UPDATE identities SET user_id = $2 WHERE id = $1 AND user_id = $3" };

/// Links a new identity, moves one from another user, or updates a known one.
///
/// False if it belongs to another user by then.
pub async fn link(db: &mut Connection, outcome: &LinkingOutcome, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &outcome.account;
    let Some(identity) = account.identities.iter().find(|it| it.id == outcome.identity) else { return Ok(false) };
    if let Some(from) = outcome.moved_from {
        db.execute(&MOVE, args![identity.id, account.id, from]).await?;
    }
    let audit = AuditArrays::from_rows(audit);
    let values = args![
        identity.id,
        account.id,
        identity.provider.as_str(),
        identity.provider_id.as_str(),
        Value::Object(identity.identity_data.clone()),
        now,
        account.email.as_deref(),
        account.phone.as_deref(),
        account.email_confirmed_at,
        account.phone_confirmed_at,
        account.confirmation_token.as_str(),
        Value::Object(account.app_metadata.clone()),
        Value::Object(account.user_metadata.clone()),
        account.is_anonymous,
        outcome.removes_other_credentials,
        outcome.voids_pending_requests,
        outcome.confirms_email,
        outcome.resets_account,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let (written,): (bool,) = db.fetch_one(&LINK, values).await?;
    Ok(written)
}

const INSERT: Statement = Statement {
    name: "identities.add",
    sql: "WITH i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6, $6)
             ON CONFLICT DO NOTHING
             RETURNING user_id
         )
         UPDATE users SET raw_app_meta_data = COALESCE(raw_app_meta_data, '{}') || $7, updated_at = $6
         WHERE id IN (SELECT user_id FROM i)",
};

/// Adds an identity and merges `providers` into the user's app metadata; false if the identity exists.
pub async fn insert(
    db: &mut Connection,
    identity: &Identity,
    providers: Map<String, Value>,
    now: Time,
) -> Result<bool> {
    let values = args![
        identity.id,
        identity.user_id,
        identity.provider.as_str(),
        identity.provider_id.as_str(),
        Value::Object(identity.identity_data.clone()),
        now,
        Value::Object(providers),
    ];
    Ok(db.execute(&INSERT, values).await? > 0)
}

const LOCK: Statement =
    Statement { name: "identities.lock_owner", sql: "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE" };

/// Locks the user until the transaction ends.
///
/// So data that is read next is still current when it is written.
pub async fn lock_user(db: &mut Connection, account: Uuid) -> Result<()> {
    db.execute(&LOCK, args![account]).await?;
    Ok(())
}

const UNLINK: Statement = Statement {
    name: "identities.part",
    sql: concat!(
        "WITH i AS (
             DELETE FROM identities WHERE id = $1 AND user_id = $2 RETURNING id
         ), u AS (
             UPDATE users
             SET email = $3,
                 phone = $4,
                 email_confirmed_at = $5,
                 phone_confirmed_at = $6,
                 confirmation_token = $7,
                 ",
        clear_pending_tokens!(11),
        ",
                 raw_app_meta_data = $8,
                 raw_user_meta_data = $9,
                 updated_at = $10
             WHERE id = $2
               AND EXISTS (SELECT FROM i)
             RETURNING id
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u) AND $11::boolean
         ), a AS (",
        audit_insert!(12, 13, 14, 15),
        " WHERE EXISTS (SELECT FROM u))
         SELECT EXISTS (SELECT FROM u)"
    ),
};

/// Unlinks an identity from its user; false if it was gone.
pub async fn unlink(db: &mut Connection, parting: &UnlinkingOutcome, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &parting.account;
    let audit = AuditArrays::from_rows(audit);
    let values = args![
        parting.identity.id,
        account.id,
        account.email.as_deref(),
        account.phone.as_deref(),
        account.email_confirmed_at,
        account.phone_confirmed_at,
        account.confirmation_token.as_str(),
        Value::Object(account.app_metadata.clone()),
        Value::Object(account.user_metadata.clone()),
        now,
        parting.voids_pending_requests,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let (written,): (bool,) = db.fetch_one(&UNLINK, values).await?;
    Ok(written)
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&FIND_CANDIDATES, &INSERT_USER, &DELETE_USER, &MOVE, &LINK, &INSERT, &LOCK, &UNLINK];
