//! `auth.oauth_clients`: clients of the OAuth server.
//!
//! A deleted client stays as a row that no look-up returns.

use foundation::time::Time;
use gotrue_rules::domain::oauth_server::registration::{ClientChanges, ClientRegistration};
use gotrue_rules::domain::oauth_server::{AuthMethod, ClientType, OAuthClient, RegistrationType};
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{BoundStatement, bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

/// The columns of a client from relation `c`, each prefixed with `client_`.
macro_rules! client_columns {
    () => {
        "c.id AS client_id, c.client_secret_hash, c.registration_type::text AS client_registration_type,
         c.client_type::text AS client_type, c.token_endpoint_auth_method AS client_auth_method,
         c.redirect_uris AS client_redirect_uris, c.grant_types AS client_grant_types, c.client_name, c.client_uri,
         c.logo_uri AS client_logo_uri, c.created_at AS client_created_at, c.updated_at AS client_updated_at"
    };
}
pub(super) use client_columns;

statements! {
    INSERT = "oauth_clients.insert": concat!(
        "WITH c AS (
             INSERT INTO oauth_clients (id, client_secret_hash, registration_type, client_type,
                                        token_endpoint_auth_method, redirect_uris, grant_types, client_name,
                                            client_uri,
                                        logo_uri, created_at, updated_at)
             VALUES (:client_id, :secret_hash, :registration_type::oauth_registration_type,
                     :client_type::oauth_client_type, :auth_method, :redirect_uris, :grant_types, NULLIF(:name, ''),
                     NULLIF(:uri, ''), NULLIF(:logo_uri, ''), :now, :now)
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    );

    #[repeatable]
    BY_ID = "oauth_clients.by_id":
        concat!("SELECT ", client_columns!(),
                " FROM oauth_clients c WHERE c.id = :client_id AND c.deleted_at IS NULL");

    #[repeatable]
    ALL_CLIENTS = "oauth_clients.all": concat!(
        "SELECT ",
        client_columns!(),
        " FROM oauth_clients c WHERE c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC"
    );

    UPDATE = "oauth_clients.update": concat!(
        "WITH c AS (
             UPDATE oauth_clients
             SET redirect_uris = COALESCE(:redirect_uris, redirect_uris),
                 grant_types = COALESCE(:grant_types, grant_types),
                 client_name = CASE WHEN :name::text IS NULL THEN client_name ELSE NULLIF(:name, '') END,
                 client_uri = CASE WHEN :uri::text IS NULL THEN client_uri ELSE NULLIF(:uri, '') END,
                 logo_uri = CASE WHEN :logo_uri::text IS NULL THEN logo_uri ELSE NULLIF(:logo_uri, '') END,
                 token_endpoint_auth_method = COALESCE(:auth_method, token_endpoint_auth_method),
                 updated_at = :now
             WHERE id = :client_id
               AND deleted_at IS NULL
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    );

    SET_SECRET = "oauth_clients.set_secret": concat!(
        "WITH c AS (
             UPDATE oauth_clients
             SET client_secret_hash = :secret_hash, updated_at = :now
             WHERE id = :client_id
               AND deleted_at IS NULL
             RETURNING *
         )
         SELECT ",
        client_columns!(),
        " FROM c"
    );

    #[proves(SessionsEnded)]
    DELETE = "oauth_clients.delete":
        "WITH c AS (
             UPDATE oauth_clients
             SET deleted_at = :now, updated_at = :now
             WHERE id = :client_id
               AND deleted_at IS NULL
         )
         DELETE FROM sessions WHERE oauth_client_id = :client_id AND :ends_sessions";
}

/// A client as selected by [`client_columns!`]; `None` where an outer join found none.
#[derive(Debug)]
pub(super) struct ClientRow(pub Option<OAuthClient>);

