//! Extensions that a project asks for, and what this database has of them.

use serde::Serialize;
use sqlx::{PgConnection, Row};

use super::schema::{ProjectFile, ProjectSchema, TargetDatabase, list_files};
use crate::store::migrate::error::{ErrorContext, MigrateError};
use crate::store::migrate::script::split_script;
use crate::store::migrate::words::find_created_object;

/// Extensions whose SQL this server provides without them, and what that is.
const PROVIDED: [(&str, &str); 5] = [
    ("pg_cron", "jobs in schema cron"),
    ("pg_net", "requests in schema net, webhooks in supabase_functions"),
    ("supabase_vault", "secrets in schema vault"),
    ("pgjwt", "functions sign and verify"),
    ("pgmq", "message queues in schema pgmq"),
];

/// Extensions that tools use: no table, policy or function of a project depends on them unless it calls theirs.
const TOOLS: [&str; 12] = [
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
    "supabase-dbdev",
];

#[derive(Debug)]
struct ExtensionPackage {
    extension: &'static str,
    /// The last part of the name in Debian and at apt.postgresql.org.
    debian: &'static str,
    /// The formula of Homebrew, if it has one.
    brew: Option<&'static str>,
    /// Whether Debian 12 has it, not only apt.postgresql.org.
    is_of_debian: bool,
    /// Whether it is a language of PostgreSQL itself, whose package has the release at its end.
    is_language: bool,
}

const fn package(extension: &'static str, debian: &'static str) -> ExtensionPackage {
    ExtensionPackage { extension, debian, brew: None, is_of_debian: true, is_language: false }
}

const fn language(extension: &'static str, debian: &'static str) -> ExtensionPackage {
    ExtensionPackage { is_language: true, ..package(extension, debian) }
}

const fn package_with_brew(extension: &'static str, debian: &'static str, brew: &'static str) -> ExtensionPackage {
    ExtensionPackage { brew: Some(brew), ..package(extension, debian) }
}

/// The packages of extensions that projects use.
const PACKAGES: [ExtensionPackage; 26] = [
    ExtensionPackage { is_of_debian: false, ..package_with_brew("vector", "pgvector", "pgvector") },
    package_with_brew("postgis", "postgis-3", "postgis"),
    package_with_brew("postgis_raster", "postgis-3", "postgis"),
    package_with_brew("postgis_sfcgal", "postgis-3", "postgis"),
    package_with_brew("postgis_tiger_geocoder", "postgis-3", "postgis"),
    package_with_brew("postgis_topology", "postgis-3", "postgis"),
    package("pgtap", "pgtap"),
    ExtensionPackage { is_of_debian: false, ..package("http", "http") },
    package_with_brew("hypopg", "hypopg", "hypopg"),
    package("pgaudit", "pgaudit"),
    package("pg_repack", "repack"),
    package("plpgsql_check", "plpgsql-check"),
    package("rum", "rum"),
    package_with_brew("pgrouting", "pgrouting", "pgrouting"),
    package_with_brew("pg_partman", "partman", "pg_partman"),
    package_with_brew("pg_cron", "cron", "pg_cron"),
    package("hll", "hll"),
    package("ip4r", "ip4r"),
    package("pg_similarity", "similarity"),
    package("pldbgapi", "pldebugger"),
    ExtensionPackage { is_of_debian: false, ..package("plv8", "plv8") },
    language("plperl", "plperl"),
    language("plperlu", "plperl"),
    language("plpython3u", "plpython3"),
    language("pltcl", "pltcl"),
    language("pltclu", "pltcl"),
];

/// The script of Debian's `postgresql-common` that adds the packages of apt.postgresql.org.
const ADD_POSTGRESQL_ORG: &str = "/usr/share/postgresql-common/pgdg/apt.postgresql.org.sh";

/// Types and functions by which a statement shows that it needs an extension.
const MARKS: [(&str, &str); 11] = [
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
    ("plan", "pgtap"),
];

/// Returns whether nothing else of a project depends on an extension unless it names it.
pub(super) fn is_tool(extension: &str) -> bool {
    TOOLS.contains(&extension)
}

/// Returns what this server provides of an extension without it.
pub(super) fn find_provided(extension: &str) -> Option<&'static str> {
    PROVIDED.iter().find(|(name, _)| *name == extension).map(|(_, surface)| *surface)
}

