//! `auth.users`: look-ups of accounts.

use gotrue_rules::domain::user::Account;
use uuid::Uuid;

use super::Result;
use super::rows::{AccountAndSession, AccountRow, account_columns, session_columns};
use super::statement::{Connection, Statement, args};

/// The instance that every row of a single-tenant database belongs to; rows of another are invisible.
pub const INSTANCE: Uuid = Uuid::nil();

const WITH_SESSION: Statement = Statement {
    name: "users.with_session",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM users u
         LEFT JOIN sessions s ON s.id = $2
         WHERE u.id = $1
           AND u.instance_id = $3"
    ),
};

/// The account of that id, with the session of that id if it exists, whoever's it is.
pub async fn with_session(db: &mut Connection, id: Uuid, session: Option<Uuid>) -> Result<Option<AccountAndSession>> {
    db.optional(&WITH_SESSION, args![id, session, INSTANCE]).await
}

const BY_EMAIL: Statement = Statement {
    name: "users.by_email",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE lower(u.email) = $1
           AND u.instance_id = $2
           AND u.aud = $3
           AND u.is_sso_user = false"
    ),
};

/// The account with that address (lower case) in that audience that no single sign-on manages.
pub async fn by_email(db: &mut Connection, email: &str, audience: &str) -> Result<Option<Account>> {
    let row: Option<AccountRow> = db.optional(&BY_EMAIL, args![email, INSTANCE, audience]).await?;
    Ok(row.map(|row| row.0))
}

const ANY: Statement = Statement {
    name: "users.any",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        " FROM users u WHERE u.id >= '00000000-0000-0000-0000-000000000000' ORDER BY u.id LIMIT 1"
    ),
};

/// Any account, always the same one: a look-up that finds one, in the place of one that does not.
pub async fn any(db: &mut Connection) -> Result<Option<Account>> {
    let row: Option<AccountRow> = db.optional(&ANY, args![]).await?;
    Ok(row.map(|row| row.0))
}

const BY_IDENTITY_EMAIL: Statement = Statement {
    name: "users.by_identity_email",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM (SELECT i.user_id AS id, 1 AS rank
               FROM identities i
               WHERE i.email = $1
                 AND i.provider NOT LIKE 'sso:%'
                 AND i.provider <> ALL($4)
               UNION ALL
               SELECT a.id, 2
               FROM users a
               WHERE lower(a.email) = $1
                 AND a.instance_id = $2
                 AND a.is_sso_user = false) AS found
         JOIN users u ON u.id = found.id
         WHERE u.instance_id = $2
           AND u.aud = $3
         ORDER BY found.rank
         LIMIT 1"
    ),
};

/// The account that has the address (lower case) in that audience: by an identity of the default linking domain, else
/// by its own column. `apart` names the providers that have a linking domain of their own.
pub async fn by_identity_email(
    db: &mut Connection,
    email: &str,
    audience: &str,
    apart: &[String],
) -> Result<Option<Account>> {
    let row: Option<AccountRow> = db.optional(&BY_IDENTITY_EMAIL, args![email, INSTANCE, audience, apart]).await?;
    Ok(row.map(|row| row.0))
}

const BY_PHONE: Statement = Statement {
    name: "users.by_phone",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE u.phone = $1
           AND u.instance_id = $2
           AND u.aud = $3
           AND u.is_sso_user = false"
    ),
};

/// The account with that number (digits) in that audience that no single sign-on manages.
pub async fn by_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<Account>> {
    let row: Option<AccountRow> = db.optional(&BY_PHONE, args![phone, INSTANCE, audience]).await?;
    Ok(row.map(|row| row.0))
}

const BY_PENDING_PHONE: Statement = Statement {
    name: "users.by_pending_phone",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE u.phone_change = $1
           AND u.phone_change <> ''
           AND u.instance_id = $2
           AND u.aud = $3
           AND u.is_sso_user = false
         LIMIT 1"
    ),
};

/// The account that wants to change to that number (digits) in that audience. As recorded, its column counts: the code
/// outlives what deletes the account's rows of `one_time_tokens`.
pub async fn by_pending_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<Account>> {
    let row: Option<AccountRow> = db.optional(&BY_PENDING_PHONE, args![phone, INSTANCE, audience]).await?;
    Ok(row.map(|row| row.0))
}

const EMAIL_TAKEN: Statement = Statement {
    name: "users.email_taken",
    sql: "SELECT EXISTS (SELECT
                         FROM identities i
                         JOIN users u ON u.id = i.user_id
                         WHERE i.email = $1
                           AND i.user_id <> $5
                           AND i.provider NOT LIKE 'sso:%'
                           AND i.provider <> ALL($4)
                           AND u.instance_id = $2
                           AND u.aud = $3)
              OR EXISTS (SELECT
                         FROM users u
                         WHERE lower(u.email) = $1
                           AND u.id <> $5
                           AND u.instance_id = $2
                           AND u.aud = $3
                           AND u.is_sso_user = false)",
};

/// Whether another account than this one has the address (lower case) in that audience: by an identity of the default
/// linking domain or by its own column. `apart` names the providers that have a linking domain of their own.
pub async fn email_taken(
    db: &mut Connection,
    email: &str,
    audience: &str,
    apart: &[String],
    but: Uuid,
) -> Result<bool> {
    let (taken,): (bool,) = db.one(&EMAIL_TAKEN, args![email, INSTANCE, audience, apart, but]).await?;
    Ok(taken)
}

const PHONE_TAKEN: Statement = Statement {
    name: "users.phone_taken",
    sql: "SELECT EXISTS (SELECT
                         FROM users u
                         WHERE u.phone = $1
                           AND u.id <> $4
                           AND u.instance_id = $2
                           AND u.aud = $3
                           AND u.is_sso_user = false)",
};

/// Whether another account than this one has the number (digits) in that audience.
pub async fn phone_taken(db: &mut Connection, phone: &str, audience: &str, but: Uuid) -> Result<bool> {
    let (taken,): (bool,) = db.one(&PHONE_TAKEN, args![phone, INSTANCE, audience, but]).await?;
    Ok(taken)
}

/// Every statement of this table, for the test that prepares them.
pub const ALL: &[&Statement] =
    &[&WITH_SESSION, &BY_EMAIL, &ANY, &BY_IDENTITY_EMAIL, &BY_PHONE, &BY_PENDING_PHONE, &EMAIL_TAKEN, &PHONE_TAKEN];
