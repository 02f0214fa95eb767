//! `auth.custom_oauth_providers`: OAuth and OIDC providers created through the admin API.

use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol, StoredDiscovery};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::domain::user::Time;
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};

use super::Result;
use super::statement::{Connection, Statement, args};

/// The columns of a provider.
macro_rules! columns {
    () => {
        "id, provider_type, identifier, name, client_id, client_secret, acceptable_client_ids, scopes, pkce_enabled,
         attribute_mapping, custom_claims_allowlist, authorization_params, enabled, email_optional, issuer,
         discovery_url, skip_nonce_check, cached_discovery, authorization_url, token_url, userinfo_url, jwks_uri,
         created_at, updated_at"
    };
}

struct CustomProviderRow(CustomProvider);

impl FromRow<'_, PgRow> for CustomProviderRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self(CustomProvider {
            id: row.try_get("id")?,
            identifier: row.try_get("identifier")?,
            name: row.try_get("name")?,
            client_id: row.try_get("client_id")?,
            client_secret: Secret::new(row.try_get::<String, _>("client_secret")?),
            acceptable_client_ids: row.try_get("acceptable_client_ids")?,
            scopes: row.try_get("scopes")?,
            pkce_enabled: row.try_get("pkce_enabled")?,
            attribute_mapping: read_object(row, "attribute_mapping")?,
            custom_claims_allowlist: row.try_get("custom_claims_allowlist")?,
            authorization_params: read_object(row, "authorization_params")?,
            enabled: row.try_get("enabled")?,
            email_optional: row.try_get("email_optional")?,
            skip_nonce_check: row.try_get("skip_nonce_check")?,
            protocol: read_protocol(row)?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        }))
    }
}

/// Returns the members of a JSON object.
///
/// Empty for any other value, which external tools may have stored.
fn read_object(row: &PgRow, column: &str) -> sqlx::Result<Map<String, Value>> {
    let Json(value) = row.try_get::<Json<Value>, _>(column)?;
    Ok(match value {
        Value::Object(members) => members,
        _ => Map::new(),
    })
}

/// Reads the protocol's columns. Constraints of the schema guarantee the required ones.
fn read_protocol(row: &PgRow) -> sqlx::Result<Protocol> {
    if row.try_get::<&str, _>("provider_type")? == "oidc" {
        let discovered: Option<Json<StoredDiscovery>> = row.try_get("cached_discovery")?;
        return Ok(Protocol::Oidc {
            issuer: row.try_get("issuer")?,
            discovery_url: row.try_get("discovery_url")?,
            discovered: discovered.map(|Json(discovered)| Box::new(discovered)),
        });
    }
    Ok(Protocol::OAuth2 {
        authorization_url: row.try_get("authorization_url")?,
        token_url: row.try_get("token_url")?,
        userinfo_url: row.try_get("userinfo_url")?,
        jwks_uri: row.try_get("jwks_uri")?,
    })
}

const BY_IDENTIFIER: Statement = Statement {
    name: "custom_oauth_providers.by_identifier",
    sql: concat!("SELECT ", columns!(), " FROM custom_oauth_providers WHERE identifier = $1"),
};

/// Returns the provider with that identifier; case-sensitive.
pub async fn find_by_identifier(db: &mut Connection, identifier: &str) -> Result<Option<CustomProvider>> {
    let found: Option<CustomProviderRow> = db.fetch_optional(&BY_IDENTIFIER, args![identifier]).await?;
    Ok(found.map(|CustomProviderRow(provider)| provider))
}

const LIST: Statement = Statement {
    name: "custom_oauth_providers.list",
    sql: concat!(
        "SELECT ",
        columns!(),
        " FROM custom_oauth_providers
         WHERE ($1::text IS NULL OR provider_type = $1)
         ORDER BY created_at DESC, id"
    ),
};

/// Returns all providers, or those of a type (`oauth2`, `oidc`), newest first.
pub async fn list(db: &mut Connection, provider_type: Option<&str>) -> Result<Vec<CustomProvider>> {
    let found: Vec<CustomProviderRow> = db.fetch_all(&LIST, args![provider_type]).await?;
    Ok(found.into_iter().map(|CustomProviderRow(provider)| provider).collect())
}

const COUNT: Statement =
    Statement { name: "custom_oauth_providers.count", sql: "SELECT count(*) FROM custom_oauth_providers" };

/// Returns the number of providers.
pub async fn count(db: &mut Connection) -> Result<usize> {
    let (count,): (i64,) = db.fetch_one(&COUNT, args![]).await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// An advisory lock that serializes counting providers and inserting one.
///
/// There is no row to lock that represents all providers.
const LOCK: Statement = Statement {
    name: "custom_oauth_providers.lock",
    sql: "SELECT pg_advisory_xact_lock(hashtextextended('auth.custom_oauth_providers', 0))",
};

/// Waits until no other transaction is adding a provider. Held until the transaction ends.
pub async fn lock(db: &mut Connection) -> Result<()> {
    db.execute(&LOCK, args![]).await.map(drop)
}

const INSERT: Statement = Statement {
    name: "custom_oauth_providers.insert",
    sql: "INSERT INTO custom_oauth_providers (id, provider_type, identifier, name, client_id, client_secret,
              acceptable_client_ids, scopes, pkce_enabled, attribute_mapping, custom_claims_allowlist,
              authorization_params, enabled, email_optional, issuer, discovery_url, skip_nonce_check, cached_discovery,
              discovery_cached_at, authorization_url, token_url, userinfo_url, jwks_uri, created_at, updated_at)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                  $23, $24, $25)",
};

