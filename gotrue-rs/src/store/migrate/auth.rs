//! Schema `auth`: created in an empty database, accepted at the reference's version, refused otherwise.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::super::quoting::quote_identifier;
use super::{ErrorContext, MigrateError, VersionDifference, is_undefined_table, lock_migrations, run_script};
use crate::store::acquire_connection;

/// The outcome of [`migrate_auth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthSchemaOutcome {
    /// The schema was created.
    Created,
    /// The schema existed at the expected version.
    Unchanged,
}

/// The files of the schema, in the order of execution.
pub(super) const FILES: [&str; 9] = [
    include_str!("../../../../sql/auth/00-versions.sql"),
    include_str!("../../../../sql/auth/01-types.sql"),
    include_str!("../../../../sql/auth/02-accounts.sql"),
    include_str!("../../../../sql/auth/03-oauth-server.sql"),
    include_str!("../../../../sql/auth/04-sessions.sql"),
    include_str!("../../../../sql/auth/05-factors.sql"),
    include_str!("../../../../sql/auth/06-providers.sql"),
    include_str!("../../../../sql/auth/07-functions.sql"),
    include_str!("../../../../sql/auth/08-rights.sql"),
];

/// The reference's migration versions that this schema corresponds to, one per line.
pub(super) const VERSIONS: &str = include_str!("../../../../sql/auth/versions.txt");

/// Creates or checks schema `namespace` (`DB_NAMESPACE`).
///
/// An empty database gets the whole schema in one transaction. A schema with exactly the expected versions is accepted
/// after one query. Any other is refused with the differing versions and left unchanged.
///
/// The connecting role may be the schema's owner (`supabase_auth_admin`) or a superuser, which then creates everything
/// as that owner.
pub async fn migrate_auth(pool: &PgPool, namespace: &str) -> Result<AuthSchemaOutcome, MigrateError> {
    if namespace.is_empty() || namespace.len() > 63 || namespace.contains('\0') {
        return Err(MigrateError::Namespace(namespace.to_owned()));
    }
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    match read_versions(&mut connection, namespace).await {
        Ok(versions) => check_versions(namespace, &versions),
        Err(error) if is_undefined_table(&error) => create(&mut connection, namespace).await,
        Err(cause) => Err(MigrateError::Database { doing: "reading the versions of schema auth", cause }),
    }
}

fn expected_versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.lines()
}

/// Compares recorded versions of schema `auth` with those that this server works with.
///
/// Returns the missing and the unknown ones.
pub fn compare_auth_versions(recorded: &[String]) -> (Vec<String>, Vec<String>) {
    let missing = expected_versions().filter(|version| recorded.iter().all(|known| known != version));
    let unknown = recorded.iter().filter(|version| expected_versions().all(|known| known != version.as_str()));
    (missing.map(str::to_owned).collect(), unknown.cloned().collect())
}

/// Returns the newest version of schema `auth` that this server works with.
pub fn newest_auth_version() -> &'static str {
    expected_versions().last().unwrap_or_default()
}

