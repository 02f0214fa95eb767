//! Reports of replays, and their exit status.

use std::os::unix::fs::PermissionsExt;

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

/// The steps that sign a user up, confirm the address, and use and refresh the session.
fn sign_up_steps() -> [Value; 5] {
    [
        json!({ "request": { "method": "POST", "path": "/signup", "json": { "email": "{{email1}}", "password": "correct horse" } } }),
        json!({ "set": { "mail": { "@message": { "to": "{{email1}}", "kind": "confirmation" } } } }),
        json!({ "request": { "method": "POST", "path": "/verify", "json": { "type": "signup", "token_hash": "{{mail.token_hash}}" } },
          "capture": { "session": "json" } }),
        json!({ "request": { "method": "GET", "path": "/user", "bearer": "{{session.access_token}}" },
          "match": "subset", "expect": { "status": 200, "json": { "email": "<email1>" } } }),
        json!({ "request": { "method": "POST", "path": "/token?grant_type=refresh_token", "json": { "refresh_token": "{{session.refresh_token}}" } },
          "match": "subset", "expect": { "status": 200, "json": { "token_type": "bearer" } } }),
    ]
}

#[test]
fn two_binaries_answer_in_turn_on_one_database() {
    let folder = Folder::new();
    let path = write_flow(&folder, |flow| {
        flow["settings"] = json!({ "env": { "GOTRUE_MAILER_AUTOCONFIRM": "false", "GOTRUE_MAILER_URLPATHS_CONFIRMATION": "/verify" } });
        flow["steps"] = json!(sign_up_steps());
    });
    let binary = env!("CARGO_BIN_EXE_basalt");
    let output = run(&["replay", &path, "--upgrade", binary, binary]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let output = run(&["replay", &path, "--upgrade", binary, "/nonexistent/basalt"]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("/nonexistent/basalt"), "{}", printed(&output));
}

/// Writes a program that changes something and then is the binary under test.
fn write_program(folder: &Folder, name: &str, script: &str) -> String {
    let path = folder.path(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// Writes a flow of the profile `serve` that signs a user up.
///
/// Its first two requests tell which server answers.
fn write_serve_flow(folder: &Folder, change: impl FnOnce(&mut Value)) -> String {
    let anonymous = |value: bool| {
        json!({ "request": { "method": "GET", "path": "/settings" }, "match": "subset",
                "expect": { "status": 200, "json": { "external": { "anonymous_users": value } } } })
    };
    write_flow(folder, |flow| {
        flow["flow"] = "sign_up.serve".into();
        flow["profile"] = "serve".into();
        flow["settings"] = json!({ "config": { "auth": {
            "site_url": "http://localhost:3000", "enable_anonymous_sign_ins": false, "email": { "enable_confirmations": true },
            "sms": { "enable_signup": true },
        } } });
        flow["values"]["phone1"] = json!({ "phone": 0 });
        let [sign_up, mail, verify, user, refresh] = sign_up_steps();
        flow["steps"] = json!([
            anonymous(true),
            anonymous(false),
            sign_up,
            mail,
            verify,
            user,
            refresh,
            { "request": { "method": "POST", "path": "/otp", "json": { "phone": "{{phone1}}" } } },
            { "set": { "sms": { "@message": { "to": "{{phone1}}" } } } },
            { "request": { "method": "POST", "path": "/verify", "json": { "type": "sms", "phone": "{{phone1}}", "token": "{{sms.code}}" } },
              "match": "subset", "expect": { "status": 200, "json": { "token_type": "bearer" } } },
            { "request": { "method": "GET", "path": "/admin/users", "headers": { "apikey": "{{keys.secret}}" } },
              "match": "subset", "expect": { "status": 200, "json": { "aud": "authenticated" } } },
            { "request": { "method": "GET", "path": "/admin/users", "headers": { "apikey": "{{keys.secret}}" } },
              "match": "subset", "expect": { "status": 200, "json": { "aud": "authenticated" } } },
        ]);
        change(flow);
    })
}

#[test]
fn two_binaries_serve_in_turn_with_the_same_keys() {
    let folder = Folder::new();
    let path = write_serve_flow(&folder, |_| {});
    let binary = env!("CARGO_BIN_EXE_basalt");
    let change = "s/^enable_anonymous_sign_ins = false/enable_anonymous_sign_ins = true/";
    let script = format!("[ \"$1\" != serve ] || sed -i '{change}' config.toml\nexec '{binary}' \"$@\"");
    let old = write_program(&folder, "old", &script);
    let output = run(&["replay", &path, "--upgrade", &old, binary]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    // The other way round the first request is answered by the other one.
    let output = run(&["replay", &path, "--upgrade", binary, &old]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("external.anonymous_users"), "{}", printed(&output));
}

#[test]
fn serving_in_turn_names_what_cannot_be_replayed() {
    let folder = Folder::new();
    let binary = env!("CARGO_BIN_EXE_basalt");
    let other = write_program(&folder, "gotrue", "echo v2.196.0");
    let replay = |new: &str, change: &dyn Fn(&mut Value)| {
        let path = write_serve_flow(&folder, change);
        let output = run(&["replay", &path, "--upgrade", binary, new]);
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        printed(&output)
    };
    let text = replay(&other, &|_| {});
    assert!(text.contains("gotrue: this flow has the profile serve, which only basalt has"), "{text}");
    let text = replay(binary, &|flow| flow["settings"]["config"]["auth"]["jwt_expiry"] = "soon".into());
    assert!(text.contains("before it served: ") && text.contains("auth.jwt_expiry must be"), "{text}");
    let text = replay(binary, &|flow| {
        flow["settings"]["config"]["basalt"] = json!({ "provider": { "stands_in_for": ["google"] } });
        flow["steps"] = json!([{ "set": { "token1": { "@id_token": { "name": "google" } } } }]);
    });
    assert!(text.contains("step 0") && text.contains("two servers in turn do not simulate one provider"), "{text}");
    let text = replay(binary, &|flow| flow["steps"] = json!([{ "advance": "1h" }]));
    assert!(text.contains("the clock of this server cannot be changed"), "{text}");
}

#[test]
fn flows_of_others_reach_nothing_beyond_their_server_unless_allowed() {
    let folder = Folder::new();
    for (change, allowed_by) in [
        (json!({ "env": { "GOTRUE_HOOK_SEND_EMAIL_URI": "https://collector.example/hook" } }), "--allow-hosts"),
        (json!({ "env": { "GOTRUE_JWT_SECRET_FILE": "/etc/hostname" } }), "--allow-files"),
        (json!({ "env": { "GOTRUE_JWT_SECRET": "env(HOME)" } }), "--allow-env"),
        (json!({ "extends": "../../../../../../../../etc/hostname" }), "--allow-files"),
    ] {
        let path = write_flow(&folder, |flow| flow["settings"] = change.clone());
        let output = run(&["replay", &path]);
        assert_eq!(output.status.code(), Some(1), "{change}: {}", printed(&output));
        assert!(printed(&output).contains(allowed_by), "{change}: {}", printed(&output));
    }
    let path = write_flow(&folder, |flow| flow["steps"][0]["request"]["path"] = "https://collector.example/".into());
    let output = run(&["replay", &path]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("--allow-hosts"), "{}", printed(&output));
}
