//! Statements that write a user together with its dependent rows.
//!
//! One statement writes the row of `auth.users`, its identities, its pending one-time tokens and the audit rows.

use gotrue_rules::domain::user::{Identity, Time, User};
use serde_json::{Map, Value};
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
pub use super::insertion::UserInsertion;
use super::merged_metadata::merged_metadata;
use super::rows::{AccountRow, account_columns, clear_tokens_on_password_change};
use super::statement::{Connection, Statement, args};

const INSERT: Statement = Statement {
    name: "accounts.insert",
    sql: concat!(
        "WITH u AS (
             INSERT INTO users (instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at,
                                phone_confirmed_at, confirmation_token, recovery_token, email_change_token_new,
                                email_change, email_change_token_current, email_change_confirm_status, phone_change,
                                phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data,
                                is_super_admin, is_sso_user, is_anonymous, created_at, updated_at)
             VALUES ('00000000-0000-0000-0000-000000000000', $1, $2, $3, $4, $5, $6, $7,
                     $8, '', '', '', '', '', 0, '', '', '', $9, $10, NULL, $11, $12, $13, $13)
             RETURNING id
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT $14, u.id, $15, $16, $17, $13, $13, $13 FROM u WHERE $14::uuid IS NOT NULL
         )
         ",
        audit_insert!(18, 19, 20, 21)
    ),
};

/// Inserts a user with its first identity, if it has one.
///
/// Of two concurrent inserts of one address or number, the later waits for the earlier and gets a conflict.
pub async fn insert(db: &mut Connection, account: &User, audit: Vec<AuditRow>) -> Result<UserInsertion> {
    let audit = AuditArrays::from_rows(audit);
    let identity = account.identities.first();
    let values = args![
        account.id,
        account.aud.as_str(),
        account.role.as_str(),
        account.email.as_deref(),
        account.phone.as_deref(),
        account.encrypted_password.as_deref().unwrap_or_default(),
        account.email_confirmed_at,
        account.phone_confirmed_at,
        Value::Object(account.app_metadata.clone()),
        Value::Object(account.user_metadata.clone()),
        account.is_sso_user,
        account.is_anonymous,
        account.created_at,
        identity.map(|it| it.id),
        identity.map(|it| it.provider.as_str()),
        identity.map(|it| it.provider_id.as_str()),
        identity.map(|it| Value::Object(it.identity_data.clone())),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    UserInsertion::from_insert(db.execute(&INSERT, values).await)
}

/// Values that a confirmation writes.
#[derive(Debug)]
pub struct UserConfirmation<'a> {
    /// The user.
    pub user_id: Uuid,
    /// The stored hash that was presented.
    ///
    /// It is cleared, so that of two concurrent confirmations one succeeds.
    pub token: &'a str,
    /// The time of the request.
    pub now: Time,
    /// `users.encrypted_password`, where the confirmation sets one.
    pub password: Option<&'a str>,
    /// The new `users.raw_app_meta_data`; `None` leaves it unchanged.
    pub app_metadata: Option<Value>,
    /// Whether the identities of the address are marked as verified, too.
    pub should_verify_identity: bool,
    /// Audit rows of the confirmation.
    pub audit: Vec<AuditRow>,
}

const CONFIRM_EMAIL: Statement = Statement {
    name: "accounts.confirm_email",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET confirmation_token = '',
                 email_confirmed_at = $3,
                 raw_user_meta_data = CASE WHEN jsonb_typeof(raw_user_meta_data) = 'object' THEN raw_user_meta_data ELSE '{}' END || '{\"email_verified\": true}',
                 encrypted_password = COALESCE($4, encrypted_password),
                 ",
        clear_tokens_on_password_change!(4),
        ",
                 raw_app_meta_data = COALESCE($10, raw_app_meta_data),
                 updated_at = $3
             WHERE id = $1
               AND confirmation_token = $2
             RETURNING *
         ), i AS (
             UPDATE identities
             SET identity_data = identity_data || '{\"email_verified\": true}'
             WHERE user_id = (SELECT id FROM u)
               AND email = (SELECT u.email FROM u)
               AND $9::boolean
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             ",
        audit_insert!(5, 6, 7, 8),
        " WHERE EXISTS (SELECT FROM u)
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    ),
};

/// Confirms the address if the hash is still pending, and returns the updated user.
pub async fn confirm_email(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    confirm(db, &CONFIRM_EMAIL, confirmation).await
}

const CONFIRM_PHONE: Statement = Statement {
    name: "accounts.confirm_phone",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET confirmation_token = '',
                 phone_confirmed_at = $3,
                 encrypted_password = COALESCE($4, encrypted_password),
                 raw_app_meta_data = COALESCE($10, raw_app_meta_data),
                 updated_at = $3
             WHERE id = $1
               AND confirmation_token = $2
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             ",
        audit_insert!(5, 6, 7, 8),
        " WHERE EXISTS (SELECT FROM u) AND $9::boolean IS NOT NULL
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    ),
};

/// Confirms the number if the hash is still pending, and returns the updated user.
pub async fn confirm_phone(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    confirm(db, &CONFIRM_PHONE, confirmation).await
}

async fn confirm(db: &mut Connection, statement: &Statement, it: UserConfirmation<'_>) -> Result<Option<User>> {
    let audit = AuditArrays::from_rows(it.audit);
    let values = args![
        it.user_id,
        it.token,
        it.now,
        it.password,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        it.should_verify_identity,
        it.app_metadata,
    ];
    let row: Option<AccountRow> = db.fetch_optional(statement, values).await?;
    Ok(row.map(|row| row.0))
}

