//! `auth.oauth_authorizations`: requests for consent, from the client's question to the exchange of the code. Nothing is
//! locked: each write names the state that it relies on, and of two at once one finds it. It names it as text, so that the
//! database finds the row by its key, and not by walking the index of all that wait for an answer.

use gotrue_rules::domain::oauth_server::Client;
use gotrue_rules::domain::oauth_server::authorization::{Authorization, Status};
use gotrue_rules::domain::pkce::{Challenge, Method};
use gotrue_rules::domain::user::{Account, Time};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::oauth_clients::{ClientRow, client_columns};
use super::rows::{AccountRow, account_columns};
use super::statement::{Connection, Statement, args};

macro_rules! authorization_columns {
    () => {
        "a.id AS auth_id, a.client_id AS auth_client_id, a.user_id AS auth_user_id, a.redirect_uri AS auth_redirect_uri,
         a.scope AS auth_scope, a.state AS auth_state, a.resource AS auth_resource,
         a.code_challenge AS auth_challenge, a.code_challenge_method::text AS auth_challenge_method,
         a.nonce AS auth_nonce, a.status::text AS auth_status, a.expires_at AS auth_expires_at"
    };
}

fn authorization(row: &PgRow) -> sqlx::Result<Authorization> {
    let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
    let challenge = text("auth_challenge")?;
    let method = Method::from_word(&text("auth_challenge_method")?).unwrap_or(Method::S256);
    Ok(Authorization {
        id: row.try_get("auth_id")?,
        client_id: row.try_get("auth_client_id")?,
        user_id: row.try_get("auth_user_id")?,
        redirect_uri: text("auth_redirect_uri")?,
        scope: text("auth_scope")?,
        state: text("auth_state")?,
        resource: text("auth_resource")?,
        challenge: (!challenge.is_empty()).then_some(Challenge { text: challenge, method }),
        nonce: text("auth_nonce")?,
        status: Status::from_word(&text("auth_status")?),
        expires_at: row.try_get("auth_expires_at")?,
    })
}

/// A request to be stored; texts are empty where nothing is given.
#[derive(Debug)]
pub struct NewAuthorization<'a> {
    /// `id`.
    pub id: Uuid,
    /// `authorization_id`: how the page that asks names it.
    pub name: &'a str,
    /// `client_id`.
    pub client_id: Uuid,
    /// `redirect_uri`.
    pub redirect_uri: &'a str,
    /// `scope`.
    pub scope: &'a str,
    /// `state`.
    pub state: &'a str,
    /// `resource`.
    pub resource: &'a str,
    /// `code_challenge` and its method.
    pub challenge: &'a Challenge,
    /// `nonce`.
    pub nonce: &'a str,
    /// `created_at`.
    pub now: Time,
    /// `expires_at`.
    pub expires_at: Time,
}

const INSERT: Statement = Statement {
    name: "oauth_authorizations.insert",
    sql: "INSERT INTO oauth_authorizations (id, authorization_id, client_id, redirect_uri, scope, state, resource,
                                            code_challenge, code_challenge_method, nonce, response_type, status,
                                            created_at, expires_at)
          VALUES ($1, $2, $3, $4, $5, NULLIF($6, ''), NULLIF($7, ''), $8, $9::code_challenge_method, NULLIF($10, ''),
                  'code', 'pending', $11, $12)",
};

/// Stores a request.
pub async fn insert(db: &mut Connection, new: NewAuthorization<'_>) -> Result<()> {
    let values = args![
        new.id,
        new.name,
        new.client_id,
        new.redirect_uri,
        new.scope,
        new.state,
        new.resource,
        new.challenge.text.as_str(),
        new.challenge.method.as_str(),
        new.nonce,
        new.now,
        new.expires_at,
    ];
    db.execute(&INSERT, values).await?;
    Ok(())
}

/// A request with what somebody who looks at it is shown.
#[derive(Debug)]
pub struct Shown {
    /// The request.
    pub authorization: Authorization,
    /// Who asks; none if it is deleted.
    pub client: Option<Client>,
    /// The scopes that the one who looks grants the client already.
    pub granted: Option<String>,
}

impl FromRow<'_, PgRow> for Shown {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            authorization: authorization(row)?,
            client: ClientRow::from_row(row)?.0,
            granted: row.try_get("granted")?,
        })
    }
}

const BY_NAME: Statement = Statement {
    name: "oauth_authorizations.by_name",
    sql: concat!(
        "SELECT ",
        authorization_columns!(),
        ", ",
        client_columns!(),
        ", k.scopes AS granted
         FROM oauth_authorizations a
         LEFT JOIN oauth_clients c ON c.id = a.client_id AND c.deleted_at IS NULL
         LEFT JOIN oauth_consents k ON k.client_id = a.client_id AND k.user_id = $2 AND k.revoked_at IS NULL
         WHERE a.authorization_id = $1"
    ),
};

/// The request of that name, with what that account has granted.
pub async fn by_name(db: &mut Connection, name: &str, user_id: Uuid) -> Result<Option<Shown>> {
    db.optional(&BY_NAME, args![name, user_id]).await
}

const EXPIRE: Statement = Statement {
    name: "oauth_authorizations.expire",
    sql: "UPDATE oauth_authorizations SET status = 'expired' WHERE id = $1 AND status::text = 'pending'",
};

