//! `auth.oauth_authorizations`: authorization requests, from the client's request to the code exchange.
//!
//! Nothing is locked: each write names the expected status in its condition, so that of two concurrent writes one
//! succeeds. The status is compared as text, so that the planner finds the row by its key instead of scanning the index
//! of pending requests.

use foundation::time::Time;
use gotrue_rules::domain::oauth_server::OAuthClient;
use gotrue_rules::domain::oauth_server::authorization::{Authorization, AuthorizationStatus};
use gotrue_rules::domain::pkce::{Challenge, ChallengeMethod};
use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::oauth_clients::{ClientRow, client_columns};
use super::rows::{UserRow, account_columns};

macro_rules! authorization_columns {
    () => {
        "a.id AS auth_id, a.client_id AS auth_client_id, a.user_id AS auth_user_id, a.redirect_uri AS auth_redirect_uri,
         a.scope AS auth_scope, a.state AS auth_state, a.resource AS auth_resource,
         a.code_challenge AS auth_challenge, a.code_challenge_method::text AS auth_challenge_method,
         a.nonce AS auth_nonce, a.status::text AS auth_status, a.expires_at AS auth_expires_at"
    };
}

statements! {
    INSERT = "oauth_authorizations.insert":
        "INSERT INTO oauth_authorizations (id, authorization_id, client_id, redirect_uri, scope, state, resource,
                                           code_challenge, code_challenge_method, nonce, response_type, status,
                                           created_at, expires_at)
         VALUES (:id, :authorization_id, :client_id, :redirect_uri, :scope, NULLIF(:state, ''), NULLIF(:resource, ''),
                 :challenge, :challenge_method::code_challenge_method, NULLIF(:nonce, ''),
                 'code', 'pending', :now, :expires_at)";

    #[repeatable]
    FIND_BY_AUTHORIZATION_ID = "oauth_authorizations.by_authorization_id": concat!(
        "SELECT ",
        authorization_columns!(),
        ", ",
        client_columns!(),
        ", k.scopes AS granted
         FROM oauth_authorizations a
         LEFT JOIN oauth_clients c ON c.id = a.client_id AND c.deleted_at IS NULL
         LEFT JOIN oauth_consents k ON k.client_id = a.client_id AND k.user_id = :user_id AND k.revoked_at IS NULL
         WHERE a.authorization_id = :authorization_id"
    );

    EXPIRE = "oauth_authorizations.expire":
        "UPDATE oauth_authorizations SET status = 'expired' WHERE id = :id AND status::text = 'pending'";

    BIND = "oauth_authorizations.bind":
        "UPDATE oauth_authorizations
         SET user_id = :user_id
         WHERE id = :id
           AND status::text = 'pending'
           AND user_id IS NULL";

    APPROVE_WITH_CONSENT = "oauth_authorizations.approve_with_consent":
        "UPDATE oauth_authorizations
         SET user_id = :user_id, status = 'approved', authorization_code = :code, approved_at = :now
         WHERE id = :id
           AND status::text = 'pending'
           AND user_id IS NULL
           AND EXISTS (SELECT
                       FROM oauth_consents k
                       WHERE k.user_id = :user_id
                         AND k.client_id = oauth_authorizations.client_id
                         AND k.revoked_at IS NULL
                         AND k.scopes = :granted_scopes)";

    APPROVE = "oauth_authorizations.approve":
        "WITH a AS (
             UPDATE oauth_authorizations
             SET status = 'approved', authorization_code = :code, approved_at = :now
             WHERE id = :id
               AND status::text = 'pending'
               AND user_id = :user_id
             RETURNING client_id
         )
         INSERT INTO oauth_consents (id, user_id, client_id, scopes, granted_at)
         SELECT :consent_id, :user_id, a.client_id, :scopes, :now FROM a
         ON CONFLICT (user_id, client_id)
         DO UPDATE SET scopes = EXCLUDED.scopes, granted_at = EXCLUDED.granted_at, revoked_at = NULL";

    DENY = "oauth_authorizations.deny":
        "UPDATE oauth_authorizations
         SET status = 'denied'
         WHERE id = :id
           AND status::text = 'pending'
           AND user_id = :user_id";

    #[repeatable]
    BY_CODE = "oauth_authorizations.by_code": concat!(
        "SELECT ",
        authorization_columns!(),
        ", ",
        account_columns!(),
        "
         FROM oauth_authorizations a
         LEFT JOIN users u ON u.id = a.user_id
         WHERE a.authorization_code = :code
           AND a.status = 'approved'"
    );

    CONSUME = "oauth_authorizations.consume":
        "WITH k AS (
             SELECT id
             FROM oauth_consents
             WHERE user_id = :user_id
               AND client_id = :client_id
               AND revoked_at IS NULL
             FOR SHARE
         )
         DELETE FROM oauth_authorizations
         WHERE id = :id
           AND user_id = :user_id
           AND client_id = :client_id
           AND status::text = 'approved'
           AND EXISTS (SELECT FROM k)";
}

fn read_authorization(row: &PgRow) -> sqlx::Result<Authorization> {
    let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
    let challenge = text("auth_challenge")?;
    let method = ChallengeMethod::parse(&text("auth_challenge_method")?).unwrap_or(ChallengeMethod::S256);
    Ok(Authorization {
        id: row.try_get("auth_id")?,
        client_id: row.try_get("auth_client_id")?,
        user_id: row.try_get("auth_user_id")?,
        redirect_uri: text("auth_redirect_uri")?,
        scope: text("auth_scope")?,
        state: text("auth_state")?,
        resource: text("auth_resource")?,
        challenge: (!challenge.is_empty()).then_some(Challenge { value: challenge, method }),
        nonce: text("auth_nonce")?,
        status: AuthorizationStatus::parse(&text("auth_status")?),
        expires_at: TimeColumn::read(row, "auth_expires_at")?,
    })
}

