//! Extensions that a project asks for and this database does not have.

use sqlx::{PgConnection, Row};

use super::ProjectSchema;
use crate::store::migrate::script::split_script;
use crate::store::migrate::words::find_created_object;

/// Extensions whose SQL this server provides without them.
pub(super) const PROVIDED: [&str; 4] = ["pg_cron", "pg_net", "supabase_vault", "pgjwt"];

/// Extensions that tools use: no table, policy or function of a project depends on them unless it calls theirs.
const TOOLS: [&str; 11] = [
    "pg_graphql",
    "pg_stat_statements",
    "pg_stat_monitor",
    "pgsodium",
    "hypopg",
    "index_advisor",
    "plpgsql_check",
    "pgaudit",
    "pg_repack",
    "pg_tle",
    "pg_prewarm",
];

/// Extensions in packages of Debian, and of apt.postgresql.org, by the last part of the package's name.
const PACKAGES: [(&str, &str); 21] = [
    ("vector", "pgvector"),
    ("postgis", "postgis-3"),
    ("postgis_raster", "postgis-3"),
    ("postgis_sfcgal", "postgis-3"),
    ("postgis_tiger_geocoder", "postgis-3"),
    ("postgis_topology", "postgis-3"),
    ("pgtap", "pgtap"),
    ("http", "http"),
    ("hypopg", "hypopg"),
    ("pgaudit", "pgaudit"),
    ("pg_repack", "repack"),
    ("plpgsql_check", "plpgsql-check"),
    ("rum", "rum"),
    ("pgrouting", "pgrouting"),
    ("pg_partman", "partman"),
    ("pg_cron", "cron"),
    ("hll", "hll"),
    ("ip4r", "ip4r"),
    ("pg_similarity", "similarity"),
    ("pldbgapi", "pldebugger"),
    ("plv8", "plv8"),
];

/// Those that Debian 12 has no package of.
const ONLY_OF_POSTGRESQL_ORG: [&str; 3] = ["vector", "http", "plv8"];
/// The script of Debian's `postgresql-common` that adds the packages of apt.postgresql.org.
const ADD_POSTGRESQL_ORG: &str = "/usr/share/postgresql-common/pgdg/apt.postgresql.org.sh";

/// Types and functions by which a statement shows that it needs an extension.
const MARKS: [(&str, &str); 12] = [
    ("vector", "vector"),
    ("halfvec", "vector"),
    ("sparsevec", "vector"),
    ("vector_cosine_ops", "vector"),
    ("vector_l2_ops", "vector"),
    ("vector_ip_ops", "vector"),
    ("hnsw", "vector"),
    ("ivfflat", "vector"),
    ("geometry", "postgis"),
    ("geography", "postgis"),
    ("pgmq", "pgmq"),
    ("plan", "pgtap"),
];

/// Returns whether nothing else of a project depends on an extension unless it names it.
pub(super) fn is_tool(extension: &str) -> bool {
    TOOLS.contains(&extension)
}