impl FromRow<'_, PgRow> for ClientRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let Some(id) = row.try_get::<Option<Uuid>, _>("client_id")? else { return Ok(Self(None)) };
        let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
        let list = |column| Ok::<_, sqlx::Error>(split_list(&text(column)?));
        let is_dynamic = text("client_registration_type")? == RegistrationType::Dynamic.as_str();
        let client_type = ClientType::parse(&text("client_type")?).unwrap_or(ClientType::Confidential);
        Ok(Self(Some(OAuthClient {
            id,
            secret_hash: text("client_secret_hash")?,
            registration_type: if is_dynamic { RegistrationType::Dynamic } else { RegistrationType::Manual },
            client_type,
            auth_method: AuthMethod::from_word(&text("client_auth_method")?).unwrap_or(AuthMethod::Basic),
            redirect_uris: list("client_redirect_uris")?,
            grant_types: list("client_grant_types")?,
            name: text("client_name")?,
            uri: text("client_uri")?,
            logo_uri: text("client_logo_uri")?,
            created_at: TimeColumn::read(row, "client_created_at")?,
            updated_at: TimeColumn::read(row, "client_updated_at")?,
        })))
    }
}

/// Splits a comma-separated list.
fn split_list(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
}

/// A client to insert.
#[derive(Debug)]
pub struct NewClient<'a> {
    pub id: Uuid,
    /// `client_secret_hash`; empty for a public client.
    pub secret_hash: &'a str,
    pub registration_type: RegistrationType,
    /// The validated metadata of the registration.
    pub accepted: &'a ClientRegistration,
    /// `created_at`.
    pub now: Time,
}

/// Inserts a client and returns it.
pub async fn insert(db: &mut Connection, new: NewClient<'_>) -> Result<Option<OAuthClient>> {
    let accepted = new.accepted;
    let bound = bind!(
        INSERT,
        client_id: new.id,
        secret_hash: new.secret_hash,
        registration_type: new.registration_type.as_str(),
        client_type: accepted.client_type.as_str(),
        auth_method: accepted.auth_method.as_str(),
        redirect_uris: accepted.redirect_uris.join(","),
        grant_types: accepted.grant_types.join(","),
        name: accepted.name.as_str(),
        uri: accepted.uri.as_str(),
        logo_uri: accepted.logo_uri.as_str(),
        now: new.now,
    );
    fetch_client(db, bound).await
}

/// Returns the client of that id.
pub async fn find_by_id(db: &mut Connection, id: Uuid) -> Result<Option<OAuthClient>> {
    fetch_client(db, bind!(BY_ID, client_id: id)).await
}

/// Returns all clients, newest first.
pub async fn list(db: &mut Connection) -> Result<Vec<OAuthClient>> {
    let rows: Vec<ClientRow> = db.fetch_all(bind!(ALL_CLIENTS)).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

/// Updates the named columns and leaves the others to concurrent updates.
///
/// `None` if the client no longer exists.
pub async fn update(db: &mut Connection, id: Uuid, changes: &ClientChanges, now: Time) -> Result<Option<OAuthClient>> {
    let bound = bind!(
        UPDATE,
        client_id: id,
        redirect_uris: changes.redirect_uris.as_ref().map(|uris| uris.join(",")),
        grant_types: changes.grant_types.as_ref().map(|types| types.join(",")),
        name: changes.name.as_deref(),
        uri: changes.uri.as_deref(),
        logo_uri: changes.logo_uri.as_deref(),
        auth_method: changes.auth_method.as_deref(),
        now,
    );
    fetch_client(db, bound).await
}

/// Replaces the client's secret; `None` if it no longer exists.
pub async fn set_secret(db: &mut Connection, id: Uuid, secret_hash: &str, now: Time) -> Result<Option<OAuthClient>> {
    fetch_client(db, bind!(SET_SECRET, client_id: id, secret_hash, now)).await
}

/// Marks a client as deleted; with `ends_sessions` its sessions are deleted.
pub async fn delete(db: &mut Connection, id: Uuid, now: Time, ends_sessions: bool) -> Result<()> {
    if ends_sessions {
        let sessions = EndedSessions { client_id: Some(id), ..EndedSessions::default() };
        db.note(FactCondition::Statement, || Fact::SessionsEnded(sessions));
    }
    db.execute(bind!(DELETE, client_id: id, now, ends_sessions)).await?;
    Ok(())
}

async fn fetch_client(db: &mut Connection, bound: BoundStatement) -> Result<Option<OAuthClient>> {
    let row: Option<ClientRow> = db.fetch_optional(bound).await?;
    Ok(row.and_then(|row| row.0))
}
