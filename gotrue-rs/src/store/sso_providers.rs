//! `auth.sso_providers` with `auth.saml_providers` and `auth.sso_domains`.
//!
//! A provider is read and written in one statement with all of its rows.

use foundation::time::Time;
use gotrue_rules::domain::sso::creation::NameOwner;
use gotrue_rules::domain::sso::mapping::AttributeMapping;
pub use gotrue_rules::domain::sso::{SamlProvider, SsoProvider};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

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

statements! {
    #[repeatable]
    BY_ID = "sso_providers.by_id": concat!(
        "SELECT ",
        sso_provider_columns!(),
        "
         FROM sso_providers p
         JOIN saml_providers s ON s.sso_provider_id = p.id
         WHERE p.id = :id"
    );

    #[repeatable]
    BY_RESOURCE_ID = "sso_providers.by_resource_id": concat!(
        "SELECT ",
        sso_provider_columns!(),
        "
         FROM sso_providers p
         JOIN saml_providers s ON s.sso_provider_id = p.id
         WHERE p.resource_id = :resource_id"
    );

    /// Uses the case-insensitive index, then compares case-sensitively.
    #[repeatable]
    BY_DOMAIN = "sso_providers.by_domain": concat!(
        "SELECT ",
        sso_provider_columns!(),
        "
         FROM sso_providers p
         JOIN saml_providers s ON s.sso_provider_id = p.id
         WHERE p.id = (SELECT h.sso_provider_id
                       FROM sso_domains h
                       WHERE lower(h.domain) = lower(:domain)
                         AND h.domain = :domain)"
    );

    #[repeatable]
    BY_ENTITY_ID = "sso_providers.by_entity_id": concat!(
        "SELECT ",
        sso_provider_columns!(),
        "
         FROM sso_providers p
         JOIN saml_providers s ON s.sso_provider_id = p.id
         WHERE s.entity_id = :entity_id"
    );

    #[repeatable]
    LIST = "sso_providers.list": concat!(
        "SELECT ",
        sso_provider_columns!(),
        "
         FROM sso_providers p
         JOIN saml_providers s ON s.sso_provider_id = p.id
         WHERE (:resource_id::text IS NULL OR p.resource_id = :resource_id)
           AND (:resource_id_pattern::text IS NULL OR p.resource_id LIKE :resource_id_pattern)
         ORDER BY p.created_at, p.id"
    );

    #[repeatable]
    HOLDERS = "sso_providers.find_holders":
        "SELECT true AS is_entity, s.entity_id AS name, s.sso_provider_id
         FROM saml_providers s
         WHERE s.entity_id = :entity_id
         UNION ALL
         SELECT false, d.domain, d.sso_provider_id
         FROM unnest(:domains::text[]) AS asked (domain)
         JOIN sso_domains d ON lower(d.domain) = lower(asked.domain) AND d.domain = asked.domain";

    INSERT = "sso_providers.insert":
        "WITH p AS (
             INSERT INTO sso_providers (id, resource_id, disabled, created_at, updated_at)
             VALUES (:id, :resource_id, :disabled, :now, :now)
         ), s AS (
             INSERT INTO saml_providers (id, sso_provider_id, entity_id, metadata_xml, metadata_url,
                                         attribute_mapping, name_id_format, created_at, updated_at)
             VALUES (:saml_id, :id, :entity_id, :metadata_xml, :metadata_url, :attribute_mapping, :name_id_format,
                     :now, :now)
         )
         INSERT INTO sso_domains (id, sso_provider_id, domain, created_at, updated_at)
         SELECT d.id, :id, d.domain, :now + (d.number - 1) * interval '1 microsecond', :now
         FROM unnest(:domain_ids::uuid[], :domains::text[]) WITH ORDINALITY AS d (id, domain, number)";

    /// Domains are deleted before others are inserted, so that the case of a domain can change.
    UPDATE = "sso_providers.update":
        "WITH p AS (
             UPDATE sso_providers
             SET resource_id = :resource_id, disabled = :disabled, updated_at = :now
             WHERE id = :id
             RETURNING id
         ), s AS (
             UPDATE saml_providers
             SET metadata_xml = :metadata_xml, metadata_url = :metadata_url, attribute_mapping = :attribute_mapping,
                 name_id_format = :name_id_format, updated_at = :now
             WHERE sso_provider_id = :id
               AND :changes_saml
         ), gone AS (
             DELETE FROM sso_domains WHERE sso_provider_id = :id AND domain = ANY(:removed_domains::text[]) RETURNING id
         ), new AS (
             INSERT INTO sso_domains (id, sso_provider_id, domain, created_at, updated_at)
             SELECT d.id, p.id, d.domain, :now + (d.number - 1) * interval '1 microsecond', :now
             FROM p, unnest(:new_domain_ids::uuid[], :new_domains::text[]) WITH ORDINALITY AS d (id, domain, number)
             WHERE (SELECT count(*) FROM gone) >= 0
         )
         SELECT p.id FROM p";

    REFRESH = "sso_providers.refresh":
        "UPDATE saml_providers
         SET metadata_xml = :metadata_xml, updated_at = :now
         WHERE sso_provider_id = :id
           AND metadata_url = :metadata_url";

    DELETE = "sso_providers.delete": "DELETE FROM sso_providers WHERE id = :id";
}

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
            updated_at: TimeColumn::read(row, "saml_updated_at")?,
        };
        Ok(Self(SsoProvider {
            id: row.try_get("sso_id")?,
            resource_id: row.try_get("sso_resource_id")?,
            disabled: row.try_get("sso_disabled")?,
            domains: row.try_get("sso_domains")?,
            saml,
            created_at: TimeColumn::read(row, "sso_created_at")?,
            updated_at: TimeColumn::read(row, "sso_updated_at")?,
        }))
    }
}

