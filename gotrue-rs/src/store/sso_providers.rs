//! `auth.sso_providers` with `auth.saml_providers` and `auth.sso_domains`.
//!
//! A provider is read and written in one statement with all of its rows.

use gotrue_rules::domain::sso::creation::NameOwner;
use gotrue_rules::domain::sso::mapping::AttributeMapping;
pub use gotrue_rules::domain::sso::{SamlProvider, SsoProvider};
use gotrue_rules::domain::user::Time;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// The columns of a provider `p` with its SAML row `s`, under names that no other table uses.
macro_rules! sso_provider_columns {
    () => {
        "p.id AS sso_id, p.resource_id AS sso_resource_id, p.disabled AS sso_disabled,
         COALESCE(p.created_at, 'epoch') AS sso_created_at, COALESCE(p.updated_at, 'epoch') AS sso_updated_at,
         s.entity_id AS saml_entity_id, s.metadata_xml AS saml_metadata_xml, s.metadata_url AS saml_metadata_url,
         COALESCE(s.attribute_mapping, '{}') AS saml_attribute_mapping, s.name_id_format AS saml_name_id_format,
         COALESCE(s.updated_at, 'epoch') AS saml_updated_at,
         ARRAY(SELECT d.domain
               FROM sso_domains d
               WHERE d.sso_provider_id = p.id
               ORDER BY d.created_at, d.id) AS sso_domains"
    };
}
pub(super) use sso_provider_columns;

/// A provider as selected by [`sso_provider_columns!`].
#[derive(Debug)]
pub(super) struct ProviderRow(pub SsoProvider);

impl FromRow<'_, PgRow> for ProviderRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let saml = SamlProvider {
            entity_id: row.try_get("saml_entity_id")?,
            metadata_xml: row.try_get("saml_metadata_xml")?,
            metadata_url: row.try_get("saml_metadata_url")?,
            attribute_mapping: row.try_get::<Json<AttributeMapping>, _>("saml_attribute_mapping")?.0,
            name_id_format: row.try_get("saml_name_id_format")?,
            updated_at: row.try_get("saml_updated_at")?,
        };
        Ok(Self(SsoProvider {
            id: row.try_get("sso_id")?,
            resource_id: row.try_get("sso_resource_id")?,
            disabled: row.try_get("sso_disabled")?,
            domains: row.try_get("sso_domains")?,
            saml,
            created_at: row.try_get("sso_created_at")?,
            updated_at: row.try_get("sso_updated_at")?,
        }))
    }
}

macro_rules! select {
    ($name:literal, $rest:literal) => {
        Statement {
            name: $name,
            sql: concat!(
                "SELECT ",
                sso_provider_columns!(),
                "
                 FROM sso_providers p
                 JOIN saml_providers s ON s.sso_provider_id = p.id
                 ",
                $rest
            ),
        }
    };
}

const BY_ID: Statement = select!("sso_providers.by_id", "WHERE p.id = $1");

/// Returns the provider of that id.
pub async fn find_by_id(db: &mut Connection, id: Uuid) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(&BY_ID, args![id]).await?.map(|row| row.0))
}

const BY_RESOURCE_ID: Statement = select!("sso_providers.by_resource_id", "WHERE p.resource_id = $1");

/// Returns the provider of that resource id; case-sensitive.
pub async fn find_by_resource_id(db: &mut Connection, resource_id: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(&BY_RESOURCE_ID, args![resource_id]).await?.map(|row| row.0))
}

/// Uses the case-insensitive index, then compares case-sensitively.
const BY_DOMAIN: Statement = select!(
    "sso_providers.by_domain",
    "WHERE p.id = (SELECT h.sso_provider_id FROM sso_domains h WHERE lower(h.domain) = lower($1) AND h.domain = $1)"
);

/// Returns the provider of a domain; case-sensitive.
pub async fn find_by_domain(db: &mut Connection, domain: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(&BY_DOMAIN, args![domain]).await?.map(|row| row.0))
}

const BY_ENTITY_ID: Statement = select!("sso_providers.by_entity_id", "WHERE s.entity_id = $1");

/// Returns the provider with that SAML entity id.
pub async fn find_by_entity_id(db: &mut Connection, entity_id: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(&BY_ENTITY_ID, args![entity_id]).await?.map(|row| row.0))
}

const LIST: Statement = select!(
    "sso_providers.list",
    "WHERE ($1::text IS NULL OR p.resource_id = $1)
       AND ($2::text IS NULL OR p.resource_id LIKE $2)
     ORDER BY p.created_at, p.id"
);

/// The selection of listed providers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SsoProviderFilter<'a> {
    /// Only the provider of this resource id.
    pub resource_id: Option<&'a str>,
    /// Only providers whose resource id matches this `LIKE` pattern.
    pub pattern: Option<&'a str>,
}

/// Returns the selected providers, oldest first.
pub async fn list(db: &mut Connection, filter: SsoProviderFilter<'_>) -> Result<Vec<SsoProvider>> {
    let rows = db.fetch_all::<ProviderRow>(&LIST, args![filter.resource_id, filter.pattern]).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

#[derive(Debug)]
struct HolderRow(NameOwner);

impl FromRow<'_, PgRow> for HolderRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self(NameOwner {
            is_entity: row.try_get("is_entity")?,
            name: row.try_get("name")?,
            provider: row.try_get("sso_provider_id")?,
        }))
    }
}

const HOLDERS: Statement = Statement {
    name: "sso_providers.holders",
    sql: "SELECT true AS is_entity, s.entity_id AS name, s.sso_provider_id
          FROM saml_providers s
          WHERE s.entity_id = $1
          UNION ALL
          SELECT false, d.domain, d.sso_provider_id
          FROM unnest($2::text[]) AS asked (domain)
          JOIN sso_domains d ON lower(d.domain) = lower(asked.domain) AND d.domain = asked.domain",
};

