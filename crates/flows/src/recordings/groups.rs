//! Groups flows that share a server: those with equal settings, in pieces of a limited number.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::list::RecordingList;
use super::mutation::mutate;
use super::options::RecordingsOptions;
use crate::FlowError;
use crate::format::{Action, Flow, Settings, load_settings};
use crate::replay::{FlowFile, find_flows};

/// The most flows of one server, so that several servers can share those of the usual settings.
const MAX_FLOWS: usize = 48;
/// What a flow costs by itself, in milliseconds.
const START: u64 = 20;
/// What a step costs, in milliseconds.
const STEP: u64 = 15;

/// Flows with the same settings.
#[derive(Debug)]
pub(super) struct Group {
    /// The name of its database and of its log.
    pub name: String,
    pub settings: Arc<Settings>,
    /// The flows, in the order of their names.
    pub flows: Vec<FlowFile>,
}

/// Reads the recordings whose names match a glob.
///
/// # Errors
/// A file is invalid, a flow compares nothing, or it is not as the list says.
pub(super) fn load_flows(options: &RecordingsOptions) -> Result<Vec<FlowFile>, FlowError> {
    let files = find_flows(std::slice::from_ref(&options.flows), &options.only)?;
    let mut found = BTreeMap::new();
    for file in &files {
        let compared = count_recorded(&file.flow);
        let problem = match found.insert(file.flow.name.as_str(), compared) {
            _ if compared == 0 => "it compares nothing",
            Some(_) => "another file has a flow of this name",
            None => continue,
        };
        let hint = "a step is compared if it has the member expect, and each flow has a name of its own";
        return Err(FlowError::new(format!("{}: {problem}", file.path.display()), hint));
    }
    if let Some(list) = &options.list {
        RecordingList::load(list)?.check(&found, &options.only, options.is_update)?;
    }
    Ok(files)
}

/// Returns the number of steps that are compared.
pub(super) fn count_recorded(flow: &Flow) -> usize {
    let is_recorded = |action: &Action| match action {
        Action::Request(request) => request.expect.is_some(),
        Action::Note { .. } => true,
        _ => false,
    };
    flow.steps.iter().filter(|step| is_recorded(&step.action)).count()
}

/// Reads the recordings and groups them, the longest group first.
pub(super) fn load_groups(options: &RecordingsOptions) -> Result<Vec<Group>, FlowError> {
    let mut files = load_flows(options)?;
    if let Some((wanted, seed)) = &options.mutation {
        files = mutate(files, seed, *wanted);
        files.sort_by(|left, right| left.flow.name.cmp(&right.flow.name));
    }
    let mut by_settings: BTreeMap<String, Group> = BTreeMap::new();
    for file in files {
        let folder = file.path.parent().unwrap_or(&options.flows);
        let settings = load_settings(&file.flow, folder, None).map_err(|error| error.at(&file.flow.name))?;
        // A flow that counts what all have made has a server of its own.
        let alone = settings.others.contains_key("isolated").then_some(&file.flow.name);
        let key = format!("{:?}", (&settings.env, &settings.sql, &settings.others, alone));
        let number = by_settings.len();
        let group = by_settings.entry(key).or_insert_with(|| Group {
            name: format!("recordings_{number}"),
            settings: Arc::new(settings),
            flows: Vec::new(),
        });
        group.flows.push(file);
    }
    let mut groups: Vec<Group> = by_settings.into_values().flat_map(split).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.flows.iter().map(|file| weigh(&file.flow)).sum::<u64>()));
    Ok(groups)
}

/// Estimates how long a flow takes, in milliseconds: its steps, pauses and delayed answers.
fn weigh(flow: &Flow) -> u64 {
    let steps = flow.steps.iter().map(|step| match &step.action {
        Action::Pause(seconds) => milliseconds(*seconds),
        Action::Do(calls) => calls.iter().map(delay).sum(),
        _ => STEP,
    });
    START + steps.sum::<u64>()
}

/// The delays inside of the answers that a call sets.
fn delay(value: &Value) -> u64 {
    match value {
        Value::Object(members) => {
            let own = members.get("delay").and_then(Value::as_f64).map_or(0, milliseconds);
            own + members.values().map(delay).sum::<u64>()
        }
        Value::Array(items) => items.iter().map(delay).sum(),
        _ => 0,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a flow are few and positive")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0) as u64
}

/// Splits a group into pieces of similar size.
fn split(group: Group) -> Vec<Group> {
    let pieces = group.flows.len().div_ceil(MAX_FLOWS);
    let size = group.flows.len().div_ceil(pieces.max(1));
    let mut flows = group.flows.into_iter().peekable();
    let mut groups = Vec::new();
    while flows.peek().is_some() {
        let name = format!("{}_{}", group.name, groups.len());
        groups.push(Group { name, settings: Arc::clone(&group.settings), flows: flows.by_ref().take(size).collect() });
    }
    groups
}
