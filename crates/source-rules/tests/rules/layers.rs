//! The allowed imports between the modules of the auth crate and of `platform` (`docs/architecture.md`).

use std::path::Path;

/// A layer is a module at the crate's root; it may import these others.
///
/// Modules of `platform` count as the layer that [`platform_layer`] names.
const LAYERS: &[(&str, &[&str])] = &[
    ("journal", &[]),
    ("events", &[]),
    ("explanation", &["events", "journal"]),
    ("ports", &[]),
    ("config", &[]),
    ("store", &["journal"]),
    ("app", &["explanation", "journal", "ports", "store"]),
    // A request's context carries what the HTTP layer read of it, and opens the store's connections.
    ("request_context", &["explanation", "journal", "app", "http", "ports", "store"]),
    ("http", &["explanation", "journal", "app", "request_context"]),
    ("services", &["explanation", "journal", "app", "request_context", "ports", "store"]),
    ("guards", &["explanation", "journal", "app", "request_context", "http", "services", "store"]),
    ("handlers", &["explanation", "journal", "app", "request_context", "guards", "http", "services", "store"]),
    ("routes", &["journal", "app", "request_context", "handlers", "guards", "http", "services", "store"]),
    (
        "testing",
        &[
            "events",
            "explanation",
            "journal",
            "app",
            "config",
            "request_context",
            "handlers",
            "guards",
            "http",
            "ports",
            "routes",
            "services",
            "store",
        ],
    ),
];

/// Crates that only some layers may import.
const CRATES: &[(&str, &[&str])] =
    &[("axum", &["http", "guards", "handlers", "routes", "testing"]), ("sqlx", &["store", "app", "testing"])];

/// Exceptions: file, imported path, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "services/sessions/mod.rs",
        "http::reply",
        "every grant returns a session in the same form, so the response is built beside the session",
    ),
    (
        "config/check/text_template.rs",
        "ports::mail::template::syntax",
        "templates of e-mail and SMS messages are in one language",
    ),
    ("config/check/senders.rs", "ports::sms", "templates are tried with the limits that they have when they are sent"),
    ("config/check/forms.rs", "ports::keys", "keys that cannot be used are refused before the database is migrated"),
];

/// The modules at the root of `platform`, and the others that each may import.
const PLATFORM_LAYERS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("entropy", &[]),
    ("event_webhook", &["clock", "http_client", "webhook_signature"]),
    ("events", &[]),
    ("explanation", &["events", "journal"]),
    ("http_client", &["clock"]),
    ("journal", &[]),
    // Limits that several processes share can be rows of a table.
    ("limits", &["clock", "store"]),
    // The outbox is a table: a mail is inserted in the transaction of the change that it reports.
    ("mail", &["clock", "entropy", "store"]),
    ("nearest", &[]),
    ("request_body", &["request_info"]),
    ("request_info", &[]),
    ("saml_keys", &[]),
    ("sealing", &["entropy"]),
    ("software_authenticator", &[]),
    ("store", &["journal"]),
    ("testing", &["clock", "journal", "mail", "store"]),
    ("webhook_signature", &[]),
];

/// Crates that only some modules of `platform` may import.
const PLATFORM_CRATES: &[(&str, &[&str])] = &[("axum", &["request_body", "testing"]), ("sqlx", &["store", "testing"])];

/// The layer of a module of `platform` in the table of the auth crate.
fn platform_layer(module: &str) -> &str {
    match module {
        "journal" | "events" | "explanation" | "nearest" | "store" | "testing" => module,
        "bind" | "statement" | "statements" | "optional" => "store",
        "request_body" | "request_info" => "http",
        _ => "ports",
    }
}

#[test]
fn modules_of_platform_import_only_allowed_modules() {
    let source = source_rules::repository_root().join("crates/platform/src");
    let mut broken = Vec::new();
    for path in source_rules::list_files(&source, &[".rs"]) {
        let file = path.strip_prefix(&source).expect("it lies below");
        let module = module_of(file);
        let [layer, rest @ ..] = &*module else { continue };
        for (number, import) in imports(&source_rules::read_text(&path), &module) {
            if let Some(why) = violation(&PLATFORM, layer, rest, &import) {
                broken.push(format!("{}:{number}: {why}", source_rules::relative_path(&path)));
            }
        }
    }
    assert!(broken.is_empty(), "imports that break the layers:\n{}", broken.join("\n"));
}

