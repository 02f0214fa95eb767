//! Pending and completed changes of a user's address or number.
//!
//! The resulting user is computed by `contact_change` of `gotrue-rules`. The statements write it if the pending tokens
//! are unchanged.

use gotrue_rules::domain::one_time_token::OneTimeTokenKind;
use gotrue_rules::domain::user::{Identity, Time, User};
use serde_json::Value;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

/// A requested change of address.
#[derive(Debug)]
pub struct EmailChange<'a> {
    /// The user.
    pub user_id: Uuid,
    /// `email_change`, lower case.
    pub new: &'a str,
    /// The token hash for the new address, and the id of its row.
    pub new_hash: (&'a str, Uuid),
    /// If the old address must confirm, too: the address, its token hash, and the id of its row.
    pub current: Option<(&'a str, &'a str, Uuid)>,
    /// The time of sending.
    pub now: Time,
}

/// Locks the user before its tokens: every other part reads from `u`.
const STORE_EMAIL_CHANGE: Statement = Statement {
    name: "contact_changes.ask_email",
    sql: "WITH u AS (
              UPDATE users
              SET email_change = $2,
                  email_change_token_new = $3,
                  email_change_token_current = COALESCE($6, ''),
                  email_change_confirm_status = 0,
                  email_change_sent_at = $8,
                  updated_at = $8
              WHERE id = $1
              RETURNING id
          ), o AS (
              DELETE FROM one_time_tokens
              WHERE user_id = (SELECT id FROM u)
                AND token_type = 'email_change_token_current'
                AND $6::text IS NULL
          )
          INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
          SELECT it.id, u.id, it.slot::one_time_token_type, it.hash, it.address, $8::timestamptz AT TIME ZONE 'utc',
                 $8::timestamptz AT TIME ZONE 'utc'
          FROM u CROSS JOIN (VALUES ($4::uuid, 'email_change_token_new', $3::text, $2::text),
                       ($7::uuid, 'email_change_token_current', $6::text, $5::text)) AS it (id, slot, hash, address)
          WHERE it.hash IS NOT NULL
          ON CONFLICT (user_id, token_type) DO UPDATE
          SET id = EXCLUDED.id,
              token_hash = EXCLUDED.token_hash,
              relates_to = EXCLUDED.relates_to,
              created_at = EXCLUDED.created_at,
              updated_at = EXCLUDED.updated_at",
};

/// Stores a change of address with its one or two tokens.
///
/// Replaces a pending one, even a half-confirmed one.
pub async fn store_email_change(db: &mut Connection, change: EmailChange<'_>) -> Result<()> {
    let (new_hash, new_id) = change.new_hash;
    let (address, hash, id) = match change.current {
        Some((address, hash, id)) => (Some(address), Some(hash), Some(id)),
        None => (None, None, None),
    };
    db.execute(&STORE_EMAIL_CHANGE, args![change.user_id, change.new, new_hash, new_id, address, hash, id, change.now])
        .await?;
    Ok(())
}

/// One of the two confirmations of a change of address, whose link an administrator generates.
#[derive(Debug)]
pub struct EmailChangeHalf<'a> {
    /// The user.
    pub user_id: Uuid,
    /// `email_change`, lower case.
    pub new: &'a str,
    /// [`OneTimeTokenKind::EmailChangeCurrent`] or [`OneTimeTokenKind::EmailChangeNew`].
    pub slot: OneTimeTokenKind,
    /// The token hash in the link, and the id of its row.
    pub hash: (&'a str, Uuid),
    /// The address that confirms with the link.
    pub relates_to: &'a str,
    /// The time of the request.
    pub now: Time,
}

/// The other token stays valid only if it belongs to the same new address.
///
/// Otherwise a link for one address would confirm another.
const STORE_EMAIL_CHANGE_HALF: Statement = Statement {
    name: "contact_changes.ask_half",
    sql: "WITH before AS (
              SELECT id, email_change FROM users WHERE id = $1 FOR UPDATE
          ), u AS (
              UPDATE users
              SET email_change = $2::text,
                  email_change_token_new =
                      CASE WHEN $3::text = 'email_change_token_new' THEN $4::text
                           WHEN before.email_change = $2::text THEN users.email_change_token_new
                           ELSE '' END,
                  email_change_token_current =
                      CASE WHEN $3::text = 'email_change_token_current' THEN $4::text
                           WHEN before.email_change = $2::text THEN users.email_change_token_current
                           ELSE '' END,
                  email_change_confirm_status = 0,
                  email_change_sent_at = $7,
                  updated_at = $7
              FROM before
              WHERE users.id = before.id
          ), o AS (
              DELETE FROM one_time_tokens
              USING before
              WHERE user_id = before.id
                AND before.email_change IS DISTINCT FROM $2::text
                AND token_type IN ('email_change_token_new', 'email_change_token_current')
                AND token_type::text <> $3::text
          )
          INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
          SELECT $5, before.id, $3::text::one_time_token_type, $4::text, $6, $7::timestamptz AT TIME ZONE 'utc',
                 $7::timestamptz AT TIME ZONE 'utc'
          FROM before
          ON CONFLICT (user_id, token_type) DO UPDATE
          SET id = EXCLUDED.id,
              token_hash = EXCLUDED.token_hash,
              relates_to = EXCLUDED.relates_to,
              created_at = EXCLUDED.created_at,
              updated_at = EXCLUDED.updated_at",
};

/// Stores one of the two confirmations with its token.
pub async fn store_email_change_half(db: &mut Connection, half: EmailChangeHalf<'_>) -> Result<()> {
    let (hash, id) = half.hash;
    let values = args![half.user_id, half.new, half.slot.column(), hash, id, half.relates_to, half.now];
    db.execute(&STORE_EMAIL_CHANGE_HALF, values).await?;
    Ok(())
}

