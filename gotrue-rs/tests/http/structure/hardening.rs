//! Compares the table of hardened switches with `Policy::hardened`, the tests and `docs/hardening.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use foundation::limits_policy::TargetLimits;
use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::policy::hardening::{SWITCHES, render_document};

use source_rules::{
    code_and_comments, has_test, list_files, read_text, relative_path, repository_root, without_unit_tests,
};

const DEFINITION: &str = "crates/gotrue-rules/src/domain/policy/hardened.rs";

/// Assignments of a hardened field outside [`DEFINITION`]: file, field, reason.
const OTHER_ASSIGNMENTS: &[(&str, &str, &str)] = &[
    ("gotrue-rs/src/config/check/mod.rs", "password.hash", "the operator of `basalt gotrue` may choose argon2id"),
    ("gotrue-rs/src/config/settings/limits.rs", "limits.key", "a setting of GoTrue"),
    ("gotrue-rs/src/config/settings/database.rs", "operation.cleanup_enabled", "a setting of GoTrue"),
    (
        "gotrue-rs/src/config/settings/database.rs",
        "operation.index_worker.ensure_user_search_indexes_exist",
        "a setting of GoTrue",
    ),
    ("gotrue-rs/src/testing/world.rs", "password.hash", "cheap hashes for tests"),
    ("crates/basalt/src/serve/test_profile.rs", "password.hash", "cheap hashes for `basalt serve --test`"),
    ("crates/basalt/src/profiles.rs", "password.hash", "the operator of `basalt serve` may keep bcrypt"),
    ("crates/basalt/src/profiles.rs", "password.should_rehash_after_sign_in", "`basalt gotrue` never rehashes"),
];

/// The fields that `Policy::hardened` assigns.
fn assigned_fields() -> BTreeSet<String> {
    let (code, _) = code_and_comments(&read_text(&repository_root().join(DEFINITION)));
    let fields = code.lines().filter_map(|line| line.trim().strip_prefix("self.")?.split_once(" = "));
    fields.map(|(field, _)| field.to_owned()).collect()
}

/// The values of a policy by their paths, from its debug form.
fn values(policy: &Policy) -> BTreeMap<String, String> {
    let text = format!("{policy:#?}");
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        let (word, depth) = (line.trim(), line.len() - line.trim_start().len());
        if word.starts_with(['}', ']', ')']) {
            continue;
        }
        path.retain(|(outer, _)| *outer < depth);
        let is_name =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte));
        let (name, value) = word.split_once(": ").filter(|(name, _)| is_name(name)).unwrap_or(("", word));
        if !name.is_empty() {
            path.push((depth, name));
        }
        let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
        values.entry(names.join(".")).or_default().push_str(value);
    }
    values
}

