//! `basalt db extensions`: the extensions that a project uses, and what installs those that PostgreSQL lacks.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use clap::Args;
use embedded_postgres::EmbeddedPostgres;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use platform::store::acquire_connection;
use platform::store::migrate::{
    ExtensionReport, ExtensionState, Installation, PackageManager, ProjectExtension, TargetDatabase, inspect_extensions,
};
use serde_json::json;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::confirmation::confirm;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::SchemaFiles;
use crate::scratch_database::ScratchDatabase;
use crate::{announce, database, logging};

/// The long help of the command.
pub(super) const EXTENSIONS_HELP: &str = "List the extensions that the project uses, and what installs those that are missing

Read are the statements CREATE EXTENSION of migrations, seed files and roles.sql. The database is that of the running server
of this project, the stopped embedded one, or with --database-url another one, which is only read. A project without a
database yet is answered by a scratch database of the PostgreSQL that a start would use.

  installed   the database has it
  available   PostgreSQL has it, and no statement has created it yet: `basalt db migrate`
  provided    Basalt provides its SQL without the extension
  missing     PostgreSQL lacks it; optional ones are of tools, and nothing else of the project depends on them

--install runs apt-get, as root, after it has shown the command and asked. Where it cannot, it says what to run.";

const EXAMPLES: &str = "Examples:
  basalt db extensions
  basalt db extensions --install            install the packages of those that are missing
  basalt db extensions --json";

/// The arguments of `basalt db extensions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExtensionsArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Another database [default: that of the project]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// Install the packages of missing extensions with apt-get
    #[arg(long, conflicts_with = "database_url")]
    install: bool,
    /// Install without a question
    #[arg(short, long, requires = "install")]
    yes: bool,
    /// Print the extensions as JSON
    #[arg(long, global = true)]
    json: bool,
}

