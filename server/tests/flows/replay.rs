//! Reports of replays, and their exit status.

use serde_json::{Value, json};

use super::support::{Folder, printed, run};

/// Writes a flow of one sign-up.
fn write_flow(folder: &Folder, change: impl FnOnce(&mut Value)) -> String {
    let mut flow = json!({
        "flow": "sign_up.refused",
        "profile": "gotrue",
        "settings": { "env": { "GOTRUE_DISABLE_SIGNUP": "true" } },
        "values": { "email1": { "email": "ann" } },
        "steps": [
            { "request": { "method": "POST", "path": "/signup", "json": { "email": "{{email1}}", "password": "correct horse" } },
              "expect": { "status": 422, "headers": { "content-type": "application/json", "x-sb-error-code": "signup_disabled" },
                          "json": { "code": 422, "error_code": "signup_disabled", "msg": "Signups not allowed for this instance" } } },
            { "note": { "sum": { "@add": [1, 2] }, "address": "{{email1}}" }, "expect": { "sum": 3, "address": "<email1>" } },
        ],
    });
    change(&mut flow);
    let path = folder.path("flow.json");
    std::fs::write(&path, flow.to_string()).expect("written");
    path
}

#[test]
fn flow_without_a_difference_has_status_0() {
    let folder = Folder::new();
    let output = run(&["replay", &write_flow(&folder, |_| {})]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(printed(&output).contains("ok    sign_up.refused (2 steps"), "{}", printed(&output));
}

#[test]
fn difference_has_status_1_and_is_reported_in_three_forms() {
    let folder = Folder::new();
    let path = write_flow(&folder, |flow| flow["steps"][0]["expect"]["json"]["msg"] = "Another <text>".into());
    let junit = folder.path("junit.xml");
    let output = run(&["replay", &path, "--junit", &junit]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    let text = printed(&output);
    assert!(text.contains("step 0 POST /signup") && text.contains("- \"Another <text>\""), "{text}");
    let xml = folder.read("junit.xml");
    assert!(xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("Another &lt;text&gt;"), "{xml}");

    let output = run(&["replay", &path, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let [difference] = report["flows"][0]["differences"].as_array().expect("a list").as_slice() else {
        panic!("{report}")
    };
    assert_eq!(difference["path"], "json.msg");
    assert_eq!(difference["actual"], "Signups not allowed for this instance");

    let updated = run(&["replay", &path, "--update"]);
    assert_eq!(updated.status.code(), Some(1), "{}", printed(&updated));
    let again = run(&["replay", &path]);
    assert_eq!(again.status.code(), Some(0), "{}", printed(&again));
}

#[test]
fn missing_value_is_reported_with_its_step_and_name() {
    let folder = Folder::new();
    let path = write_flow(&folder, |flow| {
        flow["steps"][0] = json!({ "set": { "token1": { "@provided": "an access token" } } });
    });
    let output = run(&["replay", &path]);
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    assert!(text.contains("step 0 (set token1): token1: ") && text.contains("--set NAME=VALUE"), "{text}");
    let given = run(&["replay", &path, "--set", "token1=x"]);
    assert_eq!(given.status.code(), Some(0), "{}", printed(&given));
}

#[test]
fn what_cannot_be_replayed_has_status_2() {
    let folder = Folder::new();
    let path = write_flow(&folder, |flow| flow["steps"][0]["expects"] = json!({}));
    let output = run(&["replay", &path]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("step 0: expects: the step has no such member"), "{}", printed(&output));
    assert_eq!(run(&["replay", &folder.path("none.json")]).status.code(), Some(2));
    write_flow(&folder, |_| {});
    assert_eq!(run(&["replay", &path, "--only", "other.*"]).status.code(), Some(2));
}

#[test]
fn two_binaries_answer_in_turn_on_one_database() {
    let folder = Folder::new();
    let path = write_flow(&folder, |flow| {
        flow["settings"] = json!({ "env": { "GOTRUE_MAILER_AUTOCONFIRM": "false", "GOTRUE_MAILER_URLPATHS_CONFIRMATION": "/verify" } });
        flow["steps"] = json!([
            { "request": { "method": "POST", "path": "/signup", "json": { "email": "{{email1}}", "password": "correct horse" } } },
            { "set": { "mail": { "@message": { "to": "{{email1}}" } } } },
            { "request": { "method": "POST", "path": "/verify", "json": { "type": "signup", "token_hash": "{{mail.token_hash}}" } },
              "capture": { "session": "json" } },
            { "request": { "method": "GET", "path": "/user", "bearer": "{{session.access_token}}" },
              "match": "subset", "expect": { "status": 200, "json": { "email": "<email1>" } } },
            { "request": { "method": "POST", "path": "/token?grant_type=refresh_token", "json": { "refresh_token": "{{session.refresh_token}}" } },
              "match": "subset", "expect": { "status": 200, "json": { "token_type": "bearer" } } },
        ]);
    });
    let binary = env!("CARGO_BIN_EXE_basalt");
    let output = run(&["replay", &path, "--upgrade", binary, binary]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let output = run(&["replay", &path, "--upgrade", binary, "/nonexistent/basalt"]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("/nonexistent/basalt"), "{}", printed(&output));
}
