//! `auth.users`: look-ups of users.

use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::rows::{
    Standing, UserAndSession, UserRow, UserToRead, account_columns, session_columns, shown_user_columns,
    user_list_columns,
};

statements! {
    #[repeatable]
    WITH_SESSION = "users.with_session": concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM users u
         LEFT JOIN sessions s ON s.id = :session_id
         WHERE u.id = :user_id
           AND u.instance_id = :instance_id"
    );

    #[repeatable]
    TO_READ = "users.to_read": concat!(
        "SELECT ",
        shown_user_columns!(),
        ", ",
        user_list_columns!(),
        ", s.id AS session_id, s.oauth_client_id AS session_oauth_client_id, s.scopes AS session_scopes
         FROM users u
         LEFT JOIN sessions s ON s.id = :session_id
         WHERE u.id = :user_id
           AND u.instance_id = :instance_id"
    );

    #[repeatable]
    STANDING = "users.standing":
        "SELECT u.banned_until, s.id IS NOT NULL AS has_session
         FROM users u
         LEFT JOIN sessions s ON s.id = :session_id
         WHERE u.id = :user_id
           AND u.instance_id = :instance_id";

    #[repeatable]
    BY_EMAIL = "users.by_email": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE lower(u.email) = :email
           AND u.instance_id = :instance_id
           AND u.aud = :audience
           AND u.is_sso_user = false"
    );

    #[repeatable]
    ANY = "users.any": concat!(
        "SELECT ",
        account_columns!(),
        " FROM users u WHERE u.id >= '00000000-0000-0000-0000-000000000000' ORDER BY u.id LIMIT 1"
    );

    /// Selects another user if there is none with the address: both take equally long.
    BY_EMAIL_OR_ANY = "users.by_email_or_any": concat!(
        "WITH wanted AS MATERIALIZED (
             SELECT (SELECT e.id
                     FROM users e
                     WHERE lower(e.email) = :email
                       AND e.instance_id = :instance_id
                       AND e.aud = :audience
                       AND e.is_sso_user = false
                     LIMIT 1) AS id
         )
         SELECT wanted.id IS NOT NULL AS is_found, ",
        account_columns!(),
        "
         FROM wanted
         JOIN users u ON u.id = COALESCE(wanted.id, (SELECT a.id
                                                     FROM users a
                                                     WHERE a.id >= '00000000-0000-0000-0000-000000000000'
                                                     ORDER BY a.id
                                                     LIMIT 1))"
    );

    /// The sub-query has no join: before the first `ANALYZE` of the tables PostgreSQL would compare all users with all
    /// users.
    #[repeatable]
    BY_IDENTITY_EMAIL = "users.by_identity_email": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE u.id = (SELECT found.id
                       FROM (SELECT i.user_id AS id, 1 AS rank
                             FROM identities i
                             WHERE i.email = :email
                               AND i.provider NOT LIKE 'sso:%'
                               AND i.provider <> ALL(:own_domain_providers)
                               AND (SELECT o.instance_id = :instance_id AND o.aud = :audience
                                    FROM users o
                                    WHERE o.id = i.user_id)
                             UNION ALL
                             SELECT a.id, 2
                             FROM users a
                             WHERE lower(a.email) = :email
                               AND a.instance_id = :instance_id
                               AND a.aud = :audience
                               AND a.is_sso_user = false) AS found
                       ORDER BY found.rank
                       LIMIT 1)"
    );

    /// Selects the user of [`BY_IDENTITY_EMAIL`], or another one if there is none: both take equally long.
    BY_IDENTITY_EMAIL_OR_ANY = "users.by_identity_email_or_any": concat!(
        "WITH wanted AS MATERIALIZED (
             SELECT (SELECT found.id
                     FROM (SELECT i.user_id AS id, 1 AS rank
                           FROM identities i
                           WHERE i.email = :email
                             AND i.provider NOT LIKE 'sso:%'
                             AND i.provider <> ALL(:own_domain_providers)
                             AND (SELECT o.instance_id = :instance_id AND o.aud = :audience
                                  FROM users o
                                  WHERE o.id = i.user_id)
                           UNION ALL
                           SELECT a.id, 2
                           FROM users a
                           WHERE lower(a.email) = :email
                             AND a.instance_id = :instance_id
                             AND a.aud = :audience
                             AND a.is_sso_user = false) AS found
                     ORDER BY found.rank
                     LIMIT 1) AS id
         )
         SELECT wanted.id IS NOT NULL AS is_found, ",
        account_columns!(),
        "
         FROM wanted
         JOIN users u ON u.id = COALESCE(wanted.id, (SELECT a.id
                                                     FROM users a
                                                     WHERE a.id >= '00000000-0000-0000-0000-000000000000'
                                                     ORDER BY a.id
                                                     LIMIT 1))"
    );

    #[repeatable]
    BY_PHONE = "users.by_phone": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE u.phone = :phone
           AND u.instance_id = :instance_id
           AND u.aud = :audience
           AND u.is_sso_user = false"
    );

    #[repeatable]
    BY_PENDING_PHONE = "users.by_pending_phone": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM users u
         WHERE u.phone_change = :phone
           AND u.phone_change <> ''
           AND u.instance_id = :instance_id
           AND u.aud = :audience
           AND u.is_sso_user = false
         LIMIT 1"
    );

    #[repeatable]
    EMAIL_TAKEN = "users.email_taken":
        "SELECT EXISTS (SELECT
                        FROM identities i
                        JOIN users u ON u.id = i.user_id
                        WHERE i.email = :email
                          AND i.user_id <> :except_user_id
                          AND i.provider NOT LIKE 'sso:%'
                          AND i.provider <> ALL(:own_domain_providers)
                          AND u.instance_id = :instance_id
                          AND u.aud = :audience)
             OR EXISTS (SELECT
                        FROM users u
                        WHERE lower(u.email) = :email
                          AND u.id <> :except_user_id
                          AND u.instance_id = :instance_id
                          AND u.aud = :audience
                          AND u.is_sso_user = false)";

    #[repeatable]
    PHONE_TAKEN = "users.phone_taken":
        "SELECT EXISTS (SELECT
                        FROM users u
                        WHERE u.phone = :phone
                          AND u.id <> :except_user_id
                          AND u.instance_id = :instance_id
                          AND u.aud = :audience
                          AND u.is_sso_user = false)";
}

