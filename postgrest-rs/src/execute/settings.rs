//! Settings that the database holds: those of this server, and those of roles.

use std::collections::BTreeMap;

use serde::Deserialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::config::DATABASE_SETTINGS;
use crate::request::QualifiedName;
use crate::schema_cache::load::LoadError;
use crate::sql::identifier_list;
use crate::sql::settings::RoleSettings;

/// Settings of the login role: those of this database before those of all databases. $1 are the names.
const OF_ROLE: &str = "SELECT DISTINCT ON (name) name, value FROM (
  SELECT split_part(s, '=', 1) AS name, substr(s, strpos(s, '=') + 1) AS value, d.setdatabase AS database
  FROM pg_db_role_setting d CROSS JOIN unnest(d.setconfig) s
  WHERE d.setrole = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
) q WHERE name = ANY ($1::text[]) ORDER BY name, database DESC";

/// Settings of the roles that the login role is a member of, as far as it may set them.
const OF_ROLES: &str = "SELECT COALESCE(json_agg(q), '[]')::text FROM (
  SELECT r.rolname AS role, split_part(s, '=', 1) AS name, substr(s, strpos(s, '=') + 1) AS value
  FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid CROSS JOIN unnest(r.rolconfig) s
  JOIN pg_settings p ON p.name = split_part(s, '=', 1)
  WHERE m.member = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    AND (p.context = 'user' OR (
      current_setting('server_version_num')::int >= 150000 AND has_parameter_privilege(current_user, p.name, 'set')))
) q";

#[derive(Deserialize)]
struct RoleSetting {
    role: String,
    name: String,
    value: String,
}

/// The settings `pgrst.*` by their names without the prefix. The function may set more of them.
///
/// # Errors
/// The database refused a query.
pub async fn read_settings(
    client: &Client,
    function: Option<&QualifiedName>,
) -> Result<BTreeMap<String, String>, LoadError> {
    let names: Vec<String> = DATABASE_SETTINGS.iter().map(|name| format!("pgrst.{name}")).collect();
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    if let Some(function) = function {
        let parts = [&function.schema, &function.name];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let name: Vec<String> = parts.map(|part| identifier_list(std::iter::once(part.as_str()))).collect();
        client.batch_execute(&format!("BEGIN READ ONLY; SELECT {}()", name.join("."))).await?;
        let query = "SELECT n, current_setting(n, true) FROM unnest($1::text[]) n";
        let rows = client.query_typed(query, &[(&names, Type::TEXT_ARRAY)]).await;
        client.batch_execute("ROLLBACK").await?;
        for row in rows? {
            if let Some(value) = row.try_get::<_, Option<String>>(1)? {
                settings.insert(row.try_get(0)?, value);
            }
        }
    }
    for row in client.query_typed(OF_ROLE, &[(&names, Type::TEXT_ARRAY)]).await? {
        settings.insert(row.try_get(0)?, row.try_get(1)?);
    }
    Ok(settings.into_iter().map(|(name, value)| (name.trim_start_matches("pgrst.").to_owned(), value)).collect())
}

/// The settings of roles.
///
/// # Errors
/// The database refused the query.
pub async fn read_role_settings(client: &Client) -> Result<RoleSettings, LoadError> {
    let rows = client.query_typed(OF_ROLES, &[]).await?;
    let text = rows.first().map_or(Ok("[]"), |row| row.try_get(0))?;
    let settings: Vec<RoleSetting> = serde_json::from_str(text)?;
    let mut roles = RoleSettings::default();
    for RoleSetting { role, name, value } in settings {
        if name == "default_transaction_isolation" {
            roles.isolation.insert(role, value);
        } else {
            roles.values.entry(role).or_default().push((name, value));
        }
    }
    Ok(roles)
}