/// The paths at which two policies differ.
fn changed_paths(before: &Policy, after: &Policy) -> BTreeSet<String> {
    let (before, after) = (values(before), values(after));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

fn is_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn table_has_a_row_for_each_switch_and_no_other() {
    let listed: BTreeSet<String> = SWITCHES.iter().map(|switch| switch.field.to_owned()).collect();
    assert_eq!(listed.len(), SWITCHES.len(), "a field is listed twice");
    let assigned = assigned_fields();
    let (missing, unknown): (Vec<_>, Vec<_>) =
        (assigned.difference(&listed).collect(), listed.difference(&assigned).collect());
    assert!(missing.is_empty(), "{DEFINITION} sets these fields without a row in hardening.rs: {missing:?}");
    assert!(unknown.is_empty(), "rows of hardening.rs name fields that {DEFINITION} does not set: {unknown:?}");
}

#[test]
fn hardened_policy_differs_from_the_default_exactly_in_the_listed_fields() {
    let default = Policy::default();
    let hardened = default.clone().hardened(Vec::new(), TargetLimits::recommended());
    let changed = changed_paths(&default, &hardened);
    let unlisted: Vec<_> =
        changed.iter().filter(|path| !SWITCHES.iter().any(|switch| is_below(path, switch.field))).collect();
    assert!(unlisted.is_empty(), "hardened without a row in hardening.rs: {unlisted:?}");
    for switch in SWITCHES {
        assert!(changed.iter().any(|path| is_below(path, switch.field)), "{} has no effect", switch.field);
    }
}

#[test]
fn every_change_of_a_policy_is_found_by_its_path() {
    let mut changed = Policy::default();
    changed.mfa.linking_requires_aal2 = true;
    changed.operation.index_worker.max_users_threshold = 7;
    changed.site.redirect_allow_list.push("https://app.example.com".to_owned());
    let paths = changed_paths(&Policy::default(), &changed);
    let expected =
        ["mfa.linking_requires_aal2", "operation.index_worker.max_users_threshold", "site.redirect_allow_list"];
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn hardened_fields_are_set_nowhere_else() {
    let root = repository_root();
    let folders = [
        "crates/gotrue-rules/src",
        "crates/platform/src",
        "gotrue-rs/src",
        "functions-rs/src",
        "crates/desk/src",
        "crates/basalt/src",
        "crates/http-edge/src",
    ];
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|folder| list_files(&root.join(folder), &[".rs"])) {
        let (file, text) = (relative_path(&path), read_text(&path));
        let code = code_and_comments(&without_unit_tests(&text)).0;
        let is_test = file.ends_with("tests.rs") || file.contains("/tests/");
        let others = SWITCHES.iter().filter(|switch| code.contains(&format!("{} = ", switch.field)));
        for switch in others.filter(|_| file != DEFINITION && !is_test) {
            found.push((file.clone(), switch.field));
        }
    }
    let is_allowed = |(file, field): &&(String, &str)| {
        OTHER_ASSIGNMENTS.iter().any(|(of, allowed, _)| file == of && field == allowed)
    };
    let second: Vec<_> = found.iter().filter(|assignment| !is_allowed(assignment)).collect();
    assert!(second.is_empty(), "only Policy::hardened decides these: {second:?}");
    for (file, field, reason) in OTHER_ASSIGNMENTS {
        assert!(
            found.iter().any(|(of, assigned)| of == file && assigned == field),
            "{file} no longer sets {field}: {reason}"
        );
    }
}

/// The source files of the tests in a module below `tests/http`.
fn module_files(module: &str) -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http");
    let path = module.replace("::", "/");
    [folder.join(format!("{path}.rs")), folder.join(path).join("mod.rs")]
}

#[test]
fn every_named_test_exists() {
    for switch in SWITCHES {
        for test in switch.tests {
            let (module, name) = test.rsplit_once("::").expect("a module and a name");
            let found = module_files(module).iter().any(|file| file.is_file() && has_test(&read_text(file), name));
            assert!(found, "{}: there is no test {test}", switch.field);
        }
        assert!(switch.threat.ends_with('.') && switch.threat.len() > 20, "{}: {}", switch.field, switch.threat);
    }
}

#[test]
fn each_switch_is_turned_off_alone() {
    let hardened = Policy::default().hardened(Vec::new(), TargetLimits::recommended());
    for switch in SWITCHES {
        let mut without = hardened.clone();
        (switch.turn_off)(&mut without);
        let changed = changed_paths(&hardened, &without);
        assert!(!changed.is_empty() && changed.iter().all(|path| is_below(path, switch.field)), "{changed:?}");
    }
}

/// Runs one test of this binary in a process of its own, and returns whether it passes.
fn passes(test: &str, switch_off: &str) -> bool {
    let binary = std::env::current_exe().expect("a path");
    let output = std::process::Command::new(binary)
        .args([test, "--exact"])
        .env("HARDENING_OFF", switch_off)
        .output()
        .expect("the tests start");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("running 1 test\n"), "{test}: {printed}");
    output.status.success()
}

#[test]
#[ignore = "slow, starts a database for each test: make hardening"]
fn every_named_test_fails_without_its_switch() {
    let tests = SWITCHES.iter().flat_map(|switch| switch.tests.iter().map(|test| (switch.field, *test)));
    let mut wrong = Vec::new();
    for (field, test) in tests {
        if passes(test, field) {
            wrong.push(format!("{test} passes without {field}"));
        }
        if !passes(test, "") {
            wrong.push(format!("{test} fails with {field}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn generated_hardening_documentation_is_current() {
    let path = repository_root().join("docs/hardening.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, render_document()).expect("docs/hardening.md can be written");
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == render_document(),
        "docs/hardening.md is stale; run: UPDATE_DOCS=1 cargo test -p gotrue-rs hardening"
    );
}