/// The instance of every row in a single-tenant database; rows of other instances are ignored.
pub const INSTANCE: Uuid = Uuid::nil();

/// Returns the user of that id, and the session of that id, which may belong to another user.
pub async fn find_with_session(db: &mut Connection, id: Uuid, session: Option<Uuid>) -> Result<Option<UserAndSession>> {
    db.fetch_optional(bind!(WITH_SESSION, user_id: id, session_id: session, instance_id: INSTANCE)).await
}

/// Returns the user of that id as responses show it, and whether there is a session of that id.
///
/// It reads half as many columns as [`find_with_session`], and no secret.
pub async fn find_to_read(db: &mut Connection, id: Uuid, session: Option<Uuid>) -> Result<Option<UserToRead>> {
    db.fetch_optional(bind!(TO_READ, user_id: id, session_id: session, instance_id: INSTANCE)).await
}

/// Returns whether the user of that id is banned and whether the session exists; `None` without such a user.
pub async fn find_standing(db: &mut Connection, id: Uuid, session: Option<Uuid>) -> Result<Option<Standing>> {
    db.fetch_optional(bind!(STANDING, user_id: id, session_id: session, instance_id: INSTANCE)).await
}

/// Returns the user with that address (lower case) in that audience; SSO users are excluded.
pub async fn find_by_email(db: &mut Connection, email: &str, audience: &str) -> Result<Option<User>> {
    let row: Option<UserRow> = db.fetch_optional(bind!(BY_EMAIL, email, instance_id: INSTANCE, audience)).await?;
    Ok(row.map(|row| row.0))
}