/// Returns the statement that lists an extension of [`find_provided`] as installed, with the version `basalt`.
///
/// It has no members, so that its objects are dumped and dropped as others are.
pub(super) fn format_listing(provided: &str) -> String {
    format!(
        "INSERT INTO pg_catalog.pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        SELECT pg_catalog.pg_nextoid('pg_catalog.pg_extension', 'oid', 'pg_catalog.pg_extension_oid_index'), '{provided}',
               (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER), 'pg_catalog'::regnamespace, false, 'basalt'
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = '{provided}')"
    )
}

/// Returns the statement that undoes [`format_listing`].
pub(super) fn format_unlisting(provided: &str) -> String {
    format!("DELETE FROM pg_catalog.pg_extension WHERE extname = '{provided}' AND extversion = 'basalt'")
}

/// Returns the extensions that a project creates and that nothing stands in for, without repetition.
pub fn list_needed_extensions(schema: &ProjectSchema) -> Vec<String> {
    let names = list_created_extensions(schema).into_iter().map(|created| created.name);
    names.filter(|name| find_provided(name).is_none() && !is_tool(name)).collect()
}

/// An extension and the statements that create it.
struct CreatedExtension {
    name: String,
    places: Vec<String>,
}

/// Returns the extensions that a project creates, in the order of their first statements.
fn list_created_extensions(schema: &ProjectSchema) -> Vec<CreatedExtension> {
    let mut created: Vec<CreatedExtension> = Vec::new();
    let mentions_one = |file: &&ProjectFile| file.text.to_ascii_lowercase().contains("extension");
    for file in list_files(schema).filter(mentions_one) {
        for statement in split_script(&file.text) {
            let Some(object) = find_created_object(&statement.sql).filter(|object| object.kind == "extension") else {
                continue;
            };
            let place = format!("{}:{}", file.path, statement.first_word_line);
            match created.iter_mut().find(|known| known.name == object.name) {
                Some(known) => known.places.push(place),
                None => created.push(CreatedExtension { name: object.name, places: vec![place] }),
            }
        }
    }
    created
}

/// What a database has of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionState {
    /// It is created in the database.
    Installed,
    /// PostgreSQL has its files; no statement has created it.
    Available,
    /// This server provides its SQL without it.
    Provided,
    /// PostgreSQL lacks its files.
    Missing,
}

/// An extension of a project in a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectExtension {
    pub name: String,
    pub state: ExtensionState,
    /// The version that is installed, or that PostgreSQL would install.
    pub version: Option<String>,
    /// What this server provides in its place.
    pub provides: Option<&'static str>,
    /// Whether only tools use it: nothing else of a project depends on it.
    pub is_optional: bool,
    /// File and line of each statement that creates it.
    pub places: Vec<String>,
}

/// The extensions of a project in a database.
#[derive(Debug, Clone)]
pub struct ExtensionReport {
    /// The release of the database's programs, such as `15.18`.
    pub release: String,
    /// In the order of their first statements.
    pub extensions: Vec<ProjectExtension>,
    server: ServerPrograms,
}

impl ExtensionReport {
    /// Returns the names of those that are missing.
    pub fn list_missing(&self) -> Vec<&str> {
        let missing = self.extensions.iter().filter(|extension| extension.state == ExtensionState::Missing);
        missing.map(|extension| extension.name.as_str()).collect()
    }

    /// Returns what installs the missing ones that have a package.
    pub fn plan_installation(&self) -> Option<Installation> {
        self.server.plan_installation(&self.list_missing())
    }

    /// Returns whether a package of the extension is known for the database's system.
    pub fn has_package(&self, extension: &str) -> bool {
        self.server.plan_installation(&[extension]).is_some()
    }

    /// Returns the major number of the release.
    pub fn major(&self) -> i32 {
        self.server.major
    }
}