macro_rules! recover {
    ($more:literal) => {
        concat!(
            "WITH u AS (
                 UPDATE users
                 SET recovery_token = '', ",
            $more,
            "
                     encrypted_password = COALESCE($4, encrypted_password),
                     raw_app_meta_data = COALESCE($10, raw_app_meta_data),
                     updated_at = $3
                 WHERE id = $1
                   AND recovery_token = $2
                 RETURNING *
             ), o AS (
                 DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
             ), a AS (
                 ",
            audit_insert!(5, 6, 7, 8),
            " WHERE EXISTS (SELECT FROM u) AND $9::boolean IS NOT NULL
             )
             SELECT ",
            account_columns!(),
            " FROM u"
        )
    };
}

const RECOVER: Statement = Statement { name: "accounts.recover", sql: recover!("") };
const RECOVER_AND_CONFIRM: Statement = Statement {
    name: "accounts.recover_and_confirm",
    sql: recover!(
        "confirmation_token = '',
         email_confirmed_at = $3,
         raw_user_meta_data = CASE WHEN jsonb_typeof(raw_user_meta_data) = 'object' THEN raw_user_meta_data ELSE '{}' END || '{\"email_verified\": true}',"
    ),
};

/// Consumes a recovery token if its hash is still pending, and returns the updated user.
pub async fn consume_recovery(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    confirm(db, &RECOVER, confirmation).await
}

/// Consumes a recovery token like [`consume_recovery`] and confirms the address.
pub async fn consume_recovery_and_confirm(
    db: &mut Connection,
    confirmation: UserConfirmation<'_>,
) -> Result<Option<User>> {
    confirm(db, &RECOVER_AND_CONFIRM, confirmation).await
}

/// The changes of `PUT /user` and similar requests. An absent part stays unchanged.
#[derive(Debug, Default)]
pub struct UserChanges<'a> {
    /// Merged into `raw_user_meta_data`: members replace those of the same name, null removes one.
    pub user_metadata: Option<&'a Map<String, Value>>,
    /// Merged into `raw_app_meta_data` in the same way.
    pub app_metadata: Option<&'a Map<String, Value>>,
    /// The new password hash; setting it also clears every pending token.
    pub password: Option<&'a str>,
    /// With a new password: the session that stays. All others are deleted (`None`: all).
    pub keep_session: Option<Uuid>,
}

const UPDATE: Statement = Statement {
    name: "accounts.update",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET raw_user_meta_data = COALESCE(",
        merged_metadata!("raw_user_meta_data", "3"),
        ", raw_user_meta_data),
                 raw_app_meta_data = COALESCE(",
        merged_metadata!("raw_app_meta_data", "4"),
        ", raw_app_meta_data),
                 encrypted_password = COALESCE($5::text, encrypted_password),
                 confirmation_token = CASE WHEN $5::text IS NULL THEN confirmation_token ELSE '' END,
                 ",
        clear_tokens_on_password_change!(5),
        ",
                 updated_at = $2
             WHERE id = $1
             RETURNING *
         ), s AS (
             DELETE FROM sessions
             WHERE user_id = $1
               AND $5::text IS NOT NULL
               AND ($6::uuid IS NULL OR id <> $6)
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = $1 AND $5::text IS NOT NULL
         ), a AS (",
        audit_insert!(7, 8, 9, 10),
        ")
         SELECT ",
        account_columns!(),
        " FROM u"
    ),
};

/// Updates a user; `None` if it no longer exists.
pub async fn update(
    db: &mut Connection,
    user_id: Uuid,
    now: Time,
    changes: UserChanges<'_>,
    audit: Vec<AuditRow>,
) -> Result<Option<User>> {
    let audit = AuditArrays::from_rows(audit);
    let values = args![
        user_id,
        now,
        changes.user_metadata.map(Json),
        changes.app_metadata.map(Json),
        changes.password,
        changes.keep_session,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let row: Option<AccountRow> = db.fetch_optional(&UPDATE, values).await?;
    Ok(row.map(|row| row.0))
}

const REPLACE_IDENTITY: Statement = Statement {
    name: "accounts.replace_identity",
    sql: "WITH u AS (
              UPDATE users SET raw_user_meta_data = $5, raw_app_meta_data = $7, updated_at = $6 WHERE id = $2
              RETURNING id
          ), gone AS (
              DELETE FROM identities WHERE user_id = (SELECT id FROM u) AND provider <> $3
          )
          INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                  updated_at)
          SELECT $1, u.id, $3, $4, $5, $6, $6, $6 FROM u
          ON CONFLICT (provider_id, provider) DO NOTHING",
};

/// Replaces the user's other identities by one of a new provider.
///
/// Its data becomes the user metadata; `app_metadata` names its provider. An identity of that provider that was added
/// concurrently stays.
pub async fn replace_identity(
    db: &mut Connection,
    identity: &Identity,
    app_metadata: &Map<String, Value>,
) -> Result<()> {
    let data = Value::Object(identity.identity_data.clone());
    let values = args![
        identity.id,
        identity.user_id,
        identity.provider.as_str(),
        identity.provider_id.as_str(),
        data,
        identity.created_at,
        Value::Object(app_metadata.clone()),
    ];
    db.execute(&REPLACE_IDENTITY, values).await?;
    Ok(())
}

/// All statements of this file.
pub const ALL: &[&Statement] =
    &[&INSERT, &CONFIRM_EMAIL, &CONFIRM_PHONE, &RECOVER, &RECOVER_AND_CONFIRM, &UPDATE, &REPLACE_IDENTITY];