/// Returns the providers that have the entity id (if given) or one of the domains; case-sensitive.
pub async fn find_holders(db: &mut Connection, entity_id: Option<&str>, domains: &[String]) -> Result<Vec<NameOwner>> {
    let rows = db.fetch_all::<HolderRow>(&HOLDERS, args![entity_id, domains]).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

const INSERT: Statement = Statement {
    name: "sso_providers.insert",
    sql: "WITH p AS (
              INSERT INTO sso_providers (id, resource_id, disabled, created_at, updated_at)
              VALUES ($1, $2, $3, $4, $4)
          ), s AS (
              INSERT INTO saml_providers (id, sso_provider_id, entity_id, metadata_xml, metadata_url,
                                          attribute_mapping, name_id_format, created_at, updated_at)
              VALUES ($5, $1, $6, $7, $8, $9, $10, $4, $4)
          )
          INSERT INTO sso_domains (id, sso_provider_id, domain, created_at, updated_at)
          SELECT d.id, $1, d.domain, $4 + (d.number - 1) * interval '1 microsecond', $4
          FROM unnest($11::uuid[], $12::text[]) WITH ORDINALITY AS d (id, domain, number)",
};

/// Inserts a provider; `id` generates the ids of its other rows.
pub async fn insert(db: &mut Connection, provider: &SsoProvider, id: impl Fn() -> Uuid) -> Result<()> {
    let domains: Vec<Uuid> = provider.domains.iter().map(|_| id()).collect();
    let values = args![
        provider.id,
        provider.resource_id.as_deref(),
        provider.disabled,
        provider.created_at,
        id(),
        &provider.saml.entity_id,
        &provider.saml.metadata_xml,
        provider.saml.metadata_url.as_deref(),
        Json(&provider.saml.attribute_mapping),
        provider.saml.name_id_format.as_deref(),
        domains,
        &provider.domains,
    ];
    db.execute(&INSERT, values).await?;
    Ok(())
}

/// Values that [`update`] writes.
#[derive(Debug)]
pub struct SsoProviderUpdate<'a> {
    /// The provider after the update, except its domains.
    pub provider: &'a SsoProvider,
    /// Whether the SAML row is written.
    pub should_write_saml: bool,
    /// Removed domains.
    pub removed_domains: &'a [String],
    /// Added domains with the ids of their rows.
    pub added_domains: &'a [(Uuid, String)],
}

/// Domains are deleted before others are inserted, so that the case of a domain can change.
const UPDATE: Statement = Statement {
    name: "sso_providers.update",
    sql: "WITH p AS (
              UPDATE sso_providers SET resource_id = $2, disabled = $3, updated_at = $4 WHERE id = $1 RETURNING id
          ), s AS (
              UPDATE saml_providers
              SET metadata_xml = $5, metadata_url = $6, attribute_mapping = $7, name_id_format = $8, updated_at = $4
              WHERE sso_provider_id = $1
                AND $9
          ), gone AS (
              DELETE FROM sso_domains WHERE sso_provider_id = $1 AND domain = ANY($10::text[]) RETURNING id
          ), new AS (
              INSERT INTO sso_domains (id, sso_provider_id, domain, created_at, updated_at)
              SELECT d.id, p.id, d.domain, $4 + (d.number - 1) * interval '1 microsecond', $4
              FROM p, unnest($11::uuid[], $12::text[]) WITH ORDINALITY AS d (id, domain, number)
              WHERE (SELECT count(*) FROM gone) >= 0
          )
          SELECT p.id FROM p",
};

/// Updates a provider; false if it no longer exists.
pub async fn update(db: &mut Connection, update: SsoProviderUpdate<'_>) -> Result<bool> {
    let SsoProviderUpdate { provider, should_write_saml: saml, removed_domains: gone, added_domains: new } = update;
    let (ids, domains): (Vec<Uuid>, Vec<&str>) = new.iter().map(|(id, domain)| (*id, domain.as_str())).unzip();
    let values = args![
        provider.id,
        provider.resource_id.as_deref(),
        provider.disabled,
        provider.updated_at,
        &provider.saml.metadata_xml,
        provider.saml.metadata_url.as_deref(),
        Json(&provider.saml.attribute_mapping),
        provider.saml.name_id_format.as_deref(),
        saml,
        gone,
        ids,
        domains,
    ];
    let there: Option<(Uuid,)> = db.fetch_optional(&UPDATE, values).await?;
    Ok(there.is_some())
}

const REFRESH: Statement = Statement {
    name: "sso_providers.refresh",
    sql: "UPDATE saml_providers
          SET metadata_xml = $3, updated_at = $4
          WHERE sso_provider_id = $1
            AND metadata_url = $2",
};

/// Stores metadata that was fetched again from `url`, unless the provider's URL has changed.
pub async fn update_metadata(db: &mut Connection, id: Uuid, url: &str, metadata_xml: &str, now: Time) -> Result<()> {
    db.execute(&REFRESH, args![id, url, metadata_xml, now]).await?;
    Ok(())
}

const DELETE: Statement = Statement { name: "sso_providers.delete", sql: "DELETE FROM sso_providers WHERE id = $1" };

/// Deletes a provider with its domains and pending sign-ins; its users and their identities stay.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(&DELETE, args![id]).await?;
    Ok(())
}

/// All statements of these tables.
pub const ALL: &[&Statement] =
    &[&BY_ID, &BY_RESOURCE_ID, &BY_DOMAIN, &BY_ENTITY_ID, &LIST, &HOLDERS, &INSERT, &UPDATE, &REFRESH, &DELETE];
