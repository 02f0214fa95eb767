//! What `--update` writes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use flows::compare::{Comparison, compare_responses};
use flows::format::{Action, Flow, HeaderComparison};
use flows::replay::{FileOutcome, FlowFile, update_file};
use flows::runner::{FlowOutcome, StepOutcome};
use flows::symbols::Symbols;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::privacy::{around, assert_absent, response_secret};
use super::support::Folder;

/// Updates a flow of one request with what a replay observed; returns the text of its file.
fn updated(folder: &Folder, compare: &str, expect: &Value, observed: &Value) -> String {
    let step = json!({ "request": { "method": "GET", "path": "/admin/users" }, "expect": expect });
    let flow =
        Flow::parse(&json!({ "flow": "users", "compare": compare, "steps": [step] }).to_string()).expect("a flow");
    let headers = flow.headers;
    let path = folder.0.join("users.json");
    fs::write(&path, flow.to_text()).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("permitted");
    let differences = compare_responses(expect, observed, Comparison { headers, is_subset: false });
    let title = "GET /admin/users".to_owned();
    let steps = vec![StepOutcome { number: 0, title, differences, observed: Some(observed.clone()) }];
    let outcome = FlowOutcome { steps, error: None };
    let file = FlowFile { path: path.clone(), root: ".".into(), flow };
    let outcome = FileOutcome { path: path.clone(), name: "users".to_owned(), outcome, duration: Duration::ZERO };
    update_file(&file, &outcome).expect("updated");
    fs::read_to_string(path).expect("text")
}

fn expected(text: &str) -> Value {
    let flow = Flow::parse(text).expect("a flow");
    let Action::Request(request) = &flow.steps[0].action else { panic!("a request") };
    request.expect.clone().expect("a response")
}

#[test]
fn users_of_another_server_do_not_reach_a_recording() {
    let folder = Folder::new();
    let recorded = json!({ "status": 200, "headers": { "content-type": "application/json" }, "json": { "aud": "authenticated", "users": [] } });
    let user = json!({ "email": "alice@corp.example", "phone": "4915112345678", "role": "authenticated", "user_metadata": { "full_name": "Alice Miller" } });
    let observed = json!({
        "status": 200,
        "headers": { "content-type": "application/json", "link": "</admin/users?page=2>; rel=next" },
        "json": { "aud": "authenticated", "users": [user], "instance": "Alice's project" },
    });
    let text = updated(&folder, "relevant", &recorded, &observed);
    for personal in ["alice", "Alice", "corp.example", "4915112345678"] {
        assert!(!text.contains(personal), "{personal} is in the file: {text}");
    }
    let user = json!({ "email": "<any>", "phone": "<any>", "role": "authenticated", "user_metadata": { "full_name": "<any>" } });
    let wanted = json!({
        "status": 200,
        "headers": { "content-type": "application/json" },
        "json": { "aud": "authenticated", "users": [user], "instance": "<any>" },
    });
    assert_eq!(expected(&text), wanted);
}

#[test]
fn values_that_still_fit_stay_as_they_were_written() {
    let folder = Folder::new();
    let recorded = json!({ "status": 200, "headers": {}, "json": { "name": "GoTrue", "version": "v2.196.0" } });
    let observed = json!({ "status": 200, "headers": {}, "json": { "name": "GoTrue", "version": "v2.197.0" } });
    let text = updated(&folder, "relevant", &recorded, &observed);
    assert_eq!(expected(&text)["json"], json!({ "name": "GoTrue", "version": "<any>" }));
    // Files with exact headers are written for servers of tests.
    let text = updated(&folder, "exact", &recorded, &observed);
    assert_eq!(expected(&text)["json"], json!({ "name": "GoTrue", "version": "v2.197.0" }));
}

#[test]
fn sentences_of_errors_are_updated() {
    let folder = Folder::new();
    let recorded = json!({ "status": 422, "headers": {}, "json": { "code": 422, "msg": "Signups not allowed" } });
    let observed = json!({ "status": 422, "headers": {}, "json": { "code": 422, "msg": "Signups not allowed for this instance" } });
    assert_eq!(expected(&updated(&folder, "relevant", &recorded, &observed)), observed);
}

#[test]
fn permissions_of_the_file_stay() {
    let folder = Folder::new();
    let observed = json!({ "status": 404, "headers": {} });
    updated(&folder, "relevant", &json!({ "status": 200, "headers": {} }), &observed);
    let mode = fs::metadata(folder.0.join("users.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(folder.files().len(), 1);
}

/// The time of the response: a time relative to it never reads as the number of the secret.
const NOW: f64 = 1_700_000_000.0;

proptest! {
    #[test]
    fn update_writes_no_secret_and_fits_the_response(
        (secret, old, new) in response_secret().prop_flat_map(|secret| (Just(secret.clone()), around("old"), around(&secret))),
        status in prop::sample::select(vec![200_u16, 302]),
    ) {
        let folder = Folder::new();
        let mut symbols = Symbols::default();
        symbols.hide_credentials();
        let observed = json!({ "status": status, "headers": { "x-total-count": secret }, "json": symbols.value(&new, "", NOW) });
        let recorded = json!({ "status": 200, "headers": { "x-total-count": "1" }, "json": old });
        let text = updated(&folder, "relevant", &recorded, &observed);
        assert_absent(&text, &secret);
        let comparison = Comparison { headers: HeaderComparison::Relevant, is_subset: false };
        prop_assert!(compare_responses(&expected(&text), &observed, comparison).is_empty());
    }
}