/// Returns what a database has of the extensions that a project creates.
///
/// # Errors
/// The database cannot be read.
pub async fn inspect_extensions(
    connection: &mut PgConnection,
    schema: &ProjectSchema,
    target: TargetDatabase,
) -> Result<ExtensionReport, MigrateError> {
    const READ: &str = "SELECT i.extversion, a.default_version, a.name IS NOT NULL
        FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS wanted (name, place)
        LEFT JOIN pg_catalog.pg_extension AS i ON i.extname = wanted.name
        LEFT JOIN pg_catalog.pg_available_extensions AS a ON a.name = wanted.name
        ORDER BY wanted.place";
    let doing = "reading the extensions of the database";
    let created = list_created_extensions(schema);
    let names: Vec<&str> = created.iter().map(|created| created.name.as_str()).collect();
    let rows = sqlx::query(READ).persistent(false).bind(names).fetch_all(&mut *connection).await.during(doing)?;
    let mut extensions = Vec::new();
    for (created, row) in created.into_iter().zip(rows) {
        let installed: Option<String> = row.try_get(0).during(doing)?;
        let available: Option<String> = row.try_get(1).during(doing)?;
        let has_files: bool = row.try_get(2).during(doing)?;
        let provides = find_provided(&created.name).filter(|_| target == TargetDatabase::Embedded);
        let state = match (has_files, &installed, provides) {
            (true, Some(_), _) => ExtensionState::Installed,
            (_, _, Some(_)) => ExtensionState::Provided,
            (true, None, None) => ExtensionState::Available,
            (false, _, None) => ExtensionState::Missing,
        };
        extensions.push(ProjectExtension {
            is_optional: is_tool(&created.name),
            version: installed.or(available).filter(|_| state != ExtensionState::Provided),
            provides: provides.filter(|_| state == ExtensionState::Provided),
            name: created.name,
            places: created.places,
            state,
        });
    }
    let server = ServerPrograms::read(connection).await.during(doing)?;
    let release = sqlx::raw_sql("SHOW server_version").fetch_one(connection).await.and_then(|row| row.try_get(0));
    let release: String = release.during(doing)?;
    let release = release.split_whitespace().next().unwrap_or_default().to_owned();
    Ok(ExtensionReport { release, extensions, server })
}

/// A program that installs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageManager {
    Apt,
    Brew,
}

/// What installs extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub manager: PackageManager,
    /// Names of packages, without repetition.
    pub packages: Vec<String>,
    /// The folder of programs that have the extensions, if the database is one of other programs.
    pub bin_dir: Option<String>,
    /// Whether Debian 12 lacks a package, which apt.postgresql.org has.
    needs_postgresql_org: bool,
}

impl Installation {
    /// Returns the command of the package manager.
    pub fn command(&self) -> String {
        let program = match self.manager {
            PackageManager::Apt => "apt-get",
            PackageManager::Brew => "brew",
        };
        format!("{program} install {}", self.packages.join(" "))
    }

    /// Returns what adds the packages that Debian itself does not have.
    pub fn source_hint(&self) -> Option<String> {
        let text = || format!("if there is no such package: {ADD_POSTGRESQL_ORG} adds apt.postgresql.org");
        self.needs_postgresql_org.then(text)
    }

    fn describe(&self) -> String {
        let folder = self.bin_dir.iter().map(|folder| format!(", PG_BIN_DIR={folder}"));
        let hint = self.source_hint().map(|hint| format!(" ({hint})"));
        folder.chain(hint).fold(self.command(), |text, more| text + &more)
    }
}

/// The release of the database's programs, and where they are from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerPrograms {
    major: i32,
    manager: PackageManager,
    /// Whether the package manager has installed them.
    is_packaged: bool,
}

impl ServerPrograms {
    /// Returns the major release.
    pub(super) fn major(self) -> i32 {
        self.major
    }

    /// Reads them; a role that may not read where the programs are gets the general advice.
    pub(super) async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        const READ: &str = "SELECT pg_catalog.current_setting('server_version_num')::int / 10000,
            pg_catalog.version() LIKE '%-apple-darwin%',
            pg_catalog.has_table_privilege('pg_catalog.pg_config', 'SELECT')
                AND pg_catalog.has_function_privilege('pg_catalog.pg_config()', 'EXECUTE')";
        const FIND_FOLDER: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_config WHERE name = 'SHAREDIR'
            AND setting ~ '^(/usr/share/postgresql/|/opt/homebrew/|/usr/local/(Cellar|opt|share)/)')";
        let row = sqlx::raw_sql(READ).fetch_one(&mut *connection).await?;
        let (major, is_mac, is_readable): (i32, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let manager = if is_mac { PackageManager::Brew } else { PackageManager::Apt };
        let is_packaged =
            is_readable && sqlx::raw_sql(FIND_FOLDER).fetch_one(connection).await.and_then(|row| row.try_get(0))?;
        Ok(Self { major, manager, is_packaged })
    }

    /// Returns what installs those of the extensions that have a package; `None` if none has.
    fn plan_installation(self, extensions: &[&str]) -> Option<Installation> {
        let Self { major, manager, is_packaged } = self;
        let known = PACKAGES.iter().filter(|package| extensions.contains(&package.extension));
        let known: Vec<(String, &ExtensionPackage)> = known
            .filter_map(|package| match manager {
                PackageManager::Apt if package.is_language => {
                    Some((format!("postgresql-{}-{major}", package.debian), package))
                }
                PackageManager::Apt => Some((format!("postgresql-{major}-{}", package.debian), package)),
                PackageManager::Brew => package.brew.map(|name| (name.to_owned(), package)),
            })
            .collect();
        if known.is_empty() {
            return None;
        }
        let is_unknown_to_debian = known.iter().any(|(_, package)| !package.is_of_debian);
        let (server, folder) = match manager {
            PackageManager::Apt => (format!("postgresql-{major}"), format!("/usr/lib/postgresql/{major}/bin")),
            PackageManager::Brew => (format!("postgresql@{major}"), format!("$(brew --prefix postgresql@{major})/bin")),
        };
        let mut packages: Vec<String> = Vec::new();
        for name in (!is_packaged).then_some(server).into_iter().chain(known.into_iter().map(|(name, _)| name)) {
            if !packages.contains(&name) {
                packages.push(name);
            }
        }
        Some(Installation {
            manager,
            packages,
            bin_dir: (!is_packaged).then_some(folder),
            needs_postgresql_org: manager == PackageManager::Apt && is_unknown_to_debian,
        })
    }
}

