//! Schema `auth`: made whole in an empty database, used where it is the reference's, refused where it is anything else.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::{Difference, MigrateError, While, is_no_such_table, lock, quoted, run};

/// What [`auth`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrated {
    /// The schema was made.
    Created,
    /// The schema was there.
    Unchanged,
}

/// The files of the schema, in the order they run.
const FILES: [&str; 9] = [
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

/// The versions that this schema stands for, a line each.
const VERSIONS: &str = include_str!("../../../../sql/auth/versions.txt");

/// Sees to schema `namespace` (`DB_NAMESPACE`): an empty database gets it whole, in one transaction; one that holds exactly
/// our versions is used as it is, for the price of one query; any other is refused with the versions that differ, unchanged.
///
/// The connecting role may be the schema's owner (`supabase_auth_admin`) or a superuser, which then acts as that owner.
pub async fn auth(pool: &PgPool, namespace: &str) -> Result<Migrated, MigrateError> {
    if namespace.is_empty() || namespace.len() > 63 || namespace.contains('\0') {
        return Err(MigrateError::Namespace(namespace.to_owned()));
    }
    let mut connection = pool.acquire().await.during("connecting to the database")?;
    match recorded(&mut connection, namespace).await {
        Ok(versions) => judged(namespace, &versions),
        Err(error) if is_no_such_table(&error) => create(&mut connection, namespace).await,
        Err(cause) => Err(MigrateError::Database { doing: "reading the versions of schema auth", cause }),
    }
}

fn versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.lines()
}

async fn recorded(connection: &mut PgConnection, namespace: &str) -> Result<Vec<String>, sqlx::Error> {
    let sql = format!("SELECT version FROM {}.schema_migrations", quoted(namespace));
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn judged(namespace: &str, recorded: &[String]) -> Result<Migrated, MigrateError> {
    let ours: BTreeSet<&str> = versions().collect();
    let theirs: BTreeSet<&str> = recorded.iter().map(String::as_str).collect();
    if ours == theirs {
        return Ok(Migrated::Unchanged);
    }
    let named = |one: &BTreeSet<&str>, other| one.difference(other).map(ToString::to_string).collect();
    Err(MigrateError::Versions(Box::new(Difference {
        namespace: namespace.to_owned(),
        missing: named(&ours, &theirs),
        unknown: named(&theirs, &ours),
    })))
}

async fn create(connection: &mut PgConnection, namespace: &str) -> Result<Migrated, MigrateError> {
    let mut transaction = sqlx::Connection::begin(connection).await.during("beginning the transaction")?;
    lock(&mut transaction).await?;
    let place = Place::of(&mut transaction, namespace).await.during("looking at the database")?;
    if place.has_versions {
        let versions = recorded(&mut transaction, namespace).await.during("reading the versions of schema auth")?;
        return judged(namespace, &versions);
    }
    if place.has_tables {
        return judged(namespace, &[]);
    }
    if !place.has_reader {
        return Err(MigrateError::NoReader { namespace: namespace.to_owned() });
    }
    run(&mut transaction, place.prelude(namespace))
        .await
        .during("making schema auth, which takes the right to create in this database")?;
    run(&mut transaction, FILES.join("\n")).await.during("filling schema auth")?;
    sqlx::query("INSERT INTO schema_migrations (version) SELECT unnest($1::text[])")
        .persistent(false)
        .bind(versions().collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await
        .during("recording the versions of schema auth")?;
    transaction.commit().await.during("committing schema auth")?;
    Ok(Migrated::Created)
}

/// What the schema is to be made in.
struct Place {
    /// The role that owns the schema; none where there is no schema yet.
    owner: Option<String>,
    has_tables: bool,
    has_versions: bool,
    /// Whether the role exists that the tables let read.
    has_reader: bool,
    is_superuser: bool,
    has_auth_admin: bool,
}

impl Place {
    async fn of(connection: &mut PgConnection, namespace: &str) -> Result<Self, sqlx::Error> {
        const LOOK: &str = "
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
        let row = sqlx::query(LOOK).persistent(false).bind(namespace).fetch_one(connection).await?;
        Ok(Self {
            owner: row.try_get("owner")?,
            has_tables: row.try_get("has_tables")?,
            has_versions: row.try_get("has_versions")?,
            has_reader: row.try_get("has_reader")?,
            is_superuser: row.try_get("is_superuser")?,
            has_auth_admin: row.try_get("has_auth_admin")?,
        })
    }

    /// What comes before the files: the schema, the role that will own what is made, and where unqualified names land.
    /// A superuser makes it all in the name of its owner, so that the owner can use it and the reference can take over.
    fn prelude(&self, namespace: &str) -> String {
        let schema = quoted(namespace);
        let owner = self.owner.as_deref().or(self.has_auth_admin.then_some("supabase_auth_admin"));
        let owner = owner.filter(|_| self.is_superuser).map(quoted);
        let create = match (&self.owner, &owner) {
            (Some(_), _) => String::new(),
            (None, Some(owner)) => format!("CREATE SCHEMA {schema} AUTHORIZATION {owner};"),
            (None, None) => format!("CREATE SCHEMA {schema};"),
        };
        let act = owner.map(|owner| format!("SET LOCAL ROLE {owner};")).unwrap_or_default();
        format!("SET LOCAL statement_timeout = 0; {create} {act} SET LOCAL search_path = {schema};")
    }
}
