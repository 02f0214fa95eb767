//! Schema `auth`: created in an empty database, served if it has the shape that statements need, refused otherwise.

use platform::store::acquire_connection;
use platform::store::migrate::{ErrorContext, lock_migrations, run_script};
use platform::store::quoting::{quote_identifier, quote_literal};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, PgPool, Row};

use super::error::{AuthMigrateError, SchemaDifference};
use super::shape::{READ_SCHEMA, SchemaRow, SchemaShape, join_shortened};

/// The outcome of [`migrate_auth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthSchemaOutcome {
    /// The schema was created.
    Created,
    /// The schema existed with the expected versions.
    Unchanged,
    /// The schema existed with versions of a newer Supabase Auth, and has what this server needs.
    Newer,
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
/// An empty database gets the whole schema in one transaction. A schema that has the columns, words of enums and unique
/// keys that statements need is served, whatever else it has and whatever versions it names. Any other is refused with
/// what it lacks, and left unchanged.
///
/// The connecting role may be the schema's owner (`supabase_auth_admin`) or a superuser, which then creates everything
/// as that owner.
pub async fn migrate_auth(pool: &PgPool, namespace: &str) -> Result<AuthSchemaOutcome, AuthMigrateError> {
    if namespace.is_empty() || namespace.len() > 63 || namespace.contains('\0') {
        return Err(AuthMigrateError::Namespace(namespace.to_owned()));
    }
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    let shape = read_shape(&mut connection, namespace).await?;
    if shape.has_tables() {
        return accept(&mut connection, namespace, &shape).await;
    }
    create(&mut connection, namespace).await
}

fn expected_versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.lines()
}

/// Compares recorded versions of schema `auth` with those that this server was made for.
///
/// Returns the missing and the unknown ones.
pub fn compare_auth_versions(recorded: &[String]) -> (Vec<String>, Vec<String>) {
    let missing = expected_versions().filter(|version| recorded.iter().all(|known| known != version));
    let unknown = recorded.iter().filter(|version| expected_versions().all(|known| known != version.as_str()));
    (missing.map(str::to_owned).collect(), unknown.cloned().collect())
}

/// Reads the columns, words of enums and unique keys of a schema.
pub async fn read_shape(connection: &mut PgConnection, namespace: &str) -> Result<SchemaShape, AuthMigrateError> {
    let sql = READ_SCHEMA.replace(":namespace", &quote_literal(namespace));
    // One message: of several, a pooler in transaction mode gives each to another session.
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await;
    let rows = rows.and_then(|rows| rows.iter().map(SchemaRow::from_row).collect::<Result<Vec<_>, _>>());
    let rows = rows.during("reading the columns of schema auth")?;
    Ok(SchemaShape::from_rows(rows))
}

async fn read_versions(connection: &mut PgConnection, namespace: &str) -> Result<Vec<String>, sqlx::Error> {
    let sql = format!("SELECT version FROM {}.schema_migrations ORDER BY version", quote_identifier(namespace));
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Accepts a schema that has what statements need; its versions are only reported.
async fn accept(
    connection: &mut PgConnection,
    namespace: &str,
    shape: &SchemaShape,
) -> Result<AuthSchemaOutcome, AuthMigrateError> {
    let versions = if shape.has_table("schema_migrations") {
        read_versions(connection, namespace).await.during("reading the versions of schema auth")?
    } else {
        Vec::new()
    };
    let (missing, unknown) = compare_auth_versions(&versions);
    let misfits = SchemaShape::needed().find_misfits(shape);
    if !misfits.is_empty() {
        let namespace = namespace.to_owned();
        return Err(AuthMigrateError::Schema(Box::new(SchemaDifference { namespace, misfits, missing, unknown })));
    }
    if !missing.is_empty() {
        tracing::warn!(
            schema = namespace,
            count = missing.len(),
            versions = join_shortened(&missing),
            "the schema has what this server needs, but does not record these migrations"
        );
    }
    if unknown.is_empty() {
        return Ok(AuthSchemaOutcome::Unchanged);
    }
    tracing::info!(
        schema = namespace,
        count = unknown.len(),
        versions = join_shortened(&unknown),
        "the schema was migrated by a newer Supabase Auth: it has what this server needs and is served, what is unknown is left alone"
    );
    Ok(AuthSchemaOutcome::Newer)
}

async fn create(connection: &mut PgConnection, namespace: &str) -> Result<AuthSchemaOutcome, AuthMigrateError> {
    let mut transaction = sqlx::Connection::begin(connection).await.during("beginning the transaction")?;
    lock_migrations(&mut transaction).await?;
    let shape = read_shape(&mut transaction, namespace).await?;
    if shape.has_tables() {
        return accept(&mut transaction, namespace, &shape).await;
    }
    let place = SchemaState::read(&mut transaction, namespace).await.during("reading the state of schema auth")?;
    if !place.has_reader {
        return Err(AuthMigrateError::NoReader { namespace: namespace.to_owned() });
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

/// The state of the database before objects of the schema are created.
pub(super) struct SchemaState {
    /// The role that owns the schema; `None` if there is no schema yet.
    owner: Option<String>,
    /// Whether the role `postgres` exists, which the tables grant SELECT to.
    has_reader: bool,
    is_superuser: bool,
    has_auth_admin: bool,
}

impl SchemaState {
    pub(super) async fn read(connection: &mut PgConnection, namespace: &str) -> Result<Self, sqlx::Error> {
        const READ_STATE: &str = "
            SELECT
                (SELECT pg_get_userbyid(nspowner)::text FROM pg_namespace WHERE nspname = $1) AS owner,
                to_regrole('postgres') IS NOT NULL AS has_reader,
                to_regrole('supabase_auth_admin') IS NOT NULL AS has_auth_admin,
                (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser";
        let row = sqlx::query(READ_STATE).persistent(false).bind(namespace).fetch_one(connection).await?;
        Ok(Self {
            owner: row.try_get("owner")?,
            has_reader: row.try_get("has_reader")?,
            is_superuser: row.try_get("is_superuser")?,
            has_auth_admin: row.try_get("has_auth_admin")?,
        })
    }

    /// The statements before the files: the schema, the role that owns the objects, and the search path.
    ///
    /// A superuser creates all objects as the schema's owner, so that the owner can use them and the reference can take
    /// over.
    pub(super) fn build_prelude(&self, namespace: &str) -> String {
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
