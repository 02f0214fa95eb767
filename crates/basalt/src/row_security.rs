//! Tables that the roles of the data API may use and that row level security does not protect.

use anyhow::Context;
use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use platform::store::acquire_connection;

use crate::database;
use crate::plural::format_count;
use crate::project::Project;

/// The largest number of named tables.
const MAX_NAMED: usize = 5;

/// The tables of schemas that clients without an account, or any user, may read or change.
///
/// The data API does not serve partitions by their own names. Tables of extensions are not of the project.
const UNPROTECTED: &str = "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity AND NOT c.relispartition
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
      AND EXISTS (SELECT FROM pg_catalog.pg_roles AS r
        WHERE r.rolname IN ('anon', 'authenticated')
          AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
          AND (pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE')
            OR pg_catalog.has_table_privilege(r.oid, c.oid, 'DELETE, TRUNCATE')))
    ORDER BY n.nspname, c.relname";

/// Describes the tables of the exposed schemas that are without row level security, if there are any.
///
/// It is a notice: a database that cannot be asked is logged.
pub(crate) async fn describe_unprotected_tables(
    project: &Project,
    url: &str,
    settings: &DatabaseSettings,
) -> Option<String> {
    let api = &project.file.basalt.data_api;
    if !api.is_enabled {
        return None;
    }
    let settings = DatabaseSettings { url: Secret::from(url), ..settings.clone() };
    match list_unprotected_tables(&settings, &api.schemas).await {
        Ok(tables) => describe(&tables),
        Err(error) => {
            tracing::warn!(error = %ErrorChain(error.as_ref()), "tables without row level security were not looked for");
            None
        }
    }
}

async fn list_unprotected_tables(settings: &DatabaseSettings, schemas: &[String]) -> anyhow::Result<Vec<String>> {
    let pool = database::build_migration_pool(settings).await?;
    let mut connection = acquire_connection(&pool).await.context("connecting to the database")?;
    let query = sqlx::query_scalar(UNPROTECTED).persistent(false).bind(schemas);
    let tables = query.fetch_all(&mut *connection).await.context("reading the catalogue")?;
    drop(connection.close().await);
    Ok(tables)
}

fn describe(tables: &[String]) -> Option<String> {
    let named = tables.get(..MAX_NAMED).unwrap_or(tables).join(", ");
    let others = match tables.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {}", format_count(more, "more table")),
    };
    (!tables.is_empty()).then(|| {
        format!(
            "without row level security, anon or authenticated may use all rows: {named}{others}. To decide by policies: \
             `alter table NAME enable row level security;`"
        )
    })
}
