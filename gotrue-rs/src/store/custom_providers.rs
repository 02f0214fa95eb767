//! `auth.custom_oauth_providers`: OAuth and OIDC providers created through the admin API.

use foundation::secret::Secret;
use foundation::time::Time;
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol, StoredDiscovery};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};

/// The columns of a provider.
macro_rules! columns {
    () => {
        "id, provider_type, identifier, name, client_id, client_secret, acceptable_client_ids, scopes, pkce_enabled,
         attribute_mapping, custom_claims_allowlist, authorization_params, enabled, email_optional, issuer,
         discovery_url, skip_nonce_check, cached_discovery, authorization_url, token_url, userinfo_url, jwks_uri,
         created_at, updated_at"
    };
}

statements! {
    #[repeatable]
    BY_IDENTIFIER = "custom_oauth_providers.by_identifier":
        concat!("SELECT ", columns!(), " FROM custom_oauth_providers WHERE identifier = :identifier");

    #[repeatable]
    LIST = "custom_oauth_providers.list": concat!(
        "SELECT ",
        columns!(),
        " FROM custom_oauth_providers
         WHERE (:provider_type::text IS NULL OR provider_type = :provider_type)
         ORDER BY created_at DESC, id"
    );

    #[repeatable]
    COUNT = "custom_oauth_providers.count": "SELECT count(*) FROM custom_oauth_providers";

    /// An advisory lock that serializes counting providers and inserting one.
    ///
    /// There is no row to lock that represents all providers.
    LOCK = "custom_oauth_providers.lock":
        "SELECT pg_advisory_xact_lock(hashtextextended('auth.custom_oauth_providers', 0))";

    INSERT = "custom_oauth_providers.insert":
        "INSERT INTO custom_oauth_providers (id, provider_type, identifier, name, client_id, client_secret,
             acceptable_client_ids, scopes, pkce_enabled, attribute_mapping, custom_claims_allowlist,
             authorization_params, enabled, email_optional, issuer, discovery_url, skip_nonce_check, cached_discovery,
             discovery_cached_at, authorization_url, token_url, userinfo_url, jwks_uri, created_at, updated_at)
         VALUES (:id, :provider_type, :identifier, :name, :client_id, :client_secret, :acceptable_client_ids, :scopes,
                 :pkce_enabled, :attribute_mapping, :custom_claims_allowlist, :authorization_params, :enabled,
                 :email_optional, :issuer, :discovery_url, :skip_nonce_check, :discovery, :discovery_cached_at,
                 :authorization_url, :token_url, :userinfo_url, :jwks_uri, :created_at, :updated_at)";

    UPDATE = "custom_oauth_providers.update":
        "UPDATE custom_oauth_providers
         SET name = :name,
             client_id = :client_id,
             client_secret = :client_secret,
             acceptable_client_ids = :acceptable_client_ids,
             scopes = :scopes,
             pkce_enabled = :pkce_enabled,
             attribute_mapping = :attribute_mapping,
             custom_claims_allowlist = :custom_claims_allowlist,
             authorization_params = :authorization_params,
             enabled = :enabled,
             email_optional = :email_optional,
             issuer = :issuer,
             discovery_url = :discovery_url,
             skip_nonce_check = :skip_nonce_check,
             cached_discovery = :discovery,
             discovery_cached_at = COALESCE(:discovery_cached_at, discovery_cached_at),
             authorization_url = :authorization_url,
             token_url = :token_url,
             userinfo_url = :userinfo_url,
             jwks_uri = :jwks_uri,
             updated_at = :updated_at
         WHERE id = :id";

    DELETE = "custom_oauth_providers.delete":
        concat!("DELETE FROM custom_oauth_providers WHERE identifier = :identifier RETURNING ", columns!());
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
            created_at: TimeColumn::read(row, "created_at")?,
            updated_at: TimeColumn::read(row, "updated_at")?,
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

