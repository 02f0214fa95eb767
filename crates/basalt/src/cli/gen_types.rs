//! `basalt gen types`: types of the database for applications.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use data_folder::DataFolder;
use embedded_postgres::TcpPort;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rules::domain::policy::HooksPolicy;
use postgrest_rs::execute::connect;
use postgrest_rs::types::{TypeOptions, generate_typescript, list_schemas};

use super::process::build_runtime;
use crate::announce::RunningServer;
use crate::config_file::LogFormat;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database, migrate_embedded};
use crate::project::{Project, ProjectArguments};
use crate::{logging, project_schema};

const TYPES_HELP: &str = "Generate types of TypeScript for tables, views and functions, as `supabase gen types` does

The database is that of the running server of this project, or DATABASE_URL, or the project's own database, which is started
for the command with the migrations of the project. Schemas are those of [api] schemas and public; one that --schema names has
to exist.";

const EXAMPLES: &str = "Examples:
  basalt gen types > src/database.types.ts
  basalt gen types typescript --local --schema public,app
  basalt gen types --database-url postgresql://reader@db/app";

/// The arguments of `basalt gen`.
#[derive(Debug, Args)]
pub(super) struct GenArguments {
    #[command(subcommand)]
    action: GenAction,
}

#[derive(Debug, Subcommand)]
enum GenAction {
    /// Generate types of TypeScript for tables, views and functions
    #[command(long_about = TYPES_HELP)]
    Types(TypesArguments),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct TypesArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The language
    #[arg(value_enum)]
    language: Option<Language>,
    /// The language
    #[arg(long, value_enum, conflicts_with = "language")]
    lang: Option<Language>,
    /// The database of this project, which is the default
    #[arg(long, conflicts_with = "database_url")]
    local: bool,
    /// The URL of another database
    #[arg(long, value_name = "URL", visible_alias = "db-url")]
    database_url: Option<String>,
    /// The schemas, separated by commas
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    schema: Vec<String>,
    /// Leave isOneToOne out of relationships, for PostgREST 9
    #[arg(long)]
    postgrest_v9_compat: bool,
}

/// The languages of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Typescript,
}

/// Generates types.
pub(super) fn run(arguments: &GenArguments) -> anyhow::Result<()> {
    let GenAction::Types(arguments) = &arguments.action;
    logging::start("error", LogFormat::Text, None)?;
    let project = Project::load(&arguments.project)?;
    let types = build_runtime()?.block_on(generate(arguments, &project))?;
    std::io::stdout().write_all(types.as_bytes()).context("writing to standard output")
}

async fn generate(arguments: &TypesArguments, project: &Project) -> anyhow::Result<String> {
    let options =
        TypeOptions { schemas: list_wanted(arguments, project)?, omits_one_to_one: arguments.postgrest_v9_compat };
    let named = arguments.schema.as_slice();
    if let Some(url) = &arguments.database_url {
        return read_types(("--database-url", url), &options, named).await;
    }
    if let Some(running) = RunningServer::read(&project.data) {
        return read_types(("the database of the running server", &running.database_url), &options, named).await;
    }
    match project.database_url()? {
        Some(url) => read_types(("DATABASE_URL", &url), &options, named).await,
        None => read_own(project, &options, named).await,
    }
}

/// The wanted schemas, or `public` and those that the data API exposes.
fn list_wanted(arguments: &TypesArguments, project: &Project) -> anyhow::Result<Vec<String>> {
    let wanted = if arguments.schema.is_empty() {
        [&["public".to_owned()], project.file.basalt.data_api.schemas.as_slice()].concat()
    } else {
        arguments.schema.clone()
    };
    let names: BTreeSet<String> =
        wanted.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        bail!("--schema names no schema");
    }
    Ok(names.into_iter().collect())
}

/// Reads the types of the database of a URL, which `source` has given. The schemas of the options exist or were not `named`.
async fn read_types((source, url): (&str, &str), options: &TypeOptions, named: &[String]) -> anyhow::Result<String> {
    let target = connect::parse(url).map_err(|error| {
        let reason = error.strip_prefix("db-uri: ").unwrap_or(&error);
        anyhow!("{source}: {reason}; a URL is postgresql://user:password@host:5432/database")
    })?;
    let opened = target.open().await.map_err(|error| anyhow!(error));
    let (client, _) = opened.with_context(|| format!("{source}: connecting to {}", target.describe_place()))?;
    let known = list_schemas(&client).await.map_err(|error| anyhow!(error)).context("listing the schemas")?;
    let is_missing = |name: &&String| named.iter().any(|given| given.trim() == **name) && !known.contains(name);
    let missing: Vec<&str> = options.schemas.iter().filter(is_missing).map(String::as_str).collect();
    if !missing.is_empty() {
        let is_own = |name: &&str| !name.starts_with("pg_") && *name != "information_schema";
        let known: Vec<&str> = known.iter().map(String::as_str).filter(is_own).collect();
        let (missing, known) = (missing.join(", "), known.join(", "));
        bail!("--schema: the database has no schema {missing} that its role may use; it has {known}");
    }
    generate_typescript(&client, options).await.map_err(|error| anyhow!(error)).context("reading the schema")
}

/// Starts the database of the project for the command.
async fn read_own(project: &Project, options: &TypeOptions, named: &[String]) -> anyhow::Result<String> {
    let folder = DataFolder::open(&project.data)?;
    let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
    let source = tokio::task::spawn_blocking(find_database(project, &folder, wanted));
    let source = source.await.context("starting the database")??;
    let types = match &source {
        DatabaseSource::Embedded(postgres) => match migrate_embedded(postgres.address()).await {
            Ok(()) => {
                let url = source.operator_url();
                project_schema::apply(project, &url, &DatabaseSettings::default(), &HooksPolicy::default()).await?;
                read_types(("the database of the project", &url), options, named).await
            }
            Err(error) => Err(error),
        },
        DatabaseSource::External(url) => read_types(("DATABASE_URL", url), options, named).await,
    };
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    types
}
