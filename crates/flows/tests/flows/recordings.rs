//! The recordings of this repository: none is lost, and they are written in one form.

use std::fs;
use std::path::{Path, PathBuf};

use flows::format::Flow;
use flows::recordings::{
    RecordingOutcome, RecordingsOptions, ServerCommand, check_recordings, repository_options, update_recordings,
};
use flows::replay::find_flows;
use flows::runner::{FlowOutcome, StepOutcome};
use serde_json::{Value, json};

use super::support::Folder;

/// The flows that the reference was recorded with first.
const FIRST: usize = 612;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn flow(name: &str, steps: &Value) -> String {
    json!({"flow": name, "profile": "gotrue", "steps": steps}).to_string()
}

/// A folder with the recordings `area.one`, of two compared steps, and `area.two`, of one.
fn recordings() -> (Folder, RecordingsOptions) {
    let folder = Folder::new();
    let mut options = repository_options(&folder.0);
    options.flows = folder.0.join("flows");
    options.list = Some(folder.0.join("flows.json"));
    fs::create_dir_all(options.flows.join("area")).expect("writable");
    let request = json!({"request": {"path": "/health"}, "expect": {"status": 200}});
    let note = json!({"note": 1, "expect": 1});
    write(&options, "one", &flow("area.one", &json!([request, {"pause": 0}, note])));
    write(&options, "two", &flow("area.two", &json!([note])));
    fs::write(folder.0.join("flows.json"), r#"{"area.one": 2, "area.two": 1}"#).expect("writable");
    (folder, options)
}

fn write(options: &RecordingsOptions, name: &str, text: &str) {
    fs::write(options.flows.join("area").join(name).with_extension("json"), text).expect("writable");
}

fn problem(options: &RecordingsOptions) -> String {
    check_recordings(options).expect_err("a problem").problem
}

#[test]
fn every_recording_of_the_repository_is_there() {
    let found = check_recordings(&repository_options(&repository())).expect("as listed");
    assert!(found >= FIRST, "{found}");
}

#[test]
fn recordings_are_written_as_they_were_read() {
    for file in find_flows(&[repository().join("tests/recordings/flows")], &[]).expect("readable") {
        let text = fs::read_to_string(&file.path).unwrap();
        assert!(Flow::parse(&text).unwrap().to_text() == text, "{} has another form", file.path.display());
    }
}

#[test]
fn lost_recording_is_a_problem_unless_it_is_not_selected() {
    let (_folder, mut options) = recordings();
    assert_eq!(check_recordings(&options).unwrap(), 2);
    fs::remove_file(options.flows.join("area/two.json")).unwrap();
    assert!(problem(&options).contains("area.two is missing"));
    options.only = vec!["area.t*".to_owned(), "area.one".to_owned()];
    assert!(problem(&options).contains("area.two is missing"));
    options.only = vec!["area.one".to_owned()];
    assert_eq!(check_recordings(&options).unwrap(), 1);
}

#[test]
fn recording_with_fewer_compared_steps_is_a_problem_even_in_an_update() {
    let (_folder, mut options) = recordings();
    write(&options, "one", &flow("area.one", &json!([{"request": {"path": "/health"}}, {"note": 1, "expect": 1}])));
    assert!(problem(&options).contains("area.one compares 1 steps instead of 2"));
    options.is_update = true;
    assert!(problem(&options).contains("area.one compares 1 steps instead of 2"));
}

#[test]
fn flow_that_compares_nothing_is_a_problem_without_a_list_too() {
    let (_folder, mut options) = recordings();
    write(&options, "two", &flow("area.two", &json!([{"request": {"path": "/health"}}])));
    assert!(problem(&options).contains("it compares nothing"));
    options.list = None;
    assert!(problem(&options).contains("it compares nothing"));
}

#[test]
fn names_are_used_once() {
    let (_folder, options) = recordings();
    write(&options, "three", &flow("area.two", &json!([{"note": 1, "expect": 1}])));
    assert!(problem(&options).contains("another file has a flow of this name"));
}

#[test]
fn update_fills_in_and_lists_a_new_recording() {
    let (folder, mut options) = recordings();
    let steps = json!([{"request": {"path": "/health"}, "expect": {}}, {"note": "{{base}}", "expect": null}]);
    write(&options, "three", &flow("area.three", &steps));
    assert!(problem(&options).contains("area.three is not in the list"));
    options.is_update = true;
    assert_eq!(check_recordings(&options).unwrap(), 3);
    let path = options.flows.join("area/three.json");
    let observed = [json!({"status": 200, "headers": {}, "json": {"name": "x"}}), json!("<base>")];
    let outcome = |error| RecordingOutcome {
        name: "area.three".to_owned(),
        path: path.clone(),
        recorded: 2,
        outcome: FlowOutcome { steps: observed.iter().enumerate().map(differing).collect(), error },
        changed: None,
    };
    let early = flows::FlowError::new("the flow ended early", "");
    assert_eq!(update_recordings(&options, &[outcome(Some(early))]).unwrap(), Vec::<PathBuf>::new());
    let written = update_recordings(&options, &[outcome(None)]).unwrap();
    assert_eq!(written, [path.clone(), folder.0.join("flows.json")]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""expect": {"headers": {}, "json": {"name": "x"}, "status": 200}"#), "{text}");
    assert!(text.contains(r#"{"note": "{{base}}", "expect": "<base>"}"#), "{text}");
    options.is_update = false;
    assert_eq!(check_recordings(&options).unwrap(), 3);
}

fn differing((number, observed): (usize, &Value)) -> StepOutcome {
    let differences = flows::compare::compare_values(&Value::Null, observed, false);
    StepOutcome { number, title: String::new(), differences, observed: Some(observed.clone()) }
}

#[test]
fn command_of_a_server_is_split_at_spaces() {
    let command = ServerCommand::parse("/opt/basalt gotrue --config x");
    assert_eq!(command.program, Path::new("/opt/basalt"));
    assert_eq!(command.arguments, ["gotrue", "--config", "x"]);
    let relative = ServerCommand::parse("target/debug/basalt gotrue").program;
    assert!(relative.is_absolute() && relative.ends_with("target/debug/basalt"), "{relative:?}");
    assert_eq!(ServerCommand::parse("gotrue").program, Path::new("gotrue"), "found by the search path");
}
