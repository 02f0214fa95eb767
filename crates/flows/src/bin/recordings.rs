//! Replays the recordings of this repository against a binary and reports every difference.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flows::FlowError;
use flows::recordings::{
    ChangeVerdict, RecordingOutcome, RecordingsOptions, ScenarioOutcome, ServerCommand, replay_data_recordings,
    replay_recordings, repository_options, update_recordings,
};
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "recordings [--only GLOB]… [--server COMMAND [--folder DIR]] [--data-server COMMAND] [--update] [--jobs N]
           [--pgbouncer] [--verbose] [--mutate N [--seed TEXT]] [--json FILE] [--flows DIR]

Replays the recordings of tests/recordings/flows against `COMMAND serve`, and those of the data API, whose names begin with rest., against
`COMMAND FILE`. Reports every difference. tests/recordings/README.md describes them.

  --only GLOB       flows whose names match, such as 'user.*'; may be repeated
  --server COMMAND  the server: the words before serve and migrate (default: target/debug/basalt gotrue)
  --folder DIR      the folder that the server runs in; the reference has its migrations there
  --data-server COMMAND
                    the server of the data API: the words before its file (default: target/debug/basalt postgrest, and none
                    with --server, --flows, --update and --mutate)
  --update          write what the server responds into the files of flows that differ, and list new flows
  --jobs N          servers that run at once (default: twice the number of processors)
  --pgbouncer       servers connect through pgbouncer in transaction mode
  --verbose         print every difference of a flow instead of the first three
  --mutate N        change one expected value in each of N flows; succeeds if each change is found
  --seed TEXT       which N flows and values those are (default: 1)
  --json FILE       write the outcome of each flow to this file
  --flows DIR       other flows than those of tests/recordings/flows, without a list
";
/// What the names of recordings of the data API begin with.
const DATA_PREFIX: &str = "rest.";
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
    let (mut mutated, mut seed, mut folder, mut data_server) = (None, "1".to_owned(), None, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| FlowError::new(format!("{argument} needs a value"), HELP));
        match argument.as_str() {
            "--server" => {
                command.options.server = ServerCommand::parse(&value()?);
                command.options.data_server = None;
            }
            "--data-server" => data_server = Some(ServerCommand::parse(&value()?)),
            "--folder" => folder = Some(PathBuf::from(value()?)),
            "--update" => command.options.is_update = true,
            "--flows" => {
                command.options.flows = value()?.into();
                command.options.list = None;
                command.options.data_server = None;
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
    if command.options.is_update || command.options.mutation.is_some() {
        command.options.data_server = None;
    }
    command.options.data_server = data_server.or(command.options.data_server);
    if command.options.is_update && command.options.mutation.is_some() {
        return Err(FlowError::new("--update would write changed values", "leave out --mutate"));
    }
    Ok(command)
}

async fn run(command: &Command) -> Result<bool, FlowError> {
    let mut tally = Tally::default();
    let scenarios = replay_data(command, &mut tally).await?;
    let names_flows = command.options.only.iter().any(|glob| !glob.starts_with(DATA_PREFIX));
    let outcomes = if command.options.only.is_empty() || names_flows || scenarios == 0 {
        replay_flows(command, &mut tally).await?
    } else {
        Vec::new()
    };
    tally.print();
    if let Some(path) = &command.json {
        let text = serde_json::to_string_pretty(&tally.words).unwrap_or_default();
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
    Ok(tally.is_success())
}

/// Replays the flows of the auth API.
async fn replay_flows(command: &Command, tally: &mut Tally) -> Result<Vec<RecordingOutcome>, FlowError> {
    let report = |recording: &RecordingOutcome| {
        if !recording.outcome.is_success() {
            print(&describe(recording, command.is_verbose));
        }
    };
    let outcomes = replay_recordings(&command.options, &report).await?;
    for recording in &outcomes {
        let same = recording.outcome.steps.iter().filter(|step| step.differences.is_empty()).count();
        let area = recording.name.split('.').next().unwrap_or_default();
        tally.count(area, &recording.name, recording.outcome.is_success(), (same, recording.recorded));
    }
    Ok(outcomes)
}

/// Replays the recordings of the data API and returns their number.
async fn replay_data(command: &Command, tally: &mut Tally) -> Result<usize, FlowError> {
    let report = |scenario: &ScenarioOutcome| {
        if !scenario.is_success() {
            print(&describe_scenario(scenario, command.is_verbose));
        }
    };
    let scenarios = replay_data_recordings(&command.options, &report).await?;
    for scenario in &scenarios {
        let area = scenario.name.split('.').take(2).collect::<Vec<_>>().join(".");
        tally.count(&area, &scenario.name, scenario.is_success(), (scenario.same, scenario.recorded));
    }
    Ok(scenarios.len())
}

/// What was as recorded.
#[derive(Default)]
struct Tally {
    /// Flows as recorded and all, by area.
    areas: BTreeMap<String, (usize, usize)>,
    /// `ok` or `differs` by flow.
    words: Map<String, Value>,
    /// Steps as recorded and all.
    steps: (usize, usize),
}

impl Tally {
    fn count(&mut self, area: &str, name: &str, is_success: bool, (same, recorded): (usize, usize)) {
        let counted = self.areas.entry(area.to_owned()).or_default();
        counted.0 += usize::from(is_success);
        counted.1 += 1;
        self.steps.0 += same;
        self.steps.1 += recorded;
        self.words.insert(name.to_owned(), Value::from(if is_success { "ok" } else { "differs" }));
        self.words.sort_keys();
    }

    fn passed(&self) -> usize {
        self.words.values().filter(|word| *word == "ok").count()
    }

    fn is_success(&self) -> bool {
        self.passed() == self.words.len() && !self.words.is_empty()
    }

    fn print(&self) {
        for (area, (passed, all)) in &self.areas {
            print(&format!("{area:24} {passed:3} of {all:3}\n"));
        }
        let ((same, steps), passed, all) = (self.steps, self.passed(), self.words.len());
        print(&format!("{same} of {steps} steps as recorded\n{passed} of {all} flows as recorded\n"));
    }
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

fn describe_scenario(scenario: &ScenarioOutcome, is_verbose: bool) -> String {
    let ScenarioOutcome { name, recorded, same, differences, error } = scenario;
    let mut text = format!("FAIL  {name}: {same} of {recorded} steps as recorded\n");
    for difference in differences.iter().take(if is_verbose { usize::MAX } else { SHOWN }) {
        text.extend(["        ", &difference.replace('\n', "\n        "), "\n"]);
    }
    if let Some(error) = error {
        text.extend(["        ", &error.to_string(), "\n"]);
    }
    text
}

fn print(text: &str) {
    // A closed pipe ends the reader's interest, not the run.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
