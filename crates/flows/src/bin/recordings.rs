//! Replays the recordings of this repository against a binary and reports every difference.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flows::FlowError;
use flows::recordings::{
    ChangeVerdict, RecordingOutcome, RecordingsOptions, ServerCommand, replay_recordings, repository_options,
    update_recordings,
};
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "recordings [--only GLOB]… [--server COMMAND [--folder DIR]] [--update] [--jobs N] [--pgbouncer]
           [--verbose] [--mutate N [--seed TEXT]] [--json FILE] [--flows DIR]

Replays the recordings of tests/recordings/flows against `COMMAND serve` and reports every difference. tests/recordings/README.md describes
them.

  --only GLOB       flows whose names match, such as 'user.*'; may be repeated
  --server COMMAND  the server: the words before serve and migrate (default: target/debug/basalt gotrue)
  --folder DIR      the folder that the server runs in; the reference has its migrations there
  --update          write what the server responds into the files of flows that differ, and list new flows
  --jobs N          servers that run at once (default: twice the number of processors)
  --pgbouncer       servers connect through pgbouncer in transaction mode
  --verbose         print every difference of a flow instead of the first three
  --mutate N        change one expected value in each of N flows; succeeds if each change is found
  --seed TEXT       which N flows and values those are (default: 1)
  --json FILE       write the outcome of each flow to this file
  --flows DIR       other flows than those of tests/recordings/flows, without a list
";
/// The differences of a flow that are printed without `--verbose`.
const SHOWN: usize = 3;

struct Command {
    options: RecordingsOptions,
    is_verbose: bool,
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print(HELP);
        return ExitCode::SUCCESS;
    }
    let result = parse(arguments).and_then(|command| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| FlowError::new(error.to_string(), "free memory"))?;
        runtime.block_on(async {
            tokio::select! {
                result = run(&command) => result,
                error = interruption() => Err(error),
            }
        })
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print(&format!("{error}\n"));
            ExitCode::from(2)
        }
    }
}

/// Waits for Ctrl-C or SIGTERM; the run then ends what it started.
async fn interruption() -> FlowError {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    FlowError::new("the run was interrupted", "its servers and its database are removed")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program for developers is told by the environment where the tools are"
)]
fn parse(arguments: Vec<String>) -> Result<Command, FlowError> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut options = repository_options(&repository.canonicalize().unwrap_or(repository));
    options.search = std::env::var("PATH").unwrap_or_default().into();
    options.programs = std::env::var("PG_BIN_DIR").ok().map(PathBuf::from);
    let mut command = Command { options, is_verbose: false, json: None };
    let (mut mutated, mut seed, mut folder) = (None, "1".to_owned(), None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| FlowError::new(format!("{argument} needs a value"), HELP));
        match argument.as_str() {
            "--server" => command.options.server = ServerCommand::parse(&value()?),
            "--folder" => folder = Some(PathBuf::from(value()?)),
            "--update" => command.options.is_update = true,
            "--flows" => {
                command.options.flows = value()?.into();
                command.options.list = None;
            }
            "--only" => {
                let glob = value()?;
                command.options.only.push(glob);
            }
            "--jobs" => {
                let jobs = value()?.parse();
                command.options.jobs = jobs.map_err(|_| FlowError::new("--jobs needs a number", HELP))?;
            }
            "--mutate" => {
                let wanted = value()?.parse::<usize>();
                mutated = Some(wanted.map_err(|_| FlowError::new("--mutate needs a number", HELP))?);
            }
            "--seed" => seed = value()?,
            "--json" => command.json = Some(value()?.into()),
            "--pgbouncer" => command.options.uses_pooler = true,
            "--verbose" => command.is_verbose = true,
            other => return Err(FlowError::new(format!("{other} is no option"), HELP)),
        }
    }
    command.options.mutation = mutated.map(|wanted| (wanted, seed));
    command.options.server.folder = folder;
    if command.options.is_update && command.options.mutation.is_some() {
        return Err(FlowError::new("--update would write changed values", "leave out --mutate"));
    }
    Ok(command)
}

async fn run(command: &Command) -> Result<bool, FlowError> {
    let report = |recording: &RecordingOutcome| {
        if !recording.outcome.is_success() {
            print(&describe(recording, command.is_verbose));
        }
    };
    let outcomes = replay_recordings(&command.options, &report).await?;
    let mut areas: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut words = Map::new();
    let (mut steps, mut same) = (0, 0);
    for recording in &outcomes {
        let area = areas.entry(recording.name.split('.').next().unwrap_or_default()).or_default();
        let is_success = recording.outcome.is_success();
        area.0 += usize::from(is_success);
        area.1 += 1;
        steps += recording.recorded;
        same += recording.outcome.steps.iter().filter(|step| step.differences.is_empty()).count();
        words.insert(recording.name.clone(), Value::from(if is_success { "ok" } else { "differs" }));
    }
    words.sort_keys();
    for (area, (passed, all)) in &areas {
        print(&format!("{area:24} {passed:3} of {all:3}\n"));
    }
    let passed = words.values().filter(|word| *word == "ok").count();
    print(&format!("{same} of {steps} steps as recorded\n{passed} of {} flows as recorded\n", outcomes.len()));
    if let Some(path) = &command.json {
        let text = serde_json::to_string_pretty(&words).unwrap_or_default();
        std::fs::write(path, text)
            .map_err(|error| FlowError::new(format!("{}: {error}", path.display()), "name another file"))?;
    }
    if let Some((wanted, _)) = &command.options.mutation {
        return Ok(report_changes(&outcomes, *wanted));
    }
    if command.options.is_update {
        for path in update_recordings(&command.options, &outcomes)? {
            print(&format!("wrote {}\n", path.display()));
        }
        return Ok(outcomes.iter().all(|recording| recording.outcome.error.is_none()));
    }
    Ok(passed == outcomes.len() && !outcomes.is_empty())
}

/// Reports which changed values were found; returns whether all were.
fn report_changes(outcomes: &[RecordingOutcome], wanted: usize) -> bool {
    let mut found = 0;
    for recording in outcomes {
        match recording.changed.as_ref().map(|changed| changed.judge(&recording.outcome)) {
            Some(ChangeVerdict::Found) => found += 1,
            Some(ChangeVerdict::Missed) => print(&format!("MISSED  {}: the change is not found\n", recording.name)),
            _ => print(&format!("NOT JUDGED  {}: it fails for another reason, too\n", recording.name)),
        }
    }
    print(&format!("{found} of {wanted} changed values were found\n"));
    found == wanted
}

fn describe(recording: &RecordingOutcome, is_verbose: bool) -> String {
    let outcome = &recording.outcome;
    let same = outcome.steps.iter().filter(|step| step.differences.is_empty()).count();
    let mut text = format!("FAIL  {}: {same} of {} steps as recorded\n", recording.name, recording.recorded);
    let differences = outcome.steps.iter().flat_map(|step| step.differences.iter().map(move |found| (step, found)));
    for (step, found) in differences.take(if is_verbose { usize::MAX } else { SHOWN }) {
        let lines = found.to_lines().replace('\n', "\n        ");
        text.extend(["        step ", &step.number.to_string(), " ", &step.title, ": ", &lines, "\n"]);
    }
    if let Some(error) = &outcome.error {
        text.extend(["        ", &error.to_string(), "\n"]);
    }
    text
}

fn print(text: &str) {
    // A closed pipe ends the reader's interest, not the run.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