/// Returns the provider of that id.
pub async fn find_by_id(db: &mut Connection, id: Uuid) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(bind!(BY_ID, id)).await?.map(|row| row.0))
}

/// Returns the provider of that resource id; case-sensitive.
pub async fn find_by_resource_id(db: &mut Connection, resource_id: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(bind!(BY_RESOURCE_ID, resource_id)).await?.map(|row| row.0))
}

/// Returns the provider of a domain; case-sensitive.
pub async fn find_by_domain(db: &mut Connection, domain: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(bind!(BY_DOMAIN, domain)).await?.map(|row| row.0))
}

/// Returns the provider with that SAML entity id.
pub async fn find_by_entity_id(db: &mut Connection, entity_id: &str) -> Result<Option<SsoProvider>> {
    Ok(db.fetch_optional::<ProviderRow>(bind!(BY_ENTITY_ID, entity_id)).await?.map(|row| row.0))
}

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
    let bound = bind!(LIST, resource_id: filter.resource_id, resource_id_pattern: filter.pattern);
    let rows = db.fetch_all::<ProviderRow>(bound).await?;
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

/// Returns the providers that have the entity id (if given) or one of the domains; case-sensitive.
pub async fn find_holders(db: &mut Connection, entity_id: Option<&str>, domains: &[String]) -> Result<Vec<NameOwner>> {
    let rows = db.fetch_all::<HolderRow>(bind!(HOLDERS, entity_id, domains)).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// Inserts a provider; `id` generates the ids of its other rows.
pub async fn insert(db: &mut Connection, provider: &SsoProvider, id: impl Fn() -> Uuid) -> Result<()> {
    let domains: Vec<Uuid> = provider.domains.iter().map(|_| id()).collect();
    let bound = bind!(
        INSERT,
        id: provider.id,
        resource_id: provider.resource_id.as_deref(),
        disabled: provider.disabled,
        now: provider.created_at,
        saml_id: id(),
        entity_id: &provider.saml.entity_id,
        metadata_xml: &provider.saml.metadata_xml,
        metadata_url: provider.saml.metadata_url.as_deref(),
        attribute_mapping: Json(&provider.saml.attribute_mapping),
        name_id_format: provider.saml.name_id_format.as_deref(),
        domain_ids: domains,
        domains: &provider.domains,
    );
    db.execute(bound).await?;
    Ok(())
}

/// Values that [`update`] writes.
#[derive(Debug)]
pub struct SsoProviderUpdate<'a> {
    /// The provider after the update, except its domains.
    pub provider: &'a SsoProvider,
    /// Whether the SAML row is written.
    pub should_write_saml: bool,
    pub removed_domains: &'a [String],
    /// Added domains with the ids of their rows.
    pub added_domains: &'a [(Uuid, String)],
}

/// Updates a provider; false if it no longer exists.
pub async fn update(db: &mut Connection, update: SsoProviderUpdate<'_>) -> Result<bool> {
    let SsoProviderUpdate { provider, should_write_saml: saml, removed_domains: gone, added_domains: new } = update;
    let (ids, domains): (Vec<Uuid>, Vec<&str>) = new.iter().map(|(id, domain)| (*id, domain.as_str())).unzip();
    let bound = bind!(
        UPDATE,
        id: provider.id,
        resource_id: provider.resource_id.as_deref(),
        disabled: provider.disabled,
        now: provider.updated_at,
        metadata_xml: &provider.saml.metadata_xml,
        metadata_url: provider.saml.metadata_url.as_deref(),
        attribute_mapping: Json(&provider.saml.attribute_mapping),
        name_id_format: provider.saml.name_id_format.as_deref(),
        changes_saml: saml,
        removed_domains: gone,
        new_domain_ids: ids,
        new_domains: domains,
    );
    let there: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(there.is_some())
}

/// Stores metadata that was fetched again from `url`, unless the provider's URL has changed.
pub async fn update_metadata(db: &mut Connection, id: Uuid, url: &str, metadata_xml: &str, now: Time) -> Result<()> {
    db.execute(bind!(REFRESH, id, metadata_url: url, metadata_xml, now)).await?;
    Ok(())
}

/// Deletes a provider with its domains and pending sign-ins; its users and their identities stay.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(bind!(DELETE, id)).await?;
    Ok(())
}