/// Returns what installs an extension.
pub(super) fn describe_remedy(extension: &str, server: ServerPrograms) -> String {
    let install = match server.plan_installation(&[extension]) {
        Some(installation) => installation.describe(),
        None => format!("install the extension {extension} for PostgreSQL {} as its authors say", server.major),
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
    use super::*;

    #[test]
    fn missing_types_point_to_their_extension() {
        assert_eq!(find_needed_extension("type \"vector\" does not exist"), Some("vector"));
        assert_eq!(find_needed_extension("type \"extensions.geography\" does not exist"), Some("postgis"));
        assert_eq!(find_needed_extension("relation \"vectors\" does not exist"), None);
        assert_eq!(find_needed_extension("duplicate key in vector"), None);
    }

    #[test]
    fn needed_extensions_are_those_that_statements_create() {
        let text = "create extension if not exists \"uuid-ossp\" with schema extensions; -- create extension hll;\n\
                    CREATE EXTENSION postgis; create extension pg_cron; create extension pgsodium; \
                    create extension postgis; comment on extension rum is 'x'; create table extension (id int);";
        let roles =
            Some(ProjectFile { path: "roles.sql".to_owned(), text: text.to_owned(), unreadable_lines: Vec::new() });
        let schema = ProjectSchema { roles, ..ProjectSchema::default() };
        assert_eq!(list_needed_extensions(&schema), ["uuid-ossp", "postgis"]);
        let created = list_created_extensions(&schema);
        let postgis = created.iter().find(|created| created.name == "postgis").expect("postgis");
        assert_eq!(postgis.places, ["roles.sql:2", "roles.sql:2"]);
    }

    #[test]
    fn remedy_is_the_package_of_the_release() {
        let server = ServerPrograms { major: 15, manager: PackageManager::Apt, is_packaged: true };
        let vector = describe_remedy("vector", server);
        assert!(
            vector.starts_with("apt-get install postgresql-15-pgvector (if there is no such package: "),
            "{vector}"
        );
        assert!(describe_remedy("postgis", server).starts_with("apt-get install postgresql-15-postgis-3, then"));
        assert!(describe_remedy("plpython3u", server).starts_with("apt-get install postgresql-plpython3-15, then"));
        assert!(describe_remedy("timescaledb", server).contains("timescaledb for PostgreSQL 15"));
        let other = ServerPrograms { is_packaged: false, ..server };
        assert!(describe_remedy("vector", other).contains("PG_BIN_DIR=/usr/lib/postgresql/15/bin"));
    }

    #[test]
    fn installation_names_each_package_once() {
        let server = ServerPrograms { major: 17, manager: PackageManager::Apt, is_packaged: false };
        let wanted = ["postgis", "postgis_topology", "pgmq", "pgtap"];
        let installation = server.plan_installation(&wanted).expect("packages");
        assert_eq!(installation.command(), "apt-get install postgresql-17 postgresql-17-postgis-3 postgresql-17-pgtap");
        assert_eq!(installation.bin_dir.as_deref(), Some("/usr/lib/postgresql/17/bin"));
        assert_eq!(installation.source_hint(), None);
        assert_eq!(server.plan_installation(&["pgmq"]), None);
        let mac = ServerPrograms { manager: PackageManager::Brew, is_packaged: true, ..server };
        let installation = mac.plan_installation(&["vector", "postgis", "http"]).expect("packages");
        assert_eq!(
            (installation.command(), installation.source_hint()),
            ("brew install pgvector postgis".to_owned(), None)
        );
    }
}
