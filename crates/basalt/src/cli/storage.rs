//! `basalt storage`: the storage API alone, as a drop-in replacement for Supabase Storage; its buckets and its files.

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anonymisation::AnonymisedObjects;
use anyhow::{Context, bail};
use chrono::TimeDelta;
use clap::{Args, Subcommand};
use gotrue_rs::config::JwtKeys;
use storage_rs::anonymise::{self, Anonymised, Survey};
use storage_rs::config::{Config, Environment};
use storage_rs::error::Error;
use storage_rs::seed;
use storage_rs::storage::Storage;
use storage_rs::sweep::{self, Report};

use super::process::build_runtime;
use crate::announce::RunningServer;
use crate::anonymisation_options::{AnonymisationArguments, PreparedAnonymisation};
use crate::config_file::LogFormat;
use crate::confirmation::confirm;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};
use crate::reload::format_problems;
use crate::serve::storage as project_storage;
use crate::{api_keys, logging, storage};

/// How often long work reports how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

pub(super) const STORAGE_HELP: &str =
    "Run as a drop-in replacement for Supabase Storage; seed buckets, compare rows and files

Without a command: serve the API at the root path and below /storage/v1, configured by the variables of Supabase Storage
(DATABASE_URL, AUTH_JWT_SECRET, ANON_KEY, SERVICE_KEY, STORAGE_BACKEND, FILE_STORAGE_BACKEND_PATH, FILE_SIZE_LIMIT,
S3_PROTOCOL_ACCESS_KEY_ID, SERVER_PORT and others; docs/guides/storage.md lists them).";

/// The arguments of `basalt storage`.
#[derive(Debug, Args)]
pub(super) struct StorageArguments {
    #[command(subcommand)]
    command: Option<StorageCommand>,
}

#[derive(Debug, Subcommand)]
enum StorageCommand {
    /// Create the buckets of config.toml and upload the objects of their `objects_path`; the server has to run
    Seed(ProjectArguments),
    /// Compare rows and files; exit status 1 if they differ
    ///
    /// Of the project whose server runs, or, with `DATABASE_URL` and `FILE_STORAGE_BACKEND_PATH`, of `basalt storage`.
    Check(CheckArguments),
    /// Replace the names, the metadata and the content of all objects of a copy for good
    ///
    /// Of the project whose server runs, or, with `DATABASE_URL` and `FILE_STORAGE_BACKEND_PATH`, of `basalt storage`. Nothing else
    /// may write meanwhile. If it is interrupted, the same command with the same seed continues.
    Anonymise(AnonymiseArguments),
}

#[derive(Debug, Args)]
struct AnonymiseArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Confirm that this is a copy: the files are replaced for good. Without it the command asks
    #[arg(long)]
    yes: bool,
    /// The seed of the pseudonyms, at least 16 characters, as secret as the data [default: a random one]
    #[arg(long, value_name = "TEXT", env = "BASALT_ANONYMISATION_SEED", hide_env_values = true)]
    seed: Option<String>,
    /// Keep the values of this key of the metadata of users. Can be repeated
    #[arg(long, value_name = "KEY")]
    keep: Vec<String>,
    /// Keep the names of objects, because rows of other tables have them
    #[arg(long)]
    keep_names: bool,
}

#[derive(Debug, Args)]
struct CheckArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Delete files without a row, and what interrupted uploads left behind
    #[arg(long)]
    delete: bool,
    /// Delete only what is older than this many seconds; 0 only while no server runs
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400, requires = "delete")]
    older_than: u32,
}

/// Runs the command.
pub(super) fn run(arguments: StorageArguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        None => serve(),
        Some(StorageCommand::Seed(project)) => run_seed(&project),
        Some(StorageCommand::Check(arguments)) => run_check(&arguments),
        Some(StorageCommand::Anonymise(arguments)) => run_anonymise(arguments),
    }
}