/// Returns the provider with that identifier; case-sensitive.
pub async fn find_by_identifier(db: &mut Connection, identifier: &str) -> Result<Option<CustomProvider>> {
    let found: Option<CustomProviderRow> = db.fetch_optional(bind!(BY_IDENTIFIER, identifier)).await?;
    Ok(found.map(|CustomProviderRow(provider)| provider))
}

/// Returns all providers, or those of a type (`oauth2`, `oidc`), newest first.
pub async fn list(db: &mut Connection, provider_type: Option<&str>) -> Result<Vec<CustomProvider>> {
    let found: Vec<CustomProviderRow> = db.fetch_all(bind!(LIST, provider_type)).await?;
    Ok(found.into_iter().map(|CustomProviderRow(provider)| provider).collect())
}

/// Returns the number of providers.
pub async fn count(db: &mut Connection) -> Result<usize> {
    let (count,): (i64,) = db.fetch_one(bind!(COUNT)).await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Waits until no other transaction is adding a provider. Held until the transaction ends.
pub async fn lock(db: &mut Connection) -> Result<()> {
    db.execute(bind!(LOCK)).await.map(drop)
}

/// Inserts a provider.
pub async fn insert(db: &mut Connection, new: &CustomProvider) -> Result<()> {
    let (place, created) = (ProtocolColumns::from_protocol(&new.protocol), new.created_at);
    let cached_at = place.discovered.as_ref().map(|_| created);
    let bound = bind!(
        INSERT,
        id: new.id,
        provider_type: new.protocol.as_str(),
        identifier: &new.identifier,
        name: &new.name,
        client_id: &new.client_id,
        client_secret: new.client_secret.reveal(),
        acceptable_client_ids: &new.acceptable_client_ids,
        scopes: &new.scopes,
        pkce_enabled: new.pkce_enabled,
        attribute_mapping: Json(&new.attribute_mapping),
        custom_claims_allowlist: &new.custom_claims_allowlist,
        authorization_params: Json(&new.authorization_params),
        enabled: new.enabled,
        email_optional: new.email_optional,
        issuer: place.issuer,
        discovery_url: place.discovery_url,
        skip_nonce_check: new.skip_nonce_check,
        discovery: place.discovered.map(Json),
        discovery_cached_at: cached_at,
        authorization_url: place.authorization_url,
        token_url: place.token_url,
        userinfo_url: place.userinfo_url,
        jwks_uri: place.jwks_uri,
        created_at: created,
        updated_at: new.updated_at,
    );
    db.execute(bound).await.map(drop)
}

/// Updates a provider, and the time of its discovery document if it was fetched again.
///
/// False if the provider no longer exists.
pub async fn update(db: &mut Connection, changed: &CustomProvider, discovered_at: Option<Time>) -> Result<bool> {
    let place = ProtocolColumns::from_protocol(&changed.protocol);
    let bound = bind!(
        UPDATE,
        id: changed.id,
        name: &changed.name,
        client_id: &changed.client_id,
        client_secret: changed.client_secret.reveal(),
        acceptable_client_ids: &changed.acceptable_client_ids,
        scopes: &changed.scopes,
        pkce_enabled: changed.pkce_enabled,
        attribute_mapping: Json(&changed.attribute_mapping),
        custom_claims_allowlist: &changed.custom_claims_allowlist,
        authorization_params: Json(&changed.authorization_params),
        enabled: changed.enabled,
        email_optional: changed.email_optional,
        issuer: place.issuer,
        discovery_url: place.discovery_url,
        skip_nonce_check: changed.skip_nonce_check,
        discovery: place.discovered.map(Json),
        discovery_cached_at: discovered_at,
        authorization_url: place.authorization_url,
        token_url: place.token_url,
        userinfo_url: place.userinfo_url,
        jwks_uri: place.jwks_uri,
        updated_at: changed.updated_at,
    );
    Ok(db.execute(bound).await? > 0)
}

/// Deletes a provider and returns it, if it existed.
pub async fn delete(db: &mut Connection, identifier: &str) -> Result<Option<CustomProvider>> {
    let gone: Option<CustomProviderRow> = db.fetch_optional(bind!(DELETE, identifier)).await?;
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
