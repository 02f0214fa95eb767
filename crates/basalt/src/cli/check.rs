//! `basalt check`: reports all problems of the configuration at once.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use embedded_postgres::EmbeddedPostgres;
use gateway::Service;
use gotrue_rs::config::{Config, Notice, NoticeLevel};
use gotrue_rs::ports::mail::template::MailTemplates;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use serde_json::json;

use super::check_space::StoredFiles;
use super::process::build_runtime;
use crate::config_file::{LogFormat, list_keys, replace_setting_names};
use crate::database_source::find_binaries;
use crate::problem::Problem;
use crate::profiles::has_development_pages;
use crate::project::{Project, ProjectArguments};
use crate::project_layout::ProjectLayout;
use crate::project_schema::{INCOMPLETE_STATUS, SchemaFiles, find_missing_hook_functions, list_unserved_functions};
use crate::scratch_database::{ScratchOutcome, TriedFiles, try_project};
use crate::serve::payment_checks::{
    check_folder, check_payments, describe_missing_products, describe_missing_seller, describe_placeholders,
};
use crate::serve::{BUILT_IN_FUNCTIONS, describe_data_api, describe_discarded_mail, tls};
use crate::{api_keys, logging, outbound};

/// The arguments of `basalt check`.
#[derive(Debug, Args)]
pub(super) struct ConfigCheckArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print problems and notices as JSON
    #[arg(long)]
    json: bool,
    /// List all skipped statements, not only the first 20 of each cause
    #[arg(long)]
    all: bool,
    /// Exit status 4 if statements of the project would be skipped, as of `basalt exec`
    #[arg(long)]
    strict: bool,
}

/// Reads and checks the configuration, including remote mail templates, and applies the files of the project to a scratch
/// database that is removed.
///
/// Prints what will fail later, and returns what prevents the start as one error.
pub(super) fn run(arguments: &ConfigCheckArguments) -> anyhow::Result<ExitCode> {
    let status = |is_incomplete: bool| {
        if !(arguments.strict && is_incomplete) {
            return ExitCode::SUCCESS;
        }
        eprintln!("basalt: exit status {INCOMPLETE_STATUS} because of the skipped statements (--strict)");
        ExitCode::from(INCOMPLETE_STATUS)
    };
    if !arguments.json {
        let inspected = inspect(arguments)?;
        let is_incomplete = inspected.is_incomplete;
        return print_text(inspected).map(|()| status(is_incomplete));
    }
    let inspected = inspect(arguments);
    let is_incomplete = inspected.as_ref().is_ok_and(|inspected| inspected.is_incomplete);
    let (config, problems, notices, stored) = match inspected {
        Ok(Inspected { project, problems, lines, stored, .. }) => {
            let config = project.layout.has_config.then(|| project.file.path().to_owned());
            (config, problems, lines, stored)
        }
        Err(error) => {
            let (config, problems) = describe_unreadable(&arguments.project, &error);
            (config, problems, Vec::new(), None)
        }
    };
    let is_valid = problems.is_empty();
    let problems = problems.iter().map(|problem| json!({ "line": problem.line, "text": problem.text }));
    let report = json!({
        "config": config,
        "is_valid": is_valid,
        "problems": problems.collect::<Vec<_>>(),
        "notices": notices,
        "storage": stored.as_ref().map(StoredFiles::to_json),
    });
    writeln!(std::io::stdout().lock(), "{report}")?;
    Ok(if is_valid { status(is_incomplete) } else { ExitCode::FAILURE })
}

/// Returns the configuration that `error` is about, and its problems by line if it is not TOML.
fn describe_unreadable(arguments: &ProjectArguments, error: &anyhow::Error) -> (Option<PathBuf>, Vec<Problem>) {
    let of_error = || vec![problem(error)];
    let Ok(layout) = ProjectLayout::find(arguments.config.as_deref()) else { return (None, of_error()) };
    let by_line = layout.read_config().ok().and_then(|text| list_keys(&text).err());
    (layout.has_config.then_some(layout.config), by_line.unwrap_or_else(of_error))
}