/// Returns the same as [`find_by_email`], after an equal time for a missing user.
pub async fn find_by_email_in_equal_time(db: &mut Connection, email: &str, audience: &str) -> Result<Option<User>> {
    let bound = bind!(BY_EMAIL_OR_ANY, email, instance_id: INSTANCE, audience);
    let row: Option<FoundOrAnyRow> = db.fetch_optional(bound).await?;
    Ok(row.and_then(FoundOrAnyRow::into_found))
}

/// Returns an arbitrary but constant user: a look-up of the same cost for a user that does not exist.
pub async fn find_any(db: &mut Connection) -> Result<Option<User>> {
    let row: Option<UserRow> = db.fetch_optional(bind!(ANY)).await?;
    Ok(row.map(|row| row.0))
}

/// Returns the user with that address (lower case) in that audience.
///
/// An identity of the default linking domain takes precedence over the user's own column. `own_domain_providers` names
/// the providers with their own linking domain.
pub async fn find_by_identity_email(
    db: &mut Connection,
    email: &str,
    audience: &str,
    own_domain_providers: &[String],
) -> Result<Option<User>> {
    let bound = bind!(
        BY_IDENTITY_EMAIL,
        email,
        instance_id: INSTANCE,
        audience,
        own_domain_providers,
    );
    let row: Option<UserRow> = db.fetch_optional(bound).await?;
    Ok(row.map(|row| row.0))
}

/// Returns the same as [`find_by_identity_email`], after an equal time for a missing user.
pub async fn find_by_identity_email_in_equal_time(
    db: &mut Connection,
    email: &str,
    audience: &str,
    own_domain_providers: &[String],
) -> Result<Option<User>> {
    let bound = bind!(
        BY_IDENTITY_EMAIL_OR_ANY,
        email,
        instance_id: INSTANCE,
        audience,
        own_domain_providers,
    );
    let row: Option<FoundOrAnyRow> = db.fetch_optional(bound).await?;
    Ok(row.and_then(FoundOrAnyRow::into_found))
}

/// A user, and whether it is the requested one.
struct FoundOrAnyRow {
    is_found: bool,
    user: User,
}

impl FoundOrAnyRow {
    fn into_found(self) -> Option<User> {
        self.is_found.then_some(self.user)
    }
}

impl FromRow<'_, PgRow> for FoundOrAnyRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { is_found: row.try_get("is_found")?, user: UserRow::from_row(row)?.0 })
    }
}

/// Returns the user with that number (digits) in that audience; SSO users are excluded.
pub async fn find_by_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<User>> {
    let row: Option<UserRow> = db.fetch_optional(bind!(BY_PHONE, phone, instance_id: INSTANCE, audience)).await?;
    Ok(row.map(|row| row.0))
}

/// Returns the user with a pending change to that number (digits) in that audience.
///
/// Like the reference it reads the user's column: the code outlives the user's rows of `one_time_tokens`.
pub async fn find_by_pending_phone(db: &mut Connection, phone: &str, audience: &str) -> Result<Option<User>> {
    let bound = bind!(BY_PENDING_PHONE, phone, instance_id: INSTANCE, audience);
    let row: Option<UserRow> = db.fetch_optional(bound).await?;
    Ok(row.map(|row| row.0))
}

/// Whether a user other than `except` has the address (lower case) in that audience.
///
/// Considers identities of the default linking domain and the user's own column. `own_domain_providers` names the
/// providers with their own linking domain.
pub async fn is_email_taken(
    db: &mut Connection,
    email: &str,
    audience: &str,
    own_domain_providers: &[String],
    except: Uuid,
) -> Result<bool> {
    let bound = bind!(
        EMAIL_TAKEN,
        email,
        instance_id: INSTANCE,
        audience,
        own_domain_providers,
        except_user_id: except,
    );
    let (taken,): (bool,) = db.fetch_one(bound).await?;
    Ok(taken)
}

/// Whether a user other than `except` has the number (digits) in that audience.
pub async fn is_phone_taken(db: &mut Connection, phone: &str, audience: &str, except: Uuid) -> Result<bool> {
    let bound = bind!(PHONE_TAKEN, phone, instance_id: INSTANCE, audience, except_user_id: except);
    let (taken,): (bool,) = db.fetch_one(bound).await?;
    Ok(taken)
}
