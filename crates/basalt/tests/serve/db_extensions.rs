//! `basalt db extensions`: what the project uses, what the database has, and what installs the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::project_schema::{TestProject, stop};
use super::support::basalt;

/// An extension of each state; `hll` has a package, the last one has none.
const MIGRATION: &str = "create extension citext with schema extensions;\n\
    create extension if not exists pg_cron;\n\ncreate extension hll;\ncreate extension no_such_extension;\n";

fn project() -> TestProject {
    TestProject::new(&[
        ("migrations/1_a.sql", MIGRATION),
        ("seed.sql", "create extension if not exists citext;\ncreate extension if not exists hypopg;\n"),
    ])
}

fn list(project: &TestProject) -> Value {
    let (output, text) = project.run(&["db", "extensions", "--json"]);
    assert!(output.status.success(), "{text}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn states(report: &Value) -> Value {
    let of = |extension: &Value| json!([extension["name"], extension["state"], extension["is_optional"]]);
    report["extensions"].as_array().expect("a list").iter().map(of).collect()
}

#[test]
fn extensions_are_listed_with_their_state_before_and_after_the_first_start() {
    let project = project();
    let mut expected = json!([
        ["citext", "available", false],
        ["pg_cron", "provided", false],
        ["hll", "missing", false],
        ["no_such_extension", "missing", false],
        ["hypopg", "missing", true],
    ]);
    let report = list(&project);
    assert_eq!(states(&report), expected);
    assert!(!project.0.0.join("supabase/.basalt").exists(), "a question creates no database");
    assert_eq!(report["extensions"][0]["places"], json!(["supabase/migrations/1_a.sql:1", "supabase/seed.sql:1"]));
    let release = report["postgresql"].as_str().expect("a release");
    let major = release.split('.').next().expect("a number");
    let install = report["install"].as_str().expect("a command");
    assert!(
        install.starts_with("apt-get install ") && install.contains(&format!("postgresql-{major}-hll")),
        "{install}"
    );

    let server = project.serve();
    expected[0][1] = "installed".into();
    assert_eq!(states(&list(&project)), expected, "of the running server");
    stop(server);
    assert_eq!(states(&list(&project)), expected, "of the stopped database");
    let (output, _) = project.run(&["db", "extensions"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "hypopg             missing, optional",
        "provided: jobs in schema cron",
        install,
        "basalt db migrate --retry-skipped",
        "EXTENSIONS=\"hypopg hll\"",
        "No package is known of no_such_extension",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn start_and_check_point_to_the_command() {
    let project = project();
    let pointer = "`basalt db extensions` lists the extensions of the project";
    let (output, text) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains(pointer), "{printed}{text}");
    let (_, text) = project.run(&["exec", "--", "true"]);
    assert!(text.contains(pointer), "{text}");
}

/// The package manager is a script that says with what it was called and fails for a second time.
#[test]
fn install_runs_the_package_manager_as_root_after_a_question() {
    let project = project();
    let folder = project.0.0.join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    let (program, record) = (folder.join("apt-get"), project.0.0.join("called"));
    let script = format!("#!/bin/sh\ntest ! -e '{0}' || exit 100\necho \"$*\" >'{0}'\n", record.display());
    fs::write(&program, script).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
    let run = |arguments: &[&str]| {
        let command = [&["db", "extensions", "--install"], arguments].concat();
        let output = basalt().current_dir(&project.0.0).env("PATH", &path).args(command).output();
        let output = output.expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output, text)
    };
    if !rustix::process::geteuid().is_root() {
        let (output, text) = run(&["--yes"]);
        assert!(!output.status.success() && text.contains("run `sudo apt-get install "), "{text}");
        return;
    }
    let (output, text) = run(&[]);
    assert!(!output.status.success() && text.contains("nothing was installed: there is no terminal"), "{text}");
    assert!(!record.exists(), "nothing runs without an answer");
    let (output, text) = run(&["--yes", "--json"]);
    assert!(output.status.success(), "{text}");
    let called = fs::read_to_string(&record).expect("the call");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages =
        report["install"].as_str().and_then(|command| command.strip_prefix("apt-get install ")).expect("a command");
    assert_eq!(called.trim(), format!("install --yes {packages}"));
    let (output, text) = run(&["--yes"]);
    assert!(!output.status.success() && text.contains("failed (exit status: 100): `apt-get update`"), "{text}");
}
