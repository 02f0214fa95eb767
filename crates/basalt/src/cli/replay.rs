//! `basalt replay`: replays recorded flows and reports what differs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use data_folder::DataFolder;
use flows::FlowError;
use flows::format::Profile;
use flows::replay::{
    FileOutcome, FlowFile, Permissions, ReplayOptions, Report, build_client, find_flows, find_missing_users,
    format_json, format_junit, format_text, replay_all, update_file,
};
use flows::sources::MessageSource;
use flows::targets::{TestServer, UpgradeOptions, UpgradeTargets, UrlTargets, UrlTargetsOptions, WorldTargets};
use platform::entropy::Entropy;
use reqwest::Client;
use serde_json::{Map, Value};

use super::process::build_runtime;
use super::replay_project::{ReplayProject, ReplayServer};
use crate::config_file::LogFormat;
use crate::logging;
use crate::serve::generate_test_signing_key;

/// The long help of the command.
pub(super) const REPLAY_HELP: &str = "Replay recorded flows and report every difference

Each flow runs in a world of its own, on a test server that this command starts. The server is that of the project around
the command, if there is one: its config.toml, migrations, seed and hooks; --isolated uses none. Settings that a flow
names come on top, except those that the recorder has only inferred. The first lines say what is used. Codes in messages,
one-time passwords, passkeys and consents come from that world. Requests to the data API and the storage API need the
tables, policies and buckets of the project. With --against the same flows run against another server:
a hosted project, a container, a version of the reference. With --upgrade two binaries answer in turn on one database, as
during a rolling update, with the profile and the settings of each flow.

Exit status: 0 if every flow is as recorded, 1 if one differs or cannot be finished, 2 if nothing could be replayed.";

/// The arguments of `basalt replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  basalt replay flows/                                   every flow below a folder
  basalt replay flows/ --only 'sign_up.*' --jobs 4       some of them
  basalt replay flows/ --isolated                        without the project around the command
  basalt replay flows/ --seed-users                      create users that flows sign in but do not create
  basalt replay flows/ --update                          accept the differences
  basalt replay flows/ --junit replay.xml                for CI
  basalt replay flows/ --against http://127.0.0.1:9999 --jwt-secret \"$JWT_SECRET\" --messages http://127.0.0.1:8025")]
pub(super) struct ReplayArguments {
    /// Files of flows, or folders with them
    #[arg(required = true, value_name = "FLOWS")]
    flows: Vec<PathBuf>,
    /// The configuration of the project [default: config.toml, else supabase/config.toml here or above]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Use no project: a server with the settings of the flows alone
    #[arg(long, conflicts_with_all = ["config", "against", "upgrade"])]
    isolated: bool,
    /// Create users that a flow signs in but does not create, with the key of servers
    #[arg(long)]
    seed_users: bool,
    /// Replay against this server: the URL of a project or of an auth API
    #[arg(long, value_name = "URL")]
    against: Option<String>,
    /// With --against: the key of clients
    #[arg(long, value_name = "KEY", env = "SUPABASE_PUBLISHABLE_KEY", hide_env_values = true)]
    publishable_key: Option<String>,
    /// With --against: the key of servers, for flows that need one
    #[arg(long, value_name = "KEY", env = "SUPABASE_SECRET_KEY", hide_env_values = true)]
    secret_key: Option<String>,
    /// With --against: the secret of its tokens, from which keys are made
    #[arg(long, value_name = "SECRET", env = "SUPABASE_JWT_SECRET", hide_env_values = true)]
    jwt_secret: Option<String>,
    /// With --against: where its messages are: Mailpit, or a URL that ends with /_dev/messages
    #[arg(long, value_name = "URL", requires = "against")]
    messages: Option<String>,
    /// Replay on two binaries in turn, request by request, on one database: basalt, or GoTrue's server
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "against")]
    upgrade: Vec<PathBuf>,
    /// The largest number of flows at a time [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Replay only flows whose names match; can be repeated
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Replay with this profile in place of the recorded one
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileArgument>,
    /// A value that no source has, such as an access token from before the recording; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_given)]
    given: Vec<(String, Value)>,
    #[command(flatten, next_help_heading = "What the files of flows may reach")]
    reach: ReachArguments,
    /// Write the new values into the files of flows that differ
    #[arg(long)]
    update: bool,
    /// Write a report in the XML of `JUnit`
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON document in place of text
    #[arg(long)]
    json: bool,
}

