//! Changes one expected value of a flow, to check that its replay finds the change.

use serde_json::Value;

use crate::format::{Action, Flow};
use crate::sources::sha256;

/// Chooses a number of flows by a seed and changes one expected value in each.
pub(super) fn mutate(flows: Vec<Flow>, seed: &str, wanted: usize) -> Vec<Flow> {
    let mut ranked: Vec<(Vec<u8>, Flow)> =
        flows.into_iter().map(|flow| (sha256(format!("{seed} {}", flow.name).as_bytes()), flow)).collect();
    ranked.sort_by(|left, right| left.0.cmp(&right.0));
    let changed = ranked.into_iter().filter_map(|(rank, mut flow)| change(&mut flow, &rank).then_some(flow));
    changed.take(wanted).collect()
}

/// Changes the expected value that a rank points to; false if there is none.
fn change(flow: &mut Flow, rank: &[u8]) -> bool {
    let number = rank.iter().take(4).fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    let mut leaves: Vec<&mut Value> = Vec::new();
    for step in &mut flow.steps {
        match &mut step.action {
            Action::Request(request) => request.expect.iter_mut().for_each(|expect| collect(expect, &mut leaves)),
            Action::Note { expect, .. } => collect(expect, &mut leaves),
            _ => {}
        }
    }
    let count = leaves.len();
    let Some(leaf) = leaves.into_iter().nth(number.checked_rem(count).unwrap_or_default()) else { return false };
    *leaf = match &*leaf {
        Value::Bool(value) => (!value).into(),
        Value::Number(value) => (value.as_f64().unwrap_or_default() + 1.0).into(),
        Value::String(text) => format!("changed {text}").into(),
        _ => "changed".into(),
    };
    true
}

/// Collects the values without members.
fn collect<'a>(value: &'a mut Value, leaves: &mut Vec<&'a mut Value>) {
    let is_leaf = match &*value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_leaf {
        leaves.push(value);
        return;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| collect(member, leaves)),
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, leaves)),
        _ => {}
    }
}