fn serve() -> anyhow::Result<ExitCode> {
    let config = Config::from_environment(&Environment::of_process())
        .map_err(|problems| anyhow::Error::msg(format_problems(&problems)))?;
    logging::start("info", LogFormat::Text, None)?;
    build_runtime()?.block_on(async { storage::serve(storage::build(config)?).await })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the store of the project whose server runs.
fn open_project(project: &Project) -> anyhow::Result<Arc<Storage>> {
    let Some(running) = RunningServer::read(&project.data) else {
        bail!("no server runs with the folder {}: start it with `basalt serve`", project.data.display());
    };
    let Some(keys) = api_keys::load(&project.data)? else {
        bail!("the folder {} has no keys", project.data.display());
    };
    // Nothing is signed or verified here: the database and the files are what counts.
    let jwt = JwtKeys { secret: keys.jwt_secret.as_str().into(), ..JwtKeys::default() };
    project_storage::build(&project_storage::StorageInputs {
        project,
        database_url: &running.database_url,
        keys: &keys,
        jwt: &jwt,
        data: &project.data,
        creates_schema: false,
        explains_policies: false,
    })
}

fn describe(error: &Error) -> anyhow::Error {
    match &error.cause {
        Some(cause) => anyhow::anyhow!("{}: {cause}", error.message),
        None => anyhow::anyhow!("{}", error.message),
    }
}

fn run_seed(arguments: &ProjectArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(arguments)?;
    for notice in project.file.missing_objects() {
        eprintln!("basalt: {notice}");
    }
    let seeds = project_storage::seeds(&project);
    let seeded = build_runtime()?.block_on(async {
        let storage = open_project(&project)?;
        seed::apply(&storage, &seeds).await.map_err(|error| describe(&error))
    })?;
    let mut out = std::io::stdout().lock();
    let (buckets, objects) = (format_count(seeded.buckets, "bucket"), format_count(seeded.objects, "object"));
    writeln!(out, "Created what was missing of {buckets}; uploaded {objects}.")?;
    if let Some(refused) = seeded.describe_refused() {
        eprintln!("basalt: {refused}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the store of the named project, else that of the environment, else that of the project around.
fn open_store(arguments: &ProjectArguments) -> anyhow::Result<Arc<Storage>> {
    if arguments.config.is_some() || arguments.data.is_some() {
        return open_project(&Project::load(arguments)?);
    }
    match Config::from_environment(&Environment::of_process()) {
        Ok(config) => storage::build(config),
        Err(_) => open_project(&Project::load(arguments)?),
    }
}

fn run_anonymise(arguments: AnonymiseArguments) -> anyhow::Result<ExitCode> {
    let options = AnonymisationArguments {
        seed: arguments.seed,
        password: String::new(),
        remove_passwords: true,
        keep: arguments.keep,
    };
    let done = build_runtime()?.block_on(async {
        let prepared = PreparedAnonymisation::prepare(&options).await?;
        let storage = open_store(&arguments.project)?;
        let survey = anonymise::survey(&storage).await.map_err(|error| describe(&error));
        let Survey { database, objects } = survey.context("counting the objects")?;
        let files = storage.config().backend.describe();
        eprintln!("Database: {database}\nFiles: {files}\nObjects: {objects}");
        let question =
            "Is this a copy, and shall the names, the metadata and the content of its objects be replaced for good?";
        confirm(arguments.yes, question, "nothing was changed")?;
        if let Some(seed) = &prepared.new_seed {
            eprintln!("The seed is {seed}: --seed continues with it, or makes the same pseudonyms again.");
        }
        let rules = AnonymisedObjects { anonymisation: &prepared.anonymisation, keeps_names: arguments.keep_names };
        let reported = Mutex::new(Instant::now());
        let report = |done: &Anonymised| report_progress(&reported, done, objects);
        let done = anonymise::anonymise(&storage, &rules, &report).await;
        done.map_err(|error| describe(&error))
            .context("replacing objects; the same command with the same seed continues")
    })?;
    let mut out = std::io::stdout().lock();
    let (objects, uploads) = (format_count(done.objects, "object"), format_count(done.uploads, "incomplete upload"));
    writeln!(out, "Replaced {objects}, deleted {uploads}.")?;
    if done.replaced_before > 0 {
        writeln!(out, "{} replaced before.", format_count(done.replaced_before, "object"))?;
    }
    if done.skipped > 0 {
        writeln!(out, "Left {} as written meanwhile.", format_count(done.skipped, "object"))?;
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints how far a run is, unless it did so a moment ago.
fn report_progress(reported: &Mutex<Instant>, done: &Anonymised, objects: u64) {
    let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
    if reported.elapsed() >= PROGRESS_INTERVAL {
        *reported = Instant::now();
        eprintln!("{} of {objects} objects", done.objects + done.skipped + done.replaced_before);
    }
}

fn run_check(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let report = build_runtime()?.block_on(async {
        let storage = open_store(&arguments.project)?;
        if arguments.delete {
            let grace = TimeDelta::seconds(i64::from(arguments.older_than));
            let swept = sweep::sweep_older(&storage, grace).await.map_err(|error| describe(&error));
            swept.context("deleting files without rows")?;
        }
        sweep::compare(&storage).await.map_err(|error| describe(&error)).context("comparing rows and files")
    })?;
    print_report(&report)?;
    Ok(if report.orphans == 0 && report.missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_report(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let (rows, files) = (format_count(report.rows, "object"), format_count(report.files, "file"));
    writeln!(out, "{rows}, {files} of {}", format_count(report.bytes, "byte"))?;
    if let Some(space) = report.space {
        writeln!(out, "{} of {} bytes of the file system are free", space.available, space.total)?;
        if let (Some(used), Some(quota)) = (space.used, space.quota) {
            writeln!(out, "{used} of {quota} bytes of the quota are taken, incomplete uploads included")?;
        }
    }
    let orphans = format_count(report.orphans, "file");
    writeln!(out, "{orphans} without a row ({})", format_count(report.orphan_bytes, "byte"))?;
    writeln!(out, "{} without a file", format_count(report.missing, "row"))?;
    for name in &report.missing_names {
        writeln!(out, "  {name}")?;
    }
    Ok(())
}