/// Marks a request that nobody has answered as expired.
pub async fn expire(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(&EXPIRE, args![id]).await?;
    Ok(())
}

const BIND: Statement = Statement {
    name: "oauth_authorizations.bind",
    sql: "UPDATE oauth_authorizations SET user_id = $2 WHERE id = $1 AND status::text = 'pending' AND user_id IS NULL",
};

/// Makes a request that nobody has looked at the account's; whether nobody had.
pub async fn bind(db: &mut Connection, id: Uuid, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(&BIND, args![id, user_id]).await? == 1)
}

/// A code to be given out.
#[derive(Debug)]
pub struct Approval<'a> {
    /// The request.
    pub id: Uuid,
    /// Who agrees.
    pub user_id: Uuid,
    /// `authorization_code`.
    pub code: &'a str,
    /// `approved_at`.
    pub now: Time,
}

const AGREE: Statement = Statement {
    name: "oauth_authorizations.agree",
    sql: "UPDATE oauth_authorizations
          SET user_id = $2, status = 'approved', authorization_code = $3, approved_at = $4
          WHERE id = $1
            AND status::text = 'pending'
            AND user_id IS NULL
            AND EXISTS (SELECT
                        FROM oauth_consents k
                        WHERE k.user_id = $2
                          AND k.client_id = oauth_authorizations.client_id
                          AND k.revoked_at IS NULL
                          AND k.scopes = $5)",
};

/// Agrees to a request that nobody has looked at for somebody who has granted these scopes before, and still does;
/// whether that holds.
pub async fn agree(db: &mut Connection, approval: Approval<'_>, granted: &str) -> Result<bool> {
    let values = args![approval.id, approval.user_id, approval.code, approval.now, granted];
    Ok(db.execute(&AGREE, values).await? == 1)
}

const APPROVE: Statement = Statement {
    name: "oauth_authorizations.approve",
    sql: "WITH a AS (
              UPDATE oauth_authorizations
              SET status = 'approved', authorization_code = $3, approved_at = $4
              WHERE id = $1
                AND status::text = 'pending'
                AND user_id = $2
              RETURNING client_id
          )
          INSERT INTO oauth_consents (id, user_id, client_id, scopes, granted_at)
          SELECT $5, $2, a.client_id, $6, $4 FROM a
          ON CONFLICT (user_id, client_id)
          DO UPDATE SET scopes = EXCLUDED.scopes, granted_at = EXCLUDED.granted_at, revoked_at = NULL",
};

/// Agrees to a request and remembers that, in the place of what was granted before; whether it was still to be answered.
pub async fn approve(db: &mut Connection, approval: Approval<'_>, consent: (Uuid, &str)) -> Result<bool> {
    let (consent_id, scopes) = consent;
    let values = args![approval.id, approval.user_id, approval.code, approval.now, consent_id, scopes];
    Ok(db.execute(&APPROVE, values).await? == 1)
}

const DENY: Statement = Statement {
    name: "oauth_authorizations.deny",
    sql: "UPDATE oauth_authorizations SET status = 'denied' WHERE id = $1 AND status::text = 'pending' AND user_id = $2",
};

/// Refuses a request; whether it was still to be answered.
pub async fn deny(db: &mut Connection, id: Uuid, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(&DENY, args![id, user_id]).await? == 1)
}

/// A code with whose it is; none if nobody's, or somebody's who is gone.
#[derive(Debug)]
pub struct Code {
    /// The request that was agreed to.
    pub authorization: Authorization,
    /// Who agreed.
    pub account: Option<Account>,
}

impl FromRow<'_, PgRow> for Code {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_somebodys = row.try_get::<Option<Uuid>, _>("id")?.is_some();
        let account = if is_somebodys { Some(AccountRow::from_row(row)?.0) } else { None };
        Ok(Self { authorization: authorization(row)?, account })
    }
}

const BY_CODE: Statement = Statement {
    name: "oauth_authorizations.by_code",
    sql: concat!(
        "SELECT ",
        authorization_columns!(),
        ", ",
        account_columns!(),
        "
         FROM oauth_authorizations a
         LEFT JOIN users u ON u.id = a.user_id
         WHERE a.authorization_code = $1
           AND a.status = 'approved'"
    ),
};

/// What a code stands for.
pub async fn by_code(db: &mut Connection, code: &str) -> Result<Option<Code>> {
    db.optional(&BY_CODE, args![code]).await
}

const USE_UP: Statement = Statement {
    name: "oauth_authorizations.use_up",
    sql: "WITH k AS (
              SELECT id
              FROM oauth_consents
              WHERE user_id = $2
                AND client_id = $3
                AND revoked_at IS NULL
              FOR SHARE
          )
          DELETE FROM oauth_authorizations
          WHERE id = $1
            AND user_id = $2
            AND client_id = $3
            AND status::text = 'approved'
            AND EXISTS (SELECT FROM k)",
};

/// Uses up what this account agreed to with its client, if that consent still stands; of two at once one is told that it
/// was there. In a transaction nobody takes the consent back until that has ended.
pub async fn use_up(db: &mut Connection, agreed: &Authorization, user_id: Uuid) -> Result<bool> {
    Ok(db.execute(&USE_UP, args![agreed.id, user_id, agreed.client_id]).await? == 1)
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &BY_NAME, &EXPIRE, &BIND, &AGREE, &APPROVE, &DENY, &BY_CODE, &USE_UP];
