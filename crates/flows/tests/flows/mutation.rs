//! What a replay tells about a changed value.

use flows::FlowError;
use flows::compare::compare_values;
use flows::recordings::{ChangeVerdict, ChangedValue};
use flows::runner::{FlowOutcome, StepOutcome};
use serde_json::{Value, json};

fn step(number: usize, expected: &Value, actual: &Value) -> StepOutcome {
    let differences = compare_values(expected, actual, false);
    StepOutcome { number, title: "note".to_owned(), differences, observed: None }
}

#[test]
fn change_is_found_only_if_nothing_else_differs() {
    let changed = ChangedValue { step: 1, path: "json.items[0].name".to_owned() };
    let judge = |steps: &[StepOutcome], error: Option<&str>| {
        let error = error.map(|problem| FlowError::new(problem, "start it"));
        changed.judge(&FlowOutcome { steps: steps.to_vec(), error })
    };
    let response = |name: &str, count: u32| json!({ "json": { "items": [{ "name": name }], "count": count } });
    let (same, found) = (step(0, &json!(1), &json!(1)), step(1, &response("changed a", 1), &response("a", 1)));
    assert_eq!(judge(&[same.clone(), found.clone()], None), ChangeVerdict::Found);
    assert_eq!(judge(&[same.clone(), step(1, &json!(1), &json!(1))], None), ChangeVerdict::Missed);
    // A server that does not start, another difference of the step, and one of another step.
    assert_eq!(judge(&[], Some("the server does not start")), ChangeVerdict::NotJudged);
    assert_eq!(judge(&[same.clone(), found.clone()], Some("step 2 ended")), ChangeVerdict::NotJudged);
    let both = step(1, &response("changed a", 2), &response("a", 1));
    assert_eq!(judge(&[same, both], None), ChangeVerdict::NotJudged);
    assert_eq!(judge(&[step(0, &json!(1), &json!(2)), found], None), ChangeVerdict::NotJudged);
}
