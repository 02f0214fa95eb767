//! `auth.oauth_clients`: applications that sign people in with us. A deleted one stays as a row, and is nowhere found.

use gotrue_rules::domain::oauth_server::registration::{Accepted, Changes};
use gotrue_rules::domain::oauth_server::{AuthMethod, Client, ClientType, Registered};
use gotrue_rules::domain::user::Time;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// The columns of a client out of the relation `c`, each named with `client_` in front.
macro_rules! client_columns {
    () => {
        "c.id AS client_id, c.client_secret_hash, c.registration_type::text AS client_registration_type,
         c.client_type::text AS client_type, c.token_endpoint_auth_method AS client_auth_method,
         c.redirect_uris AS client_redirect_uris, c.grant_types AS client_grant_types, c.client_name, c.client_uri,
         c.logo_uri AS client_logo_uri, c.created_at AS client_created_at, c.updated_at AS client_updated_at"
    };
}
pub(super) use client_columns;

/// A client as [`client_columns!`] reads it; `None` where an outer join found none.
#[derive(Debug)]
pub(super) struct ClientRow(pub Option<Client>);

impl FromRow<'_, PgRow> for ClientRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let Some(id) = row.try_get::<Option<Uuid>, _>("client_id")? else { return Ok(Self(None)) };
        let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
        let list = |column| Ok::<_, sqlx::Error>(split(&text(column)?));
        let is_dynamic = text("client_registration_type")? == Registered::Dynamic.as_str();
        let client_type = ClientType::from_word(&text("client_type")?).unwrap_or(ClientType::Confidential);
        Ok(Self(Some(Client {
            id,
            secret_hash: text("client_secret_hash")?,
            registered: if is_dynamic { Registered::Dynamic } else { Registered::Manual },
            client_type,
            auth_method: AuthMethod::from_word(&text("client_auth_method")?).unwrap_or(AuthMethod::Basic),
            redirect_uris: list("client_redirect_uris")?,
            grant_types: list("client_grant_types")?,
            name: text("client_name")?,
            uri: text("client_uri")?,
            logo_uri: text("client_logo_uri")?,
            created_at: row.try_get("client_created_at")?,
            updated_at: row.try_get("client_updated_at")?,
        })))
    }
}

/// Lists are kept with commas between their items.
fn split(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
}

/// A client to be stored.
#[derive(Debug)]
pub struct NewClient<'a> {
    /// `id`.
    pub id: Uuid,
    /// `client_secret_hash`; empty for a public client.
    pub secret_hash: &'a str,
    /// `registration_type`.
    pub registered: Registered,
    /// What was asked for.
    pub accepted: &'a Accepted,
    /// `created_at`.
    pub now: Time,
}

const INSERT: Statement = Statement {
    name: "oauth_clients.insert",
    sql: concat!(
        "WITH c AS (
             INSERT INTO oauth_clients (id, client_secret_hash, registration_type, client_type,
                                        token_endpoint_auth_method, redirect_uris, grant_types, client_name, client_uri,
                                        logo_uri, created_at, updated_at)
             VALUES ($1, $2, $3::oauth_registration_type, $4::oauth_client_type, $5, $6, $7, NULLIF($8, ''),
                     NULLIF($9, ''), NULLIF($10, ''), $11, $11)
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    ),
};

/// Stores a client and returns it.
pub async fn insert(db: &mut Connection, new: NewClient<'_>) -> Result<Option<Client>> {
    let accepted = new.accepted;
    let values = args![
        new.id,
        new.secret_hash,
        new.registered.as_str(),
        accepted.client_type.as_str(),
        accepted.auth_method.as_str(),
        accepted.redirect_uris.join(","),
        accepted.grant_types.join(","),
        accepted.name.as_str(),
        accepted.uri.as_str(),
        accepted.logo_uri.as_str(),
        new.now,
    ];
    one(db, &INSERT, values).await
}

const BY_ID: Statement = Statement {
    name: "oauth_clients.by_id",
    sql: concat!("SELECT ", client_columns!(), " FROM oauth_clients c WHERE c.id = $1 AND c.deleted_at IS NULL"),
};

/// The client of that id.
pub async fn by_id(db: &mut Connection, id: Uuid) -> Result<Option<Client>> {
    one(db, &BY_ID, args![id]).await
}

const ALL_CLIENTS: Statement = Statement {
    name: "oauth_clients.all",
    sql: concat!(
        "SELECT ",
        client_columns!(),
        " FROM oauth_clients c WHERE c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC"
    ),
};

/// All clients, newest first.
pub async fn all(db: &mut Connection) -> Result<Vec<Client>> {
    let rows: Vec<ClientRow> = db.all(&ALL_CLIENTS, args![]).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

const UPDATE: Statement = Statement {
    name: "oauth_clients.update",
    sql: concat!(
        "WITH c AS (
             UPDATE oauth_clients
             SET redirect_uris = COALESCE($2, redirect_uris),
                 grant_types = COALESCE($3, grant_types),
                 client_name = CASE WHEN $4::text IS NULL THEN client_name ELSE NULLIF($4, '') END,
                 client_uri = CASE WHEN $5::text IS NULL THEN client_uri ELSE NULLIF($5, '') END,
                 logo_uri = CASE WHEN $6::text IS NULL THEN logo_uri ELSE NULLIF($6, '') END,
                 token_endpoint_auth_method = COALESCE($7, token_endpoint_auth_method),
                 updated_at = $8
             WHERE id = $1
               AND deleted_at IS NULL
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    ),
};

/// Changes what is named and leaves the rest, also what somebody else changes at the same time; none if it is gone.
pub async fn update(db: &mut Connection, id: Uuid, changes: &Changes, now: Time) -> Result<Option<Client>> {
    let values = args![
        id,
        changes.redirect_uris.as_ref().map(|uris| uris.join(",")),
        changes.grant_types.as_ref().map(|types| types.join(",")),
        changes.name.as_deref(),
        changes.uri.as_deref(),
        changes.logo_uri.as_deref(),
        changes.auth_method.as_deref(),
        now,
    ];
    one(db, &UPDATE, values).await
}

const SET_SECRET: Statement = Statement {
    name: "oauth_clients.set_secret",
    sql: concat!(
        "WITH c AS (
             UPDATE oauth_clients
             SET client_secret_hash = $2, updated_at = $3
             WHERE id = $1
               AND deleted_at IS NULL
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    ),
};

/// Gives a client another secret; none if it is gone.
pub async fn set_secret(db: &mut Connection, id: Uuid, secret_hash: &str, now: Time) -> Result<Option<Client>> {
    one(db, &SET_SECRET, args![id, secret_hash, now]).await
}

const DELETE: Statement = Statement {
    name: "oauth_clients.delete",
    sql: "WITH c AS (
              UPDATE oauth_clients SET deleted_at = $2, updated_at = $2 WHERE id = $1 AND deleted_at IS NULL
          )
          DELETE FROM sessions WHERE oauth_client_id = $1 AND $3",
};

/// Marks a client as deleted; with `ends_sessions` its sessions go.
pub async fn delete(db: &mut Connection, id: Uuid, now: Time, ends_sessions: bool) -> Result<()> {
    db.execute(&DELETE, args![id, now, ends_sessions]).await?;
    Ok(())
}

async fn one(db: &mut Connection, statement: &Statement, values: super::statement::Values) -> Result<Option<Client>> {
    let row: Option<ClientRow> = db.optional(statement, values).await?;
    Ok(row.and_then(|row| row.0))
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &BY_ID, &ALL_CLIENTS, &UPDATE, &SET_SECRET, &DELETE];
