//! Changes one expected value of a flow, to check that its replay finds the change.

use serde_json::Value;

use crate::compare::Difference;
use crate::format::{Action, Flow, Step};
use crate::replay::FlowFile;
use crate::runner::FlowOutcome;
use crate::sources::sha256;

/// The expected value of a flow that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedValue {
    /// The number of its step.
    pub step: usize,
    /// Where it is in the response, as differences name it.
    pub path: String,
}

/// What a replay tells about a changed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// It is the only difference.
    Found,
    /// There is no difference.
    Missed,
    /// The flow ended early or differs elsewhere, too, so that it would have failed without the change.
    NotJudged,
}

impl ChangedValue {
    /// Judges a replay of the flow.
    pub fn judge(&self, outcome: &FlowOutcome) -> ChangeVerdict {
        let found =
            outcome.steps.iter().flat_map(|step| step.differences.iter().map(move |found| (step.number, found)));
        let is_elsewhere = |(step, found): (usize, &Difference)| step != self.step || found.path != self.path;
        if outcome.error.is_some() || found.clone().any(is_elsewhere) {
            return ChangeVerdict::NotJudged;
        }
        if found.count() > 0 { ChangeVerdict::Found } else { ChangeVerdict::Missed }
    }
}

/// Returns which value of a flow is changed; the same before and after the change.
pub(super) fn find_changed(flow: &Flow, seed: &str) -> Option<ChangedValue> {
    let mut flow = flow.clone();
    let rank = rank(&flow, seed);
    choose(&mut flow, &rank).map(|(place, _)| place)
}

fn rank(flow: &Flow, seed: &str) -> Vec<u8> {
    sha256(format!("{seed} {}", flow.name).as_bytes())
}

/// Chooses a number of flows by a seed and changes one expected value in each.
pub(super) fn mutate(files: Vec<FlowFile>, seed: &str, wanted: usize) -> Vec<FlowFile> {
    let mut ranked: Vec<(Vec<u8>, FlowFile)> = files.into_iter().map(|file| (rank(&file.flow, seed), file)).collect();
    ranked.sort_by(|left, right| left.0.cmp(&right.0));
    let changed = ranked.into_iter().filter_map(|(rank, mut file)| change(&mut file.flow, &rank).then_some(file));
    changed.take(wanted).collect()
}

/// Changes the expected value that a rank points to; false if there is none.
fn change(flow: &mut Flow, rank: &[u8]) -> bool {
    let Some((_, leaf)) = choose(flow, rank) else { return false };
    *leaf = match &*leaf {
        Value::Bool(value) => (!value).into(),
        Value::Number(value) => (value.as_f64().unwrap_or_default() + 1.0).into(),
        Value::String(text) => format!("changed {text}").into(),
        _ => "changed".into(),
    };
    true
}

/// Returns the expected value that a rank points to.
fn choose<'a>(flow: &'a mut Flow, rank: &[u8]) -> Option<(ChangedValue, &'a mut Value)> {
    let number = rank.iter().take(4).fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    let mut leaves = Vec::new();
    for (step, Step { action, .. }) in flow.steps.iter_mut().enumerate() {
        let place = ChangedValue { step, path: String::new() };
        match action {
            Action::Request(request) => {
                request.expect.iter_mut().for_each(|expect| collect(expect, &place, &mut leaves));
            }
            Action::Note { expect, .. } => collect(expect, &place, &mut leaves),
            _ => {}
        }
    }
    let count = leaves.len();
    leaves.into_iter().nth(number.checked_rem(count).unwrap_or_default())
}

/// Collects the values without members.
fn collect<'a>(value: &'a mut Value, place: &ChangedValue, leaves: &mut Vec<(ChangedValue, &'a mut Value)>) {
    let is_leaf = match &*value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    let below = |path: String| ChangedValue { path, ..*place };
    match value {
        leaf if is_leaf => leaves.push((place.clone(), leaf)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            let dot = if place.path.is_empty() { "" } else { "." };
            collect(member, &below(format!("{}{dot}{name}", place.path)), leaves);
        }),
        Value::Array(items) => items.iter_mut().enumerate().for_each(|(at, item)| {
            collect(item, &below(format!("{}[{at}]", place.path)), leaves);
        }),
        _ => {}
    }
}