/// Permissions, for flows that one has read.
#[derive(Debug, Args)]
struct ReachArguments {
    /// Files outside of the folder that FLOWS names
    #[arg(long)]
    allow_files: bool,
    /// Variables of the environment, by env(NAME)
    #[arg(long)]
    allow_env: bool,
    /// Hosts other than this machine, for hooks, mail, providers and requests
    #[arg(long)]
    allow_hosts: bool,
}

impl From<&ReachArguments> for Permissions {
    fn from(reach: &ReachArguments) -> Self {
        Self { files: reach.allow_files, environment: reach.allow_env, hosts: reach.allow_hosts }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileArgument {
    Serve,
    Gotrue,
}

impl From<ProfileArgument> for Profile {
    fn from(profile: ProfileArgument) -> Self {
        match profile {
            ProfileArgument::Serve => Self::Serve,
            ProfileArgument::Gotrue => Self::Gotrue,
        }
    }
}

fn parse_given(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let is_structured = value.starts_with(['{', '[']);
    let parsed = is_structured.then(|| serde_json::from_str(value).ok()).flatten();
    Ok((name.to_owned(), parsed.unwrap_or_else(|| value.into())))
}

/// Replays the flows and returns the exit status.
pub(super) fn run(arguments: &ReplayArguments) -> anyhow::Result<ExitCode> {
    logging::start("warn", LogFormat::Text, None)?;
    match build_runtime()?.block_on(replay(arguments)) {
        Ok(report) if report.failed == 0 => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("basalt: {error:#}");
            Ok(ExitCode::from(2))
        }
    }
}

async fn replay(arguments: &ReplayArguments) -> anyhow::Result<Report> {
    let files = find_flows(&arguments.flows, &arguments.only)?;
    let project = ReplayProject::find(arguments.config.as_deref(), wanted_server(arguments))?;
    let client = build_client(arguments.upgrade.is_empty())?;
    let options = ReplayOptions {
        jobs: arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from)),
        profile: arguments.profile.map(Profile::from),
        given: arguments.given.iter().cloned().collect::<Map<_, _>>(),
        permissions: Permissions::from(&arguments.reach),
        has_project: project.has_settings(),
        seeds_users: arguments.seed_users,
    };
    introduce(arguments, &project, &files, &options.given);
    let print = |file: &FileOutcome| {
        if !arguments.json {
            let _ = writeln!(std::io::stdout(), "{}", format_text(file));
        }
    };
    let outcomes = if let Some(url) = &arguments.against {
        let targets = UrlTargets::find(&client, against(arguments, url)).await?;
        replay_all(files.clone(), Arc::new(targets), &client, &options, print).await
    } else {
        let folder = DataFolder::open_ephemeral(&Entropy::from_system().base32(12))?;
        let server = start_server(&client, &folder, &project).await?;
        if let [old, new] = arguments.upgrade.as_slice() {
            let upgrade = upgrade_options(old, new, &folder)?;
            let targets = Arc::new(UpgradeTargets::new(server, client.clone(), upgrade));
            let outcomes = replay_all(files.clone(), Arc::clone(&targets) as _, &client, &options, print).await;
            if let Some(targets) = Arc::into_inner(targets) {
                targets.stop().await;
            }
            return finish(arguments, &files, &outcomes);
        }
        let targets = Arc::new(WorldTargets::new(server));
        let outcomes = replay_all(files.clone(), Arc::clone(&targets) as _, &client, &options, print).await;
        if let Some(targets) = Arc::into_inner(targets) {
            targets.stop().await;
        }
        outcomes
    };
    finish(arguments, &files, &outcomes)
}