/// What an inspection found.
struct Inspected {
    project: Project,
    /// What prevents the start.
    problems: Vec<Problem>,
    /// What will fail later.
    lines: Vec<String>,
    /// The stored files in the data folder.
    stored: Option<StoredFiles>,
    /// Whether statements of the project would be skipped.
    is_incomplete: bool,
}

/// Prints what will fail later; returns what prevents the start as one error.
fn print_text(inspected: Inspected) -> anyhow::Result<()> {
    let Inspected { project, problems, lines, stored, .. } = inspected;
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if !problems.is_empty() {
        return Err(project.config_error(problems));
    }
    let path = project.file.path();
    if path.is_file() {
        writeln!(out, "{} can be used", path.display())?;
    } else {
        writeln!(out, "there is no config.toml here or above: the defaults are used; `basalt init` writes one")?;
    }
    writeln!(out, "{}", describe_data_api(&project, !matches!(project.database_url(), Ok(None))))?;
    if let Some(stored) = stored {
        writeln!(out, "{}", stored.summary())?;
    }
    Ok(())
}

/// Returns the project, what prevents its start, lines about what will fail later, and the stored files.
///
/// In JSON, all skipped statements have a line of their own.
fn inspect(arguments: &ConfigCheckArguments) -> anyhow::Result<Inspected> {
    let (project, mut problems) = Project::inspect(&arguments.project)?;
    let config = validate(&project, &mut problems);
    let mut lines: Vec<String> = Vec::new();
    let mut is_incomplete = false;
    if let Err(error) = tls::load(project.file.basalt.tls.as_ref(), &project.layout.folder) {
        problems.push(problem(&error));
    }
    let files = SchemaFiles::read(&project).unwrap_or_else(|error| {
        problems.push(problem(&error));
        SchemaFiles::default()
    });
    let mut notices = match &config {
        Some(config) => config.notices.clone(),
        None => project.file.notices(),
    };
    notices.extend(files.notices);
    notices.extend(files.left_out);
    notices.extend(describe_other_release(&project));
    if let Some(config) = &config {
        match try_files(&project, config, &mut problems, &mut lines)? {
            Some(TriedFiles { report, unprotected_tables }) => {
                is_incomplete = report.is_incomplete();
                lines.extend(if arguments.json { report.lines(true) } else { report.titled_lines(arguments.all) });
                lines.extend(report.extensions_pointer().map(str::to_owned));
                lines.extend(unprotected_tables);
            }
            None => notices.extend(find_missing_hook_functions(&config.policy.hooks, &files.schema)),
        }
    }
    // What the log has at level debug is still worth a line here if it is of a line of the file.
    let is_shown = |notice: &&Notice| notice.level == NoticeLevel::Warning || notice.name.starts_with("line ");
    lines.extend(notices.iter().filter(is_shown).map(ToString::to_string));
    if let Some(config) = &config {
        lines.extend(check_outbound(config, &mut problems)?);
        lines.extend(describe_discarded_mail(&project, config));
    }
    let unserved = list_unserved_functions(&project, &BUILT_IN_FUNCTIONS);
    if !unserved.is_empty() && project.file.basalt.upstreams.get(Service::Functions).is_none() {
        lines.push(format!("not served by Basalt: the functions {}", unserved.join(", ")));
    }
    lines.extend(describe_shared_origin(&project));
    lines.extend(project.file.unsupported_tables_notice());
    lines.extend(describe_placeholders(&project));
    lines.extend(config.as_ref().and_then(|config| describe_missing_products(&project, config)));
    lines.extend(
        config
            .as_ref()
            .and_then(|config| describe_missing_seller(&project, !has_development_pages(config, &project.file.basalt))),
    );
    if let Some(Err(error)) = config.as_ref().map(|config| check_payments(&project, config)) {
        problems.push(problem(&error));
    }
    match check_folder(&project) {
        Ok(line) => lines.extend(line),
        Err(error) => problems.push(problem(&error)),
    }
    let stored = measure_stored_files(&project, &mut lines);
    let problems = project.place_problems(problems);
    Ok(Inspected { project, problems, lines, stored, is_incomplete })
}