/// Returns the extensions that a project creates and that nothing stands in for, without repetition.
pub fn list_needed_extensions(schema: &ProjectSchema) -> Vec<String> {
    let mut names = Vec::new();
    let files = schema.roles.iter().chain(schema.migrations.iter().map(|migration| &migration.file));
    for file in files.filter(|file| file.text.to_ascii_lowercase().contains("extension")) {
        let created = split_script(&file.text).into_iter().filter_map(|statement| find_created_object(&statement.sql));
        for object in created.filter(|object| object.kind == "extension") {
            let name = object.name;
            if !PROVIDED.contains(&name.as_str()) && !is_tool(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The release of the database's programs, and whether they are those of Debian's packages.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerPrograms {
    major: i32,
    is_packaged: bool,
}

impl ServerPrograms {
    /// Reads them; a role that may not read where the programs are gets the general advice.
    pub(super) async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        const READ: &str = "SELECT pg_catalog.current_setting('server_version_num')::int / 10000,
            pg_catalog.has_table_privilege('pg_catalog.pg_config', 'SELECT')
                AND pg_catalog.has_function_privilege('pg_catalog.pg_config()', 'EXECUTE')";
        const FIND_FOLDER: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_config
            WHERE name = 'SHAREDIR' AND setting LIKE '/usr/share/postgresql/%')";
        let row = sqlx::raw_sql(READ).fetch_one(&mut *connection).await?;
        let (major, is_readable): (i32, bool) = (row.try_get(0)?, row.try_get(1)?);
        let is_packaged =
            is_readable && sqlx::raw_sql(FIND_FOLDER).fetch_one(connection).await.and_then(|row| row.try_get(0))?;
        Ok(Self { major, is_packaged })
    }
}

/// Returns what installs an extension.
pub(super) fn describe_remedy(extension: &str, server: ServerPrograms) -> String {
    let major = server.major;
    let install = match PACKAGES.iter().find(|(name, _)| *name == extension) {
        Some((_, package)) if server.is_packaged => format!("apt-get install postgresql-{major}-{package}"),
        Some((_, package)) => format!(
            "apt-get install postgresql-{major} postgresql-{major}-{package}, PG_BIN_DIR=/usr/lib/postgresql/{major}/bin"
        ),
        None => format!("install the extension {extension} for PostgreSQL {major} as its authors say"),
    };
    let install = if ONLY_OF_POSTGRESQL_ORG.contains(&extension) {
        format!("{install} (if there is no such package: {ADD_POSTGRESQL_ORG} adds apt.postgresql.org)")
    } else {
        install
    };
    format!("{install}, then run the statement again with `basalt db migrate --retry-skipped`")
}

/// Returns the extension that the message of a failure points to.
pub(super) fn find_needed_extension(message: &str) -> Option<&'static str> {
    let is_missing = message.contains("does not exist") || message.contains("has no default operator class");
    let mut words = message.split(|next: char| !next.is_ascii_alphanumeric() && next != '_');
    words
        .find_map(|word| MARKS.iter().find(|(mark, _)| *mark == word))
        .map(|(_, extension)| *extension)
        .filter(|_| is_missing)
}

#[cfg(test)]
mod tests {
    use super::super::ProjectFile;
    use super::*;

    #[test]
    fn missing_types_point_to_their_extension() {
        assert_eq!(find_needed_extension("type \"vector\" does not exist"), Some("vector"));
        assert_eq!(find_needed_extension("type \"extensions.geography\" does not exist"), Some("postgis"));
        assert_eq!(find_needed_extension("schema \"pgmq\" does not exist"), Some("pgmq"));
        assert_eq!(find_needed_extension("relation \"vectors\" does not exist"), None);
        assert_eq!(find_needed_extension("duplicate key in vector"), None);
    }

    #[test]
    fn needed_extensions_are_those_that_statements_create() {
        let text = "create extension if not exists \"uuid-ossp\" with schema extensions; -- create extension hll;\n\
                    CREATE EXTENSION postgis; create extension pg_cron; create extension pgsodium; \
                    create extension postgis; comment on extension rum is 'x'; create table extension (id int);";
        let roles = Some(ProjectFile { path: "roles.sql".to_owned(), text: text.to_owned() });
        let schema = ProjectSchema { roles, ..ProjectSchema::default() };
        assert_eq!(list_needed_extensions(&schema), ["uuid-ossp", "postgis"]);
    }

    #[test]
    fn remedy_is_the_package_of_the_release() {
        let server = ServerPrograms { major: 15, is_packaged: true };
        let vector = describe_remedy("vector", server);
        assert!(
            vector.starts_with("apt-get install postgresql-15-pgvector (if there is no such package: "),
            "{vector}"
        );
        assert!(describe_remedy("postgis", server).starts_with("apt-get install postgresql-15-postgis-3, then"));
        assert!(describe_remedy("pgmq", server).contains("pgmq for PostgreSQL 15"));
        let other = ServerPrograms { is_packaged: false, ..server };
        assert!(describe_remedy("vector", other).contains("PG_BIN_DIR=/usr/lib/postgresql/15/bin"));
    }
}