const CONFIRM_HALF: Statement = Statement {
    name: "contact_changes.confirm_half",
    sql: "WITH u AS (
              UPDATE users
              SET email_change_confirm_status = 1,
                  email_change_token_current =
                      CASE WHEN $3 = 'email_change_token_current' THEN '' ELSE email_change_token_current END,
                  email_change_token_new =
                      CASE WHEN $3 = 'email_change_token_new' THEN '' ELSE email_change_token_new END,
                  updated_at = $4
              WHERE id = $1
                AND email_change_confirm_status = 0
                AND $2 = CASE WHEN $3 = 'email_change_token_new' THEN email_change_token_new
                              ELSE email_change_token_current END
              RETURNING id
          ), o AS (
              DELETE FROM one_time_tokens
              WHERE user_id = (SELECT id FROM u)
                AND token_type::text = $3
          )
          SELECT count(*) = 1 FROM u",
};

/// Records the first of two confirmations and clears its token; false if hash or state have changed.
pub async fn confirm_email_change_half(
    db: &mut Connection,
    user_id: Uuid,
    slot: OneTimeTokenKind,
    stored: &str,
    now: Time,
) -> Result<bool> {
    let (written,): (bool,) = db.fetch_one(&CONFIRM_HALF, args![user_id, stored, slot.column(), now]).await?;
    Ok(written)
}

/// A user before and after a change of address or number.
#[derive(Debug)]
pub struct AppliedContactChange<'a> {
    /// The user as read: its tokens must be unchanged.
    pub before: &'a User,
    /// The user after the change.
    pub after: &'a User,
    /// The identity of the address or number after the change.
    pub identity: &'a Identity,
    /// The new `raw_app_meta_data`; `None` leaves it unchanged.
    pub app_metadata: Option<Value>,
    /// The time of the request.
    pub now: Time,
    /// Audit rows of the change.
    pub audit: Vec<AuditRow>,
}

/// The common end of both statements: identity, one-time tokens, audit rows.
///
/// Returns whether the user changed.
macro_rules! apply_dependent_rows {
    () => {
        concat!(
            "
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT $4, u.id, $5, $6::text, $7, $2, $2, $2 FROM u
             ON CONFLICT (provider_id, provider) DO UPDATE
             SET identity_data = EXCLUDED.identity_data, updated_at = EXCLUDED.updated_at
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             ",
            audit_insert!(8, 9, 10, 11),
            " WHERE EXISTS (SELECT FROM u)
         )
         SELECT count(*) = 1 FROM u"
        )
    };
}

const APPLY_EMAIL: Statement = Statement {
    name: "contact_changes.apply_email",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET email = $12,
                 email_change = '',
                 email_change_token_new = '',
                 email_change_token_current = '',
                 email_change_confirm_status = 0,
                 email_confirmed_at = $13,
                 confirmation_token = CASE WHEN email_confirmed_at IS NULL THEN '' ELSE confirmation_token END,
                 raw_user_meta_data = CASE WHEN email_confirmed_at IS NULL
                                           THEN COALESCE(NULLIF(raw_user_meta_data, 'null'), '{}')
                                                || '{\"email_verified\": true}'
                                           ELSE raw_user_meta_data END,
                 raw_app_meta_data = COALESCE($3, raw_app_meta_data),
                 is_anonymous = false,
                 updated_at = $2
             WHERE id = $1
               AND email_change_token_new = $14
               AND email_change_token_current = $15
             RETURNING id",
        apply_dependent_rows!()
    ),
};

/// Replaces the address; false if the tokens are no longer those of `before`.
pub async fn apply_email(db: &mut Connection, it: AppliedContactChange<'_>) -> Result<bool> {
    let audit = AuditArrays::from_rows(it.audit);
    let values = args![
        it.before.id,
        it.now,
        it.app_metadata,
        it.identity.id,
        it.identity.provider.as_str(),
        it.identity.provider_id.as_str(),
        Value::Object(it.identity.identity_data.clone()),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        it.after.email.as_deref(),
        it.after.email_confirmed_at,
        it.before.email_change_token_new.as_str(),
        it.before.email_change_token_current.as_str(),
    ];
    let (written,): (bool,) = db.fetch_one(&APPLY_EMAIL, values).await?;
    Ok(written)
}

const APPLY_PHONE: Statement = Statement {
    name: "contact_changes.apply_phone",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET phone = $12,
                 phone_change = '',
                 phone_change_token = '',
                 phone_confirmed_at = $13,
                 raw_app_meta_data = COALESCE($3, raw_app_meta_data),
                 is_anonymous = false,
                 updated_at = $2
             WHERE id = $1
               AND phone_change_token = $14
             RETURNING id",
        apply_dependent_rows!()
    ),
};

/// Replaces the number; false if the token is no longer that of `before`.
pub async fn apply_phone(db: &mut Connection, it: AppliedContactChange<'_>) -> Result<bool> {
    let audit = AuditArrays::from_rows(it.audit);
    let values = args![
        it.before.id,
        it.now,
        it.app_metadata,
        it.identity.id,
        it.identity.provider.as_str(),
        it.identity.provider_id.as_str(),
        Value::Object(it.identity.identity_data.clone()),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        it.after.phone.as_deref(),
        it.after.phone_confirmed_at,
        it.before.phone_change_token.as_str(),
    ];
    let (written,): (bool,) = db.fetch_one(&APPLY_PHONE, values).await?;
    Ok(written)
}

/// All statements of this file.
pub const ALL: &[&Statement] =
    &[&STORE_EMAIL_CHANGE, &STORE_EMAIL_CHANGE_HALF, &CONFIRM_HALF, &APPLY_EMAIL, &APPLY_PHONE];