/// An authorization request to insert; texts are empty where absent.
#[derive(Debug)]
pub struct NewAuthorization<'a> {
    pub id: Uuid,
    /// `authorization_id`: the identifier in the consent page's URL.
    pub authorization_id: &'a str,
    pub client_id: Uuid,
    pub redirect_uri: &'a str,
    pub scope: &'a str,
    pub state: &'a str,
    pub resource: &'a str,
    /// `code_challenge` and its method.
    pub challenge: &'a Challenge,
    pub nonce: &'a str,
    /// `created_at`.
    pub now: Time,
    pub expires_at: Time,
}

/// Inserts an authorization request.
pub async fn insert(db: &mut Connection, new: NewAuthorization<'_>) -> Result<()> {
    let bound = bind!(
        INSERT,
        id: new.id,
        authorization_id: new.authorization_id,
        client_id: new.client_id,
        redirect_uri: new.redirect_uri,
        scope: new.scope,
        state: new.state,
        resource: new.resource,
        challenge: new.challenge.value.as_str(),
        challenge_method: new.challenge.method.as_str(),
        nonce: new.nonce,
        now: new.now,
        expires_at: new.expires_at,
    );
    db.execute(bound).await?;
    Ok(())
}

/// An authorization request with the data of the consent page.
#[derive(Debug)]
pub struct AuthorizationDetails {
    /// The request.
    pub authorization: Authorization,
    /// The requesting client; `None` if it is deleted.
    pub client: Option<OAuthClient>,
    /// The scopes that the user already granted to the client.
    pub granted_scopes: Option<String>,
}

impl FromRow<'_, PgRow> for AuthorizationDetails {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            authorization: read_authorization(row)?,
            client: ClientRow::from_row(row)?.0,
            granted_scopes: row.try_get("granted")?,
        })
    }
}

/// Returns the request with that `authorization_id`, and the scopes that the user has granted.
pub async fn find_by_authorization_id(
    db: &mut Connection,
    name: &str,
    user_id: Uuid,
) -> Result<Option<AuthorizationDetails>> {
    db.fetch_optional(bind!(FIND_BY_AUTHORIZATION_ID, authorization_id: name, user_id)).await
}

/// Marks a pending request as expired.
pub async fn expire(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(bind!(EXPIRE, id)).await?;
    Ok(())
}

/// Binds a pending request without a user to this user; false if it was bound or is not pending.
pub async fn bind_user(db: &mut Connection, id: Uuid, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(BIND, id, user_id)).await? == 1)
}

/// An authorization code to be issued.
#[derive(Debug)]
pub struct Approval<'a> {
    /// The request.
    pub id: Uuid,
    /// The consenting user.
    pub user_id: Uuid,
    /// `authorization_code`.
    pub code: &'a str,
    /// `approved_at`.
    pub now: Time,
}

/// Approves an unbound request of a user whose existing consent covers exactly these scopes.
///
/// False otherwise.
pub async fn approve_with_consent(db: &mut Connection, approval: Approval<'_>, granted: &str) -> Result<bool> {
    let bound = bind!(
        APPROVE_WITH_CONSENT,
        id: approval.id,
        user_id: approval.user_id,
        code: approval.code,
        now: approval.now,
        granted_scopes: granted,
    );
    Ok(db.execute(bound).await? == 1)
}

/// Approves a request and stores the consent, replacing an earlier one; false if it was not pending.
pub async fn approve(db: &mut Connection, approval: Approval<'_>, consent_id: Uuid, scopes: &str) -> Result<bool> {
    let bound = bind!(
        APPROVE,
        id: approval.id,
        user_id: approval.user_id,
        code: approval.code,
        now: approval.now,
        consent_id,
        scopes,
    );
    Ok(db.execute(bound).await? == 1)
}

/// Denies a request; false if it was not pending.
pub async fn deny(db: &mut Connection, id: Uuid, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(DENY, id, user_id)).await? == 1)
}

/// An approved request with its user; `account` is `None` if the user no longer exists.
#[derive(Debug)]
pub struct ApprovedAuthorization {
    /// The approved request.
    pub authorization: Authorization,
    /// The consenting user.
    pub user: Option<User>,
}

impl FromRow<'_, PgRow> for ApprovedAuthorization {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let has_user = row.try_get::<Option<Uuid>, _>("id")?.is_some();
        let user = if has_user { Some(UserRow::from_row(row)?.0) } else { None };
        Ok(Self { authorization: read_authorization(row)?, user })
    }
}

/// Returns the approved request of an authorization code.
pub async fn find_by_code(db: &mut Connection, code: &str) -> Result<Option<ApprovedAuthorization>> {
    db.fetch_optional(bind!(BY_CODE, code)).await
}

/// Consumes an approved request if its consent still stands; of two concurrent calls one returns true.
///
/// Within a transaction the consent cannot be revoked until its end.
pub async fn consume(db: &mut Connection, agreed: &Authorization, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(CONSUME, id: agreed.id, user_id, client_id: agreed.client_id)).await? == 1)
}