#[test]
fn layers_import_only_allowed_layers() {
    let source = source_rules::repository_root().join("gotrue-rs/src");
    let mut broken = Vec::new();
    for path in source_rules::list_files(&source, &[".rs"]) {
        let file = path.strip_prefix(&source).expect("it lies below");
        let module = module_of(file);
        let [layer, rest @ ..] = &*module else { continue };
        for (number, import) in imports(&source_rules::read_text(&path), &module) {
            if let Some(why) = violation(&AUTH, layer, rest, &import)
                && !is_exception(file, &import)
            {
                broken.push(format!("{}:{number}: {why}", source_rules::relative_path(&path)));
            }
        }
    }
    assert!(broken.is_empty(), "imports that break the layers:\n{}", broken.join("\n"));
}

#[test]
fn every_module_has_a_layer_row() {
    for (folder, layers) in [("gotrue-rs/src", LAYERS), ("crates/platform/src", PLATFORM_LAYERS)] {
        let root = source_rules::read_text(&source_rules::repository_root().join(folder).join("lib.rs"));
        let modules = root
            .lines()
            .filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
        let unknown: Vec<&str> = modules.filter(|name| layers.iter().all(|(layer, _)| layer != name)).collect();
        assert!(unknown.is_empty(), "{folder}: say in LAYERS what these may import: {unknown:?}");
    }
}

#[test]
fn crates_of_values_have_no_runtime_web_or_database_dependency() {
    for own in ["foundation", "gotrue-rules"] {
        let manifest =
            source_rules::read_text(&source_rules::repository_root().join(format!("crates/{own}/Cargo.toml")));
        for name in ["tokio", "axum", "sqlx", "reqwest", "hyper"] {
            assert!(manifest.lines().all(|line| !line.starts_with(name)), "{own} depends on {name}");
        }
    }
}

#[test]
fn forbidden_imports_are_found_in_every_form() {
    let found = |text: &str, module: &[&str]| -> Vec<String> {
        let module: Vec<String> = module.iter().map(ToString::to_string).collect();
        let reported = imports(text, &module)
            .into_iter()
            .filter_map(|(_, import)| violation(&AUTH, &module[0], &module[1..], &import));
        reported.collect()
    };
    let store = ["store", "users"];
    assert_eq!(found("use crate::services::audit;", &store).len(), 1);
    assert_eq!(found("use crate::{journal::Journal, handlers};", &store).len(), 1);
    assert_eq!(found("use crate::{\n    app::{App, Journals},\n    handlers::token,\n};", &store).len(), 2);
    assert_eq!(found("let it = crate::http::reply::of(x);", &store).len(), 1);
    assert_eq!(found("use super::super::app::App;", &store).len(), 1);
    assert_eq!(found("use axum::Router;", &store).len(), 1);
    assert_eq!(found("use platform::mail::outbox::Outbox;", &store).len(), 1);
    assert_eq!(found("use platform::{bind, store::Pool};", &store).len(), 0);
    assert_eq!(found("use platform::store::Pool;", &["ports", "keys"]).len(), 1);
    assert_eq!(found("sqlx::query(sql)", &["services", "audit"]).len(), 1);
    assert_eq!(found("use crate::handlers::token::mint;", &["handlers", "sign_up", "contact"]).len(), 1);
    assert_eq!(found("use crate::handlers::sign_up::anonymous;", &["handlers", "sign_up", "contact"]).len(), 0);
    assert_eq!(found("use super::super::token::mint;", &["handlers", "sign_up", "contact"]).len(), 1);
    assert_eq!(found("// crate::handlers is above us\nuse super::rows;\n/// [`crate::handlers`]", &store).len(), 0);
}

fn is_exception(file: &Path, import: &Import) -> bool {
    let Import::Module(path) = import else { return false };
    let path = path.join("::");
    EXCEPTIONS.iter().any(|(of, allowed, _)| file == Path::new(of) && path.starts_with(allowed))
}