fn wanted_server(arguments: &ReplayArguments) -> ReplayServer<'_> {
    match &arguments.against {
        Some(url) => ReplayServer::Url(url),
        None if !arguments.upgrade.is_empty() => ReplayServer::TwoBinaries,
        None if arguments.isolated => ReplayServer::Isolated,
        None => ReplayServer::OfProject,
    }
}

fn against(arguments: &ReplayArguments, url: &str) -> UrlTargetsOptions {
    UrlTargetsOptions {
        url: url.to_owned(),
        publishable_key: arguments.publishable_key.clone(),
        secret_key: arguments.secret_key.clone(),
        jwt_secret: arguments.jwt_secret.clone(),
        messages: arguments.messages.as_deref().map(MessageSource::of_url),
    }
}

fn upgrade_options(old: &Path, new: &Path, folder: &DataFolder) -> anyhow::Result<UpgradeOptions> {
    // Both run in other folders; a name alone is looked up in PATH.
    let locate = |binary: &Path| match binary.components().count() {
        1 => Ok(binary.to_owned()),
        _ => std::path::absolute(binary),
    };
    Ok(UpgradeOptions {
        old: locate(old)?,
        new: locate(new)?,
        folder: folder.path().join("upgrade"),
        signing_key: generate_test_signing_key()?,
    })
}

/// Starts a test server of this binary, or uses the one of `basalt exec`.
async fn start_server(client: &Client, folder: &DataFolder, project: &ReplayProject) -> anyhow::Result<TestServer> {
    let binary = std::env::current_exe()?;
    match project {
        ReplayProject::OfExec { url, key } => Ok(TestServer::attach(client.clone(), url.clone(), key.clone())),
        ReplayProject::Project { start, config, .. } => {
            let given = config.as_ref().map(|config| config.display().to_string());
            let arguments: Vec<&str> = given.iter().flat_map(|config| ["--config", config.as_str()]).collect();
            Ok(TestServer::start(client.clone(), &binary, start, &arguments).await?)
        }
        ReplayProject::None { .. } => Ok(TestServer::start(client.clone(), &binary, folder.path(), &[]).await?),
    }
}

/// Prints what the replay uses, and which users the flows miss.
fn introduce(arguments: &ReplayArguments, project: &ReplayProject, files: &[FlowFile], given: &Map<String, Value>) {
    let mut lines = vec![project.describe()];
    for file in files {
        for user in find_missing_users(&file.flow, given) {
            let (flow, step, address) = (&file.flow.name, user.step, &user.address);
            let set: Vec<String> = user.variables().iter().map(|name| format!("--set {name}=VALUE")).collect();
            let (set, missing) =
                (set.join(" "), format!("{flow} signs in {address} in step {step} and does not create it"));
            lines.push(match (arguments.seed_users, set.is_empty()) {
                (true, _) => format!("{missing}: it is created before that step"),
                (false, true) => format!("{missing}: --seed-users creates it"),
                (false, false) => format!("{missing}: --seed-users creates it, {set} names one that exists"),
            });
        }
    }
    // With --json, standard output is one document.
    for line in lines {
        let _ =
            if arguments.json { writeln!(std::io::stderr(), "{line}") } else { writeln!(std::io::stdout(), "{line}") };
    }
}

fn finish(arguments: &ReplayArguments, files: &[FlowFile], outcomes: &[FileOutcome]) -> anyhow::Result<Report> {
    let report = Report::of(outcomes);
    let mut out = std::io::stdout();
    if arguments.update {
        for (file, outcome) in files.iter().zip(outcomes) {
            if update_file(file, outcome)? && !arguments.json {
                writeln!(out, "wrote {}", file.path.display())?;
            }
        }
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, format_junit(outcomes))
            .map_err(|error| FlowError::new(format!("{}: {error}", path.display()), "name a file for --junit"))?;
    }
    if arguments.json {
        write!(out, "{}", format_json(outcomes))?;
    } else {
        writeln!(out, "{} passed, {} failed", report.passed, report.failed)?;
    }
    Ok(report)
}
