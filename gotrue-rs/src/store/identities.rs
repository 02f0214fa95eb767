//! `auth.identities`, with the account that each belongs to: found, made, joined and parted in one statement each.

use gotrue_rules::domain::linking::by_hand::Parting;
use gotrue_rules::domain::linking::joining::Joining;
use gotrue_rules::domain::user::{Account, Identity, Time};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, account_columns};
use super::statement::{Connection, Statement, args};

/// Whom somebody at a provider may be.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// `identities.provider`.
    pub provider: &'a str,
    /// `identities.provider_id`.
    pub subject: &'a str,
    /// Addresses, lower case.
    pub emails: &'a [String],
    /// An account that is wanted in any case.
    pub account: Option<Uuid>,
}

const KNOWN: Statement = Statement {
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

/// The accounts that have the identity or any of the addresses, by an identity or themselves; in a transaction nobody
/// else changes them until its end.
pub async fn known(db: &mut Connection, sought: Sought<'_>) -> Result<Vec<Account>> {
    let values = args![sought.subject, sought.provider, sought.emails, sought.account];
    let rows: Vec<AccountRow> = db.all(&KNOWN, values).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

const MAKE: Statement = Statement {
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

const UNMAKE: Statement = Statement { name: "identities.unmake", sql: "DELETE FROM users WHERE id = $1" };

/// Writes a new account with its identity, unless somebody else was faster with the identity or the address: whether it
/// was written. Of two at once the later waits for the earlier.
pub async fn make(db: &mut Connection, joining: &Joining, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &joining.account;
    let Some(identity) = account.identities.iter().find(|it| it.id == joining.identity) else { return Ok(false) };
    let audit = AuditArrays::of(audit);
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
        // As recorded: NULL where its address was to be proved, as if a password of somebody else had been taken away.
        (!joining.takes_over).then_some(""),
    ];
    let (has_account, has_identity): (bool, bool) = db.one(&MAKE, values).await?;
    if has_account && !has_identity {
        db.execute(&UNMAKE, args![account.id]).await?;
    }
    Ok(has_identity)
}

/// With another address (the number of a boolean parameter) what was asked for under the old one is void, and it counts
/// as never asked for. The confirmation's own token is left to the statement.
macro_rules! forgets {
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

const JOIN: Statement = Statement {
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
        forgets!(16),
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

/// Joins an account by a new identity, by one that leaves another account, or by what a known one says now, unless the identity is somebody else's by then:
/// whether it was written.
pub async fn join(db: &mut Connection, joining: &Joining, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &joining.account;
    let Some(identity) = account.identities.iter().find(|it| it.id == joining.identity) else { return Ok(false) };
    if let Some(from) = joining.moved_from {
        db.execute(&MOVE, args![identity.id, account.id, from]).await?;
    }
    let audit = AuditArrays::of(audit);
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
        joining.takes_over,
        joining.forgets,
        joining.confirms,
        joining.starts_anew,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let (written,): (bool,) = db.one(&JOIN, values).await?;
    Ok(written)
}

const ADD: Statement = Statement {
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

/// Adds an identity to an account whose providers are then these members of its metadata; false if it has such a one.
pub async fn add(db: &mut Connection, identity: &Identity, providers: Map<String, Value>, now: Time) -> Result<bool> {
    let values = args![
        identity.id,
        identity.user_id,
        identity.provider.as_str(),
        identity.provider_id.as_str(),
        Value::Object(identity.identity_data.clone()),
        now,
        Value::Object(providers),
    ];
    Ok(db.execute(&ADD, values).await? > 0)
}

const LOCK: Statement =
    Statement { name: "identities.lock_owner", sql: "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE" };

/// Waits until nobody else changes the account, so that what is read next is what is written.
pub async fn lock_owner(db: &mut Connection, account: Uuid) -> Result<()> {
    db.execute(&LOCK, args![account]).await?;
    Ok(())
}

const PART: Statement = Statement {
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
        forgets!(11),
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

/// Parts an identity from its account: whether it was still there.
pub async fn part(db: &mut Connection, parting: &Parting, now: Time, audit: Vec<AuditRow>) -> Result<bool> {
    let account = &parting.account;
    let audit = AuditArrays::of(audit);
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
        parting.forgets,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let (written,): (bool,) = db.one(&PART, values).await?;
    Ok(written)
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&KNOWN, &MAKE, &UNMAKE, &MOVE, &JOIN, &ADD, &LOCK, &PART];