/// Measures the stored files; adds a line if they cannot be read, or if little space is left.
fn measure_stored_files(project: &Project, lines: &mut Vec<String>) -> Option<StoredFiles> {
    match StoredFiles::measure(project) {
        Ok(stored) => {
            lines.extend(stored.iter().flat_map(StoredFiles::warnings));
            stored
        }
        Err(error) => {
            lines.push(format!("the space for stored files cannot be read: {error}"));
            None
        }
    }
}

/// Applies the files of the project to a scratch database; `None` if they are not applied to an embedded database, or
/// there is no PostgreSQL.
fn try_files(
    project: &Project,
    config: &Config,
    problems: &mut Vec<Problem>,
    lines: &mut Vec<String>,
) -> anyhow::Result<Option<TriedFiles>> {
    if !matches!(project.database_url(), Ok(None)) {
        return Ok(None);
    }
    logging::start("error", LogFormat::Text, None)?;
    match build_runtime()?.block_on(Box::pin(try_project(project, &config.policy.hooks))) {
        Ok(ScratchOutcome::Applied(tried)) => Ok(Some(tried)),
        Ok(ScratchOutcome::NoFiles) => Ok(None),
        Ok(ScratchOutcome::NoPostgres) => {
            lines.push("the files of the project were not tried: there is no PostgreSQL here".to_owned());
            Ok(None)
        }
        Err(error) => {
            problems.push(problem(&error));
            Ok(None)
        }
    }
}

/// Describes a release of PostgreSQL that is not the one that the configuration asks for.
fn describe_other_release(project: &Project) -> Option<Notice> {
    if !matches!(project.database_url(), Ok(None)) {
        return None;
    }
    let release = EmbeddedPostgres::find_release(&project.data, &find_binaries(project))?;
    project.file.describe_other_release(release)
}

/// Describes the risk of a desk in the origin of services whose content others write.
fn describe_shared_origin(project: &Project) -> Option<String> {
    let basalt = &project.file.basalt;
    let is_shared = project.has_desk() && basalt.desk_url.is_none() && !basalt.upstreams.is_empty();
    is_shared.then(|| {
        "the desk has the origin of the services in [basalt.upstreams]: in production give it a host of its own, [basalt.desk] \
         url = \"https://desk.example.com\""
            .to_owned()
    })
}

/// Converts the settings; adds their problems and those of the keys.
fn validate(project: &Project, problems: &mut Vec<Problem>) -> Option<Config> {
    let url = project.api_url(project.file.port());
    match api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now()) {
        Ok(keys) => match project.convert(&url, &keys.jwt_secret) {
            Ok(config) => return Some(config),
            Err(more) => problems.extend(more),
        },
        Err(error) => {
            problems.push(problem(&error));
            problems.extend(project.setting_problems(&url));
        }
    }
    None
}

/// Checks the mail server's settings and the remote mail templates; returns lines about the latter.
fn check_outbound(config: &Config, problems: &mut Vec<Problem>) -> anyhow::Result<Vec<String>> {
    if let Err(error) = outbound::build_mailer(config) {
        problems.push(problem(&error));
    }
    match outbound::build_http_client(config) {
        Ok(http) => {
            let templates = MailTemplates::new(&config.policy.mail, &config.policy.site, &Arc::new(http));
            Ok(build_runtime()?.block_on(templates.check_remote(SystemClock.now())))
        }
        Err(error) => {
            problems.push(problem(&error));
            Ok(Vec::new())
        }
    }
}

fn problem(error: &anyhow::Error) -> Problem {
    Problem { line: None, text: replace_setting_names(&format!("{error:#}")) }
}
