//! `auth.users`: look-ups of users.

use gotrue_rules::domain::user::User;
use uuid::Uuid;

use super::Result;
use super::rows::{AccountAndSession, AccountRow, account_columns, session_columns};
use super::statement::{Connection, Statement, args};

/// The instance of every row in a single-tenant database; rows of other instances are ignored.
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

/// Returns the user of that id, and the session of that id, which may belong to another user.
pub async fn find_with_session(
    db: &mut Connection,
    id: Uuid,
    session: Option<Uuid>,
) -> Result<Option<AccountAndSession>> {
    db.fetch_optional(&WITH_SESSION, args![id, session, INSTANCE]).await
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

/// Returns the user with that address (lower case) in that audience; SSO users are excluded.
pub async fn find_by_email(db: &mut Connection, email: &str, audience: &str) -> Result<Option<User>> {
    let row: Option<AccountRow> = db.fetch_optional(&BY_EMAIL, args![email, INSTANCE, audience]).await?;
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

/// Returns an arbitrary but constant user: a look-up of the same cost for a user that does not exist.
pub async fn find_any(db: &mut Connection) -> Result<Option<User>> {
    let row: Option<AccountRow> = db.fetch_optional(&ANY, args![]).await?;
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

/// Returns the user with that address (lower case) in that audience.
///
/// An identity of the default linking domain takes precedence over the user's own column. `apart` names the providers
/// with their own linking domain.
pub async fn find_by_identity_email(
    db: &mut Connection,
    email: &str,
    audience: &str,
    apart: &[String],
) -> Result<Option<User>> {
    let row: Option<AccountRow> =
        db.fetch_optional(&BY_IDENTITY_EMAIL, args![email, INSTANCE, audience, apart]).await?;
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

/// Returns the user with that number (digits) in that audience; SSO users are excluded.
pub async fn find_by_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<User>> {
    let row: Option<AccountRow> = db.fetch_optional(&BY_PHONE, args![phone, INSTANCE, audience]).await?;
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

/// Returns the user with a pending change to that number (digits) in that audience.
///
/// Like the reference it reads the user's column: the code outlives the user's rows of `one_time_tokens`.
pub async fn find_by_pending_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<User>> {
    let row: Option<AccountRow> = db.fetch_optional(&BY_PENDING_PHONE, args![phone, INSTANCE, audience]).await?;
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

/// Whether a user other than `except` has the address (lower case) in that audience.
///
/// Considers identities of the default linking domain and the user's own column. `apart` names the providers with their
/// own linking domain.
pub async fn is_email_taken(
    db: &mut Connection,
    email: &str,
    audience: &str,
    apart: &[String],
    except: Uuid,
) -> Result<bool> {
    let (taken,): (bool,) = db.fetch_one(&EMAIL_TAKEN, args![email, INSTANCE, audience, apart, except]).await?;
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

/// Whether a user other than `except` has the number (digits) in that audience.
pub async fn is_phone_taken(db: &mut Connection, phone: &str, audience: &str, except: Uuid) -> Result<bool> {
    let (taken,): (bool,) = db.fetch_one(&PHONE_TAKEN, args![phone, INSTANCE, audience, except]).await?;
    Ok(taken)
}

/// All statements of this table, for the test that prepares them.
pub const ALL: &[&Statement] =
    &[&WITH_SESSION, &BY_EMAIL, &ANY, &BY_IDENTITY_EMAIL, &BY_PHONE, &BY_PENDING_PHONE, &EMAIL_TAKEN, &PHONE_TAKEN];
