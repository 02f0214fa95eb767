//! Who may import whom inside the auth crate. `docs/architecture.md` draws the picture; this is the table.

use std::path::Path;

use super::source;

/// A layer is a module at the crate's root; it may import these others.
const LAYERS: &[(&str, &[&str])] = &[
    ("journal", &[]),
    ("ports", &[]),
    ("config", &[]),
    ("store", &["journal"]),
    ("app", &["journal", "ports", "store"]),
    // A request's context carries what the HTTP layer read of it, and opens the store's connections.
    ("cx", &["journal", "app", "http", "ports", "store"]),
    ("http", &["journal", "app", "cx"]),
    ("services", &["journal", "app", "cx", "ports", "store"]),
    ("guards", &["journal", "app", "cx", "http", "services", "store"]),
    ("flows", &["journal", "app", "cx", "guards", "http", "services", "store"]),
    ("routes", &["journal", "app", "cx", "flows", "guards", "http", "services", "store"]),
    ("testing", &["journal", "app", "config", "cx", "flows", "guards", "http", "ports", "routes", "services", "store"]),
];

/// Crates that only some layers may know.
const CRATES: &[(&str, &[&str])] =
    &[("axum", &["http", "guards", "flows", "routes", "testing"]), ("sqlx", &["store", "app", "testing"])];

/// A file that may import what its layer may not: file, path, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "services/sessions/mod.rs",
        "http::reply",
        "every grant answers a session alike, so the answer stands beside the session instead of in one of the flows",
    ),
    (
        "ports/mail/outbox.rs",
        "store",
        "its outside is a table: a mail is written in the transaction of what it tells of",
    ),
    ("ports/mail/outbox/worker.rs", "store", "it takes mails from that table"),
    ("ports/mail/outbox/sweeper.rs", "store", "it forgets mails of that table"),
    ("ports/mail/inbox.rs", "store", "it shows what arrived in that table"),
];

#[test]
fn layers_import_only_what_lies_below_them() {
    let source = source::repository().join("gotrue-rs/src");
    let mut broken = Vec::new();
    for path in source::files(&source, &[".rs"]) {
        let file = path.strip_prefix(&source).expect("it lies below");
        let module = module_of(file);
        let [layer, rest @ ..] = &*module else { continue };
        for (number, import) in imports(&source::text(&path), &module) {
            if let Some(why) = complaint(layer, rest, &import)
                && !is_exception(file, &import)
            {
                broken.push(format!("{}:{number}: {why}", source::shown(&path)));
            }
        }
    }
    assert!(broken.is_empty(), "imports that break the layers:\n{}", broken.join("\n"));
}

#[test]
fn every_layer_has_its_row() {
    let root = source::text(&source::repository().join("gotrue-rs/src/lib.rs"));
    let modules =
        root.lines().filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    let unknown: Vec<&str> = modules.filter(|name| LAYERS.iter().all(|(layer, _)| layer != name)).collect();
    assert!(unknown.is_empty(), "say in LAYERS what these may import: {unknown:?}");
}

#[test]
fn the_rules_know_neither_runtime_nor_web_nor_database() {
    let manifest = source::text(&source::repository().join("gotrue-rules/Cargo.toml"));
    for name in ["tokio", "axum", "sqlx", "reqwest", "hyper"] {
        assert!(manifest.lines().all(|line| !line.starts_with(name)), "gotrue-rules depends on {name}");
    }
}

#[test]
fn a_broken_layer_is_found_however_it_is_written() {
    let found = |text: &str, module: &[&str]| -> Vec<String> {
        let module: Vec<String> = module.iter().map(ToString::to_string).collect();
        let said = imports(text, &module).into_iter().filter_map(|(_, it)| complaint(&module[0], &module[1..], &it));
        said.collect()
    };
    let store = ["store", "users"];
    assert_eq!(found("use crate::services::audit;", &store).len(), 1);
    assert_eq!(found("use crate::{journal::Journal, flows};", &store).len(), 1);
    assert_eq!(found("use crate::{\n    app::{App, Journals},\n    flows::token,\n};", &store).len(), 2);
    assert_eq!(found("let it = crate::http::reply::of(x);", &store).len(), 1);
    assert_eq!(found("use super::super::app::App;", &store).len(), 1);
    assert_eq!(found("use axum::Router;", &store).len(), 1);
    assert_eq!(found("sqlx::query(sql)", &["services", "audit"]).len(), 1);
    assert_eq!(found("use crate::flows::token::mint;", &["flows", "sign_up", "contact"]).len(), 1);
    assert_eq!(found("use crate::flows::sign_up::anonymous;", &["flows", "sign_up", "contact"]).len(), 0);
    assert_eq!(found("use super::super::token::mint;", &["flows", "sign_up", "contact"]).len(), 1);
    assert_eq!(found("// crate::flows is above us\nuse super::rows;\n/// [`crate::flows`]", &store).len(), 0);
}

fn is_exception(file: &Path, import: &Import) -> bool {
    let Import::Module(path) = import else { return false };
    let path = path.join("::");
    EXCEPTIONS.iter().any(|(of, allowed, _)| file == Path::new(of) && path.starts_with(allowed))
}

/// What is wrong with an import, if something is.
fn complaint(layer: &str, rest: &[String], import: &Import) -> Option<String> {
    match import {
        Import::Crate(name) => {
            let (_, allowed) = CRATES.iter().find(|(it, _)| it == name)?;
            (!allowed.contains(&layer)).then(|| format!("{layer} uses {name}, which is for {}", allowed.join(", ")))
        }
        Import::Module(path) => {
            let target = &path[0];
            let (_, allowed) = LAYERS.iter().find(|(it, _)| it == &layer)?;
            LAYERS.iter().find(|(it, _)| it == target)?;
            if layer == "flows" && target == "flows" {
                let other = path.get(1)?;
                let inside = rest.first().is_none_or(|own| own == other || rest.len() == 1 && own == "mod");
                return (!inside)
                    .then(|| format!("flow {} uses flow {other}: move what both need to services", rest[0]));
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

/// `store/migrate/auth.rs` is `store::migrate::auth`, and `store/mod.rs` is `store`; the crate's root is nothing.
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
        found.extend(words(&code, &format!("{name}::")).map(|at| (line_of(&code, at), Import::Crate(name))));
    }
    for at in words(&code, "crate::") {
        let paths = paths(&code[at + "crate::".len()..]);
        found.extend(paths.into_iter().map(|path| (line_of(&code, at), Import::Module(path))));
    }
    for at in words(&code, "super::") {
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

/// Where a word stands that no longer word ends with.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(|at| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == '$')
            && (word.starts_with("super") || !code[..*at].ends_with("::"))
    })
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// The paths that follow: `a::b`, or each of `{a::b, c}`. Two names are enough to tell a layer and a flow.
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
    let end = text.find(|it: char| !(it.is_alphanumeric() || it == '_' || it == ':')).unwrap_or(text.len());
    text[..end].trim_end_matches(':').split("::").map(str::to_owned).collect()
}
