//! Replays files of flows and reports what differs.

mod files;
mod outcome;
mod report;
mod update;
mod users;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

pub use self::files::{FlowFile, find_flows};
pub use self::outcome::FileOutcome;
pub use self::report::{Report, format_json, format_junit, format_text};
pub use self::update::update_file;
pub use self::users::{MissingUser, find_missing_users};
pub use crate::permissions::Permissions;

use crate::FlowError;
use crate::format::{Profile, load_settings};
use crate::runner::{FlowOutcome, run_flow, send_setup};
use crate::sources::Scope;
use crate::standins::{self, StartedStandIns};
use crate::targets::{Target, Targets, WantedServer};

/// The longest wait for one response; servers wait for hooks and providers.
const RESPONSE_LIMIT: Duration = Duration::from_mins(1);

/// How flows are replayed.
#[derive(Clone)]
pub struct ReplayOptions {
    /// The largest number of flows at a time.
    pub jobs: usize,
    /// Replaces the profile of the files.
    pub profile: Option<Profile>,
    /// Values that replace those of sources.
    pub given: Map<String, Value>,
    /// What the flows may reach.
    pub permissions: Permissions,
    /// Whether the servers have the settings of a project, which replace inferred ones of the files.
    pub has_project: bool,
    /// Whether users are created that a flow signs in but does not create.
    pub seeds_users: bool,
}

/// Creates the HTTP client of replays: without redirects and proxies.
///
/// With `is_pooled` it uses connections for several requests.
///
/// # Errors
/// The system's root certificates cannot be read.
pub fn build_client(is_pooled: bool) -> Result<Client, FlowError> {
    let mut builder = Client::builder().no_proxy().redirect(Policy::none()).timeout(RESPONSE_LIMIT);
    if !is_pooled {
        builder = builder.pool_max_idle_per_host(0);
    }
    builder
        .build()
        .map_err(|error| FlowError::new(format!("no HTTP client: {error}"), "check the system's certificates"))
}

/// Replays the flows, several at a time, and calls `done` after each.
///
/// Every file has an outcome, in the same order.
pub async fn replay_all(
    files: Vec<FlowFile>,
    targets: Arc<dyn Targets>,
    client: &Client,
    options: &ReplayOptions,
    mut done: impl FnMut(&FileOutcome),
) -> Vec<FileOutcome> {
    let permits = Arc::new(Semaphore::new(options.jobs.max(1)));
    let mut running = JoinSet::new();
    let mut places = HashMap::new();
    for (number, file) in files.into_iter().enumerate() {
        let (path, name) = (file.path.clone(), file.flow.name.clone());
        let (targets, client, options) = (Arc::clone(&targets), client.clone(), options.clone());
        let permits = Arc::clone(&permits);
        let task = running.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let started = Instant::now();
            let outcome = replay_file(&file, targets.as_ref(), client, &options).await;
            let duration = started.elapsed();
            (outcome, duration)
        });
        places.insert(task.id(), (number, path, name));
    }
    let mut outcomes = Vec::new();
    while let Some(joined) = running.join_next_with_id().await {
        let (task, (outcome, duration)) = match joined {
            Ok(joined) => joined,
            Err(error) => (error.id(), (interrupted(&error), Duration::ZERO)),
        };
        let Some((number, path, name)) = places.remove(&task) else { continue };
        let outcome = FileOutcome { path, name, outcome, duration };
        done(&outcome);
        outcomes.push((number, outcome));
    }
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Returns the outcome of a flow whose replay panicked.
fn interrupted(error: &JoinError) -> FlowOutcome {
    let hint = "report it with the file of the flow: this is a defect of the replay";
    FlowOutcome { steps: Vec::new(), error: Some(FlowError::new(format!("the replay did not end: {error}"), hint)) }
}

/// Replays one file on a server of its own.
async fn replay_file(file: &FlowFile, targets: &dyn Targets, client: Client, options: &ReplayOptions) -> FlowOutcome {
    let failed = |error: FlowError| FlowOutcome { steps: Vec::new(), error: Some(error) };
    let (mut wanted, started) = match prepare(file, options).await {
        Ok(prepared) => prepared,
        Err(error) => return failed(error),
    };
    for each in &started {
        wanted.names.extend(each.names.clone());
    }
    let target = match targets.open(&wanted).await {
        Ok(target) => target,
        Err(error) => return failed(error.at("starting the server")),
    };
    let scope = Arc::new(build_scope(&wanted, Arc::clone(&target), client, (&started, options)));
    let users = if options.seeds_users { find_missing_users(&file.flow, &options.given) } else { Vec::new() };
    let before = |number: usize| -> BoxFuture<'_, Result<(), FlowError>> {
        let (seeding, prepared) = (seed(&users, number, &scope), targets.before_step(&target, number));
        Box::pin(async move {
            seeding.await?;
            prepared.await
        })
    };
    let mut outcome = run_flow(&file.flow, &scope, Some(&before)).await;
    if let Err(error) = targets.close(&target).await {
        outcome.error.get_or_insert(error.at("ending the server"));
    }
    outcome
}

/// Creates the users that the request of this number signs in.
async fn seed(users: &[MissingUser], number: usize, scope: &Arc<Scope>) -> Result<(), FlowError> {
    for user in users.iter().filter(|user| user.request == number) {
        scope.set(users::USER_ID, scope.entropy.uuid().to_string().into());
        let created = send_setup(&user.creation(), scope).await;
        created.map_err(|error| error.at(&format!("creating the user {}", user.address)))?;
    }
    Ok(())
}

async fn prepare(file: &FlowFile, options: &ReplayOptions) -> Result<(WantedServer, Vec<StartedStandIns>), FlowError> {
    let folder = file.path.parent().unwrap_or(std::path::Path::new("."));
    let root = if options.permissions.files { None } else { Some(file.root.as_path()) };
    let mut settings = load_settings(&file.flow, folder, root)?;
    if options.has_project {
        settings = settings.for_project();
    }
    options.permissions.check_settings(&mut settings, &file.root)?;
    let mut started = Vec::new();
    for each in standins::all() {
        started.push(each.start(&settings).await?);
    }
    let wanted = WantedServer {
        flow: file.flow.name.clone(),
        profile: options.profile.unwrap_or(file.flow.profile),
        settings: Arc::new(settings),
        names: Map::new(),
    };
    Ok((wanted, started))
}

fn build_scope(
    wanted: &WantedServer,
    target: Arc<Target>,
    client: Client,
    (started, options): (&[StartedStandIns], &ReplayOptions),
) -> Scope {
    let scope = Scope::new(&wanted.flow, target, Arc::clone(&wanted.settings), client)
        .with_sources(started.iter().map(|each| Arc::clone(&each.sources)).collect())
        .with_given(options.given.clone())
        .with_permissions(options.permissions);
    for (name, value) in &wanted.names {
        scope.set(name, value.clone());
        if let Some(url) = value.as_str().filter(|text| text.contains("://")) {
            scope.symbols().learn(url, name);
        }
    }
    scope
}