async fn read_versions(connection: &mut PgConnection, namespace: &str) -> Result<Vec<String>, sqlx::Error> {
    let sql = format!("SELECT version FROM {}.schema_migrations", quote_identifier(namespace));
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn check_versions(namespace: &str, recorded: &[String]) -> Result<AuthSchemaOutcome, MigrateError> {
    let ours: BTreeSet<&str> = expected_versions().collect();
    let theirs: BTreeSet<&str> = recorded.iter().map(String::as_str).collect();
    if ours == theirs {
        return Ok(AuthSchemaOutcome::Unchanged);
    }
    let named = |one: &BTreeSet<&str>, other| one.difference(other).map(ToString::to_string).collect();
    Err(MigrateError::Versions(Box::new(VersionDifference {
        namespace: namespace.to_owned(),
        missing: named(&ours, &theirs),
        unknown: named(&theirs, &ours),
    })))
}

async fn create(connection: &mut PgConnection, namespace: &str) -> Result<AuthSchemaOutcome, MigrateError> {
    let mut transaction = sqlx::Connection::begin(connection).await.during("beginning the transaction")?;
    lock_migrations(&mut transaction).await?;
    let place = SchemaState::read(&mut transaction, namespace).await.during("reading the state of schema auth")?;
    if place.has_versions {
        let versions =
            read_versions(&mut transaction, namespace).await.during("reading the versions of schema auth")?;
        return check_versions(namespace, &versions);
    }
    if place.has_tables {
        return check_versions(namespace, &[]);
    }
    if !place.has_reader {
        return Err(MigrateError::NoReader { namespace: namespace.to_owned() });
    }
    run_script(&mut transaction, place.build_prelude(namespace))
        .await
        .during("creating schema auth, which requires the CREATE privilege on this database")?;
    run_script(&mut transaction, FILES.join("\n")).await.during("creating the tables of schema auth")?;
    sqlx::query("INSERT INTO schema_migrations (version) SELECT unnest($1::text[])")
        .persistent(false)
        .bind(expected_versions().collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await
        .during("recording the versions of schema auth")?;
    transaction.commit().await.during("committing schema auth")?;
    Ok(AuthSchemaOutcome::Created)
}

/// The state of the database before the schema is created.
struct SchemaState {
    /// The role that owns the schema; `None` if there is no schema yet.
    owner: Option<String>,
    has_tables: bool,
    has_versions: bool,
    /// Whether the role `postgres` exists, which the tables grant SELECT to.
    has_reader: bool,
    is_superuser: bool,
    has_auth_admin: bool,
}

impl SchemaState {
    async fn read(connection: &mut PgConnection, namespace: &str) -> Result<Self, sqlx::Error> {
        const READ_STATE: &str = "
            WITH tables AS (
                SELECT c.relname
                FROM pg_class c
                JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f')
            )
            SELECT
                (SELECT pg_get_userbyid(nspowner)::text FROM pg_namespace WHERE nspname = $1) AS owner,
                EXISTS (SELECT FROM tables) AS has_tables,
                EXISTS (SELECT FROM tables WHERE relname = 'schema_migrations') AS has_versions,
                to_regrole('postgres') IS NOT NULL AS has_reader,
                to_regrole('supabase_auth_admin') IS NOT NULL AS has_auth_admin,
                (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser";
        let row = sqlx::query(READ_STATE).persistent(false).bind(namespace).fetch_one(connection).await?;
        Ok(Self {
            owner: row.try_get("owner")?,
            has_tables: row.try_get("has_tables")?,
            has_versions: row.try_get("has_versions")?,
            has_reader: row.try_get("has_reader")?,
            is_superuser: row.try_get("is_superuser")?,
            has_auth_admin: row.try_get("has_auth_admin")?,
        })
    }

    /// The statements before the files: the schema, the role that owns the objects, and the search path.
    ///
    /// A superuser creates all objects as the schema's owner, so that the owner can use them and the reference can take
    /// over.
    fn build_prelude(&self, namespace: &str) -> String {
        let schema = quote_identifier(namespace);
        let owner = self.owner.as_deref().or(self.has_auth_admin.then_some("supabase_auth_admin"));
        let owner = owner.filter(|_| self.is_superuser).map(quote_identifier);
        let create = match (&self.owner, &owner) {
            (Some(_), _) => String::new(),
            (None, Some(owner)) => format!("CREATE SCHEMA {schema} AUTHORIZATION {owner};"),
            (None, None) => format!("CREATE SCHEMA {schema};"),
        };
        let act = owner.map(|owner| format!("SET LOCAL ROLE {owner};")).unwrap_or_default();
        format!("SET LOCAL statement_timeout = 0; {create} {act} SET LOCAL search_path = {schema};")
    }
}
