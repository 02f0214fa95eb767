//! `basalt gen types`: types of the database for applications.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use gotrue_rs::config::DatabaseSettings;
use gotrue_rules::domain::policy::HooksPolicy;
use postgrest_rs::execute::connect;
use postgrest_rs::types::{TypeOptions, generate_typescript};

use super::process::build_runtime;
use crate::announce::RunningServer;
use crate::config_file::LogFormat;
use crate::data_folder::DataFolder;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database, migrate_embedded};
use crate::embedded_postgres::TcpPort;
use crate::project::{Project, ProjectArguments};
use crate::{logging, project_schema};

const TYPES_HELP: &str = "Generate types of TypeScript for tables, views and functions, as `supabase gen types` does

The database is that of the running server of this project, or DATABASE_URL, or the project's own database, which is started
for the command with the migrations of the project. Schemas are those of [api] schemas and public.";

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
        TypeOptions { schemas: list_schemas(arguments, project)?, omits_one_to_one: arguments.postgrest_v9_compat };
    let given = match &arguments.database_url {
        Some(url) => Some(url.clone()),
        None => RunningServer::read(&project.data).map(|running| running.database_url),
    };
    let given = if given.is_some() { given } else { project.database_url()? };
    match given {
        Some(url) => read_types(&url, &options).await,
        None => read_own(project, &options).await,
    }
}

/// The wanted schemas, or `public` and those that the data API exposes.
fn list_schemas(arguments: &TypesArguments, project: &Project) -> anyhow::Result<Vec<String>> {
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

async fn read_types(url: &str, options: &TypeOptions) -> anyhow::Result<String> {
    let target = connect::parse(url).map_err(|error| anyhow!(error)).context("reading the URL of the database")?;
    let (client, _) = target.open().await.map_err(|error| anyhow!(error)).context("connecting to the database")?;
    generate_typescript(&client, options).await.map_err(|error| anyhow!(error)).context("reading the schema")
}

/// Starts the database of the project for the command.
async fn read_own(project: &Project, options: &TypeOptions) -> anyhow::Result<String> {
    let folder = DataFolder::open(&project.data)?;
    let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
    let source = tokio::task::spawn_blocking(find_database(project, &folder, wanted));
    let source = source.await.context("starting the database")??;
    let types = match &source {
        DatabaseSource::Embedded(postgres) => match migrate_embedded(postgres.address()).await {
            Ok(()) => {
                let url = source.operator_url();
                project_schema::apply(project, &url, &DatabaseSettings::default(), &HooksPolicy::default()).await?;
                read_types(&url, options).await
            }
            Err(error) => Err(error),
        },
        DatabaseSource::External(url) => read_types(url, options).await,
    };
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    types
}
