//! The secrets of `[db.vault]`, which a start writes to the vault of the embedded database, as the Supabase CLI does.

use anyhow::Context;
use sqlx::PgPool;

use crate::config_file::VaultSecret;

/// Creates the secrets that the vault does not have, and updates those whose value differs.
///
/// Secrets that are no longer in the file stay.
///
/// # Errors
/// The database cannot be used.
pub(super) async fn write_secrets(pool: &PgPool, secrets: &[VaultSecret<'_>]) -> anyhow::Result<()> {
    const WRITE: &str = "WITH changed AS MATERIALIZED (
            SELECT wanted.name, wanted.value, held.id
            FROM unnest($1::text[], $2::text[]) AS wanted (name, value)
            LEFT JOIN vault.decrypted_secrets AS held ON held.name = wanted.name
            WHERE held.decrypted_secret IS DISTINCT FROM wanted.value
        ),
        updated AS (
            SELECT changed.id, vault.update_secret(changed.id, changed.value) FROM changed WHERE changed.id IS NOT NULL
        ),
        created AS (
            SELECT vault.create_secret(changed.value, changed.name) AS id FROM changed WHERE changed.id IS NULL
        )
        SELECT id FROM updated UNION ALL SELECT id FROM created";
    let names: Vec<&str> = secrets.iter().map(|secret| secret.name).collect();
    let values: Vec<&str> = secrets.iter().map(|secret| secret.value).collect();
    sqlx::query(WRITE)
        .persistent(false)
        .bind(names)
        .bind(values)
        .execute(pool)
        .await
        .map(drop)
        .context("writing the secrets of [db.vault] to the vault of the embedded database")
}