/// Prints the extensions, and installs missing ones if that is asked for.
pub(super) fn run(arguments: &ExtensionsArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    logging::start("error", LogFormat::Text, None)?;
    let runtime = build_runtime()?;
    let inspect = || runtime.block_on(Box::pin(inspect(&project, arguments.database_url.as_deref())));
    let mut report = inspect()?;
    let planned = report.plan_installation().filter(|_| arguments.install);
    if let Some(installation) = planned {
        eprint!("{}", format_text(&report));
        install(&installation, arguments.yes)?;
        report = inspect()?;
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", format_json(&report))?;
    } else {
        write!(out, "{}", format_text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads what the database has; that of a project without one is a scratch database.
async fn inspect(project: &Project, given: Option<&str>) -> anyhow::Result<ExtensionReport> {
    let has_none = given.is_none()
        && project.database_url()?.is_none()
        && announce::RunningServer::read(&project.data).is_none()
        && EmbeddedPostgres::find_cluster(&project.data).is_none();
    if has_none {
        let Some(scratch) = ScratchDatabase::start(project).await? else {
            bail!(
                "there is no PostgreSQL on this machine: `apt-get install postgresql`, or PG_BIN_DIR names its programs"
            );
        };
        let report = read(project, &scratch.url(), TargetDatabase::Embedded, &DatabaseSettings::default()).await;
        scratch.stop().await?;
        return report;
    }
    let mut config = read_settings(project)?;
    let database = ProjectDatabase::open(project, given, &mut config).await?;
    let report = read(project, &database.url, database.target, &config.database).await;
    database.close().await?;
    report
}

async fn read(
    project: &Project,
    url: &str,
    target: TargetDatabase,
    settings: &DatabaseSettings,
) -> anyhow::Result<ExtensionReport> {
    let files = SchemaFiles::read(project)?;
    let settings = DatabaseSettings { url: Secret::from(url), ..settings.clone() };
    let pool = database::build_migration_pool(&settings).await?;
    let report = async {
        let mut connection = acquire_connection(&pool).await.context("connecting to the database")?;
        Ok(inspect_extensions(&mut connection, &files.schema, target).await?)
    }
    .await;
    pool.close().await;
    report
}

/// Runs the package manager; its output goes to standard error.
///
/// # Errors
/// This process may not install packages, the answer to the question is no, or the package manager failed.
fn install(installation: &Installation, is_confirmed: bool) -> anyhow::Result<()> {
    let command = installation.command();
    let advice = match installation.manager {
        PackageManager::Apt => format!("nothing was installed: run `sudo {command}`"),
        PackageManager::Brew => format!("nothing was installed: run `{command}`"),
    };
    ensure!(installation.manager == PackageManager::Apt && rustix::process::geteuid().is_root(), "{advice}");
    confirm(is_confirmed, &format!("Run `{command}`?"), "nothing was installed")?;
    let status = Command::new("apt-get")
        .args(["install", "--yes"])
        .args(&installation.packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status();
    let status = match status {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{advice}: there is no apt-get here"),
        status => status.context("running apt-get")?,
    };
    let hint = installation.source_hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    ensure!(status.success(), "`{command}` failed ({status}): `apt-get update` reads the lists of packages{hint}");
    Ok(())
}

fn format_json(report: &ExtensionReport) -> serde_json::Value {
    let installation = report.plan_installation();
    json!({
        "postgresql": report.release,
        "extensions": report.extensions,
        "install": installation.as_ref().map(Installation::command),
        "bin_dir": installation.as_ref().and_then(|installation| installation.bin_dir.as_ref()),
    })
}

fn format_text(report: &ExtensionReport) -> String {
    if report.extensions.is_empty() {
        return format!("PostgreSQL {}; the files of the project create no extension.\n", report.release);
    }
    let mut text = format!("PostgreSQL {}\n\n", report.release);
    let rows: Vec<[String; 3]> = report.extensions.iter().map(format_row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (names, states) = (width(0), width(1));
    for [name, state, places] in &rows {
        let _ = writeln!(text, "  {name:names$}  {state:states$}  {places}");
    }
    text + &format_remedy(report)
}

fn format_row(extension: &ProjectExtension) -> [String; 3] {
    let version = extension.version.as_deref().unwrap_or_default();
    let state = match extension.state {
        ExtensionState::Installed => format!("installed {version}"),
        ExtensionState::Available => format!("available {version}"),
        ExtensionState::Provided => format!("provided: {}", extension.provides.unwrap_or_default()),
        ExtensionState::Missing if extension.is_optional => "missing, optional".to_owned(),
        ExtensionState::Missing => "missing".to_owned(),
    };
    [extension.name.clone(), state, extension.places.join(", ")]
}

/// Says what installs and creates the extensions that the database lacks.
fn format_remedy(report: &ExtensionReport) -> String {
    let mut text = String::new();
    let missing = report.list_missing();
    if let Some(installation) = report.plan_installation() {
        let as_root = if installation.manager == PackageManager::Apt { ", as root" } else { "" };
        let _ = writeln!(text, "\nInstall{as_root}:\n  {}", installation.command());
        if let Some(hint) = installation.source_hint() {
            let _ = writeln!(text, "  ({hint})");
        }
        if let Some(folder) = &installation.bin_dir {
            let _ = writeln!(
                text,
                "The programs with these extensions are in {folder}: a new start uses them, or PG_BIN_DIR names them."
            );
        }
        text.push_str("Then run the statements again:\n  basalt db migrate --retry-skipped\n");
        if let Some(argument) = format_image_argument(report.major(), &installation) {
            let _ = writeln!(text, "In the image: {argument}");
        }
    } else if report.extensions.iter().any(|extension| extension.state == ExtensionState::Available) {
        text.push_str("\nCreate those that are available:\n  basalt db migrate --retry-skipped\n");
    }
    let unpackaged: Vec<&str> = missing.into_iter().filter(|name| !report.has_package(name)).collect();
    if !unpackaged.is_empty() {
        let major = report.major();
        let _ = writeln!(
            text,
            "\nNo package is known of {}: install for PostgreSQL {major} as the authors say.",
            unpackaged.join(", ")
        );
    }
    text
}

/// Returns the argument of `docker build` for the target `embedded` of `deploy/Dockerfile`.
fn format_image_argument(major: i32, installation: &Installation) -> Option<String> {
    let prefix = format!("postgresql-{major}-");
    let names: Vec<&str> = installation.packages.iter().filter_map(|package| package.strip_prefix(&prefix)).collect();
    let is_any = installation.manager == PackageManager::Apt && !names.is_empty();
    is_any.then(|| format!("docker build --target embedded --build-arg EXTENSIONS=\"{}\" …", names.join(" ")))
}