/// Inserts a provider.
pub async fn insert(db: &mut Connection, new: &CustomProvider) -> Result<()> {
    let (place, created) = (ProtocolColumns::from_protocol(&new.protocol), new.created_at);
    let cached_at = place.discovered.as_ref().map(|_| created);
    let values = args![
        new.id,
        new.protocol.as_str(),
        &new.identifier,
        &new.name,
        &new.client_id,
        new.client_secret.reveal(),
        &new.acceptable_client_ids,
        &new.scopes,
        new.pkce_enabled,
        Json(&new.attribute_mapping),
        &new.custom_claims_allowlist,
        Json(&new.authorization_params),
        new.enabled,
        new.email_optional,
        place.issuer,
        place.discovery_url,
        new.skip_nonce_check,
        place.discovered.map(Json),
        cached_at,
        place.authorization_url,
        place.token_url,
        place.userinfo_url,
        place.jwks_uri,
        created,
        new.updated_at,
    ];
    db.execute(&INSERT, values).await.map(drop)
}

const UPDATE: Statement = Statement {
    name: "custom_oauth_providers.update",
    sql: "UPDATE custom_oauth_providers
          SET name = $2,
              client_id = $3,
              client_secret = $4,
              acceptable_client_ids = $5,
              scopes = $6,
              pkce_enabled = $7,
              attribute_mapping = $8,
              custom_claims_allowlist = $9,
              authorization_params = $10,
              enabled = $11,
              email_optional = $12,
              issuer = $13,
              discovery_url = $14,
              skip_nonce_check = $15,
              cached_discovery = $16,
              discovery_cached_at = COALESCE($17, discovery_cached_at),
              authorization_url = $18,
              token_url = $19,
              userinfo_url = $20,
              jwks_uri = $21,
              updated_at = $22
          WHERE id = $1",
};

/// Updates a provider, and the time of its discovery document if it was fetched again.
///
/// False if the provider no longer exists.
pub async fn update(db: &mut Connection, changed: &CustomProvider, discovered_at: Option<Time>) -> Result<bool> {
    let place = ProtocolColumns::from_protocol(&changed.protocol);
    let values = args![
        changed.id,
        &changed.name,
        &changed.client_id,
        changed.client_secret.reveal(),
        &changed.acceptable_client_ids,
        &changed.scopes,
        changed.pkce_enabled,
        Json(&changed.attribute_mapping),
        &changed.custom_claims_allowlist,
        Json(&changed.authorization_params),
        changed.enabled,
        changed.email_optional,
        place.issuer,
        place.discovery_url,
        changed.skip_nonce_check,
        place.discovered.map(Json),
        discovered_at,
        place.authorization_url,
        place.token_url,
        place.userinfo_url,
        place.jwks_uri,
        changed.updated_at,
    ];
    Ok(db.execute(&UPDATE, values).await? > 0)
}

const DELETE: Statement = Statement {
    name: "custom_oauth_providers.delete",
    sql: concat!("DELETE FROM custom_oauth_providers WHERE identifier = $1 RETURNING ", columns!()),
};

/// Deletes a provider and returns it, if it existed.
pub async fn delete(db: &mut Connection, identifier: &str) -> Result<Option<CustomProvider>> {
    let gone: Option<CustomProviderRow> = db.fetch_optional(&DELETE, args![identifier]).await?;
    Ok(gone.map(|CustomProviderRow(provider)| provider))
}

/// A protocol as column values.
#[derive(Default)]
struct ProtocolColumns<'a> {
    issuer: Option<&'a str>,
    discovery_url: Option<&'a str>,
    discovered: Option<&'a StoredDiscovery>,
    authorization_url: Option<&'a str>,
    token_url: Option<&'a str>,
    userinfo_url: Option<&'a str>,
    jwks_uri: Option<&'a str>,
}

impl<'a> ProtocolColumns<'a> {
    fn from_protocol(protocol: &'a Protocol) -> Self {
        match protocol {
            Protocol::OAuth2 { authorization_url, token_url, userinfo_url, jwks_uri } => Self {
                authorization_url: Some(authorization_url),
                token_url: Some(token_url),
                userinfo_url: Some(userinfo_url),
                jwks_uri: jwks_uri.as_deref(),
                ..Self::default()
            },
            Protocol::Oidc { issuer, discovery_url, discovered } => Self {
                issuer: Some(issuer),
                discovery_url: discovery_url.as_deref(),
                discovered: discovered.as_deref(),
                ..Self::default()
            },
        }
    }
}

/// All statements of this file.
pub(super) const ALL: &[&Statement] = &[&BY_IDENTIFIER, &LIST, &COUNT, &LOCK, &INSERT, &UPDATE, &DELETE];