/// The rules of a crate: its layers, and the crates that only some of them may import.
struct CrateRules {
    layers: &'static [(&'static str, &'static [&'static str])],
    crates: &'static [(&'static str, &'static [&'static str])],
}

const AUTH: CrateRules = CrateRules { layers: LAYERS, crates: CRATES };
const PLATFORM: CrateRules = CrateRules { layers: PLATFORM_LAYERS, crates: PLATFORM_CRATES };

/// Describes the violation of an import, if there is one.
fn violation(rules: &CrateRules, layer: &str, rest: &[String], import: &Import) -> Option<String> {
    match import {
        Import::Crate(name) => {
            let (_, allowed) = rules.crates.iter().find(|(package, _)| package == name)?;
            (!allowed.contains(&layer)).then(|| format!("{layer} uses {name}, which is for {}", allowed.join(", ")))
        }
        Import::Module(path) => {
            let target = &path[0];
            let (_, allowed) = rules.layers.iter().find(|(known, _)| known == &layer)?;
            rules.layers.iter().find(|(known, _)| known == target)?;
            if layer == "handlers" && target == "handlers" {
                let other = path.get(1)?;
                let inside = rest.first().is_none_or(|own| own == other || rest.len() == 1 && own == "mod");
                return (!inside)
                    .then(|| format!("handler {} uses handler {other}: move what both need to services", rest[0]));
            }
            (target != layer && !allowed.contains(&target.as_str())).then(|| format!("{layer} imports {target}"))
        }
    }
}

enum Import {
    /// Another crate's name.
    Crate(&'static str),
    /// A path from this crate's root.
    Module(Vec<String>),
}

/// The module path of a file: `store/mod.rs` is `store`, and the root of the crate is empty.
fn module_of(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod" || names.len() == 1 && last == "lib") {
        names.pop();
    }
    names
}

/// The imports of a file with their lines: `use` items and paths in expressions alike.
fn imports(text: &str, module: &[String]) -> Vec<(usize, Import)> {
    let code: String = text.lines().flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"]).collect();
    let mut found = Vec::new();
    for (name, _) in CRATES {
        found.extend(find_word_starts(&code, &format!("{name}::")).map(|at| (line_of(&code, at), Import::Crate(name))));
    }
    for at in find_word_starts(&code, "crate::") {
        let paths = paths(&code[at + "crate::".len()..]);
        found.extend(paths.into_iter().map(|path| (line_of(&code, at), Import::Module(path))));
    }
    for at in find_word_starts(&code, "platform::") {
        for mut path in paths(&code[at + "platform::".len()..]) {
            let layer = platform_layer(&path[0]).to_owned();
            path[0] = layer;
            found.push((line_of(&code, at), Import::Module(path)));
        }
    }
    for at in find_word_starts(&code, "super::") {
        if code[..at].ends_with("super::") {
            continue; // counted with the first of them
        }
        let steps = code[at..].split("super::").take_while(|part| part.is_empty()).count();
        let Some(kept) = module.len().checked_sub(steps) else { continue };
        for path in paths(&code[at + steps * "super::".len()..]) {
            found.push((line_of(&code, at), Import::Module([&module[..kept], &path].concat())));
        }
    }
    found
}

/// The positions of a word that is not the end of a longer identifier.
fn find_word_starts<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(|at| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || character == '_' || character == '$')
            && (word.starts_with("super") || !code[..*at].ends_with("::"))
    })
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// The paths after a prefix: `a::b`, or each of `{a::b, c}`; two segments identify a layer and what is in it.
fn paths(rest: &str) -> Vec<Vec<String>> {
    let Some(group) = rest.strip_prefix('{') else { return vec![path(rest)] };
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for character in group.chars() {
        match character {
            '}' if depth == 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(character == '{') - i32::from(character == '}');
                parts.last_mut().expect("there is always one").push(character);
            }
        }
    }
    parts.iter().map(|part| path(part.trim())).filter(|path| !path[0].is_empty()).collect()
}

fn path(text: &str) -> Vec<String> {
    let end = text
        .find(|character: char| !(character.is_alphanumeric() || character == '_' || character == ':'))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(':').split("::").map(str::to_owned).collect()
}
