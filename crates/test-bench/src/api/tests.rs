//! The `OpenAPI` document beside the guide and the clients of the test API.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calls;

/// The path of a world, which the guide abbreviates and clients join.
const WORLD: &str = "/worlds/{id}";
const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> Value {
    serde_json::to_value(calls().into_openapi()).expect("JSON")
}

/// Returns the operations of the document by method and path.
fn operations(document: &Value) -> BTreeMap<(String, String), Value> {
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, item): (&String, &Value)| {
        let path = path.clone();
        let methods = item.as_object().cloned().unwrap_or_default().into_iter();
        methods
            .filter(|(method, _)| METHODS.contains(&method.as_str()))
            .map(move |(method, operation)| ((method.to_ascii_uppercase(), path.clone()), operation))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

#[test]
fn document_is_openapi_with_a_description_of_each_call() {
    let document = document();
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")), "{document}");
    let operations = operations(&document);
    let ids: BTreeSet<&str> = operations.values().filter_map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations.len(), "each operation has an id of its own");
    for ((method, path), operation) in &operations {
        assert!(operation["summary"].is_string(), "{method} {path}");
        let refusal = &operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(refusal, "#/components/schemas/Error", "{method} {path}");
        let responses = operation["responses"].as_object().expect("responses");
        assert!(responses.values().all(|response| response["description"].is_string()), "{method} {path}");
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let named: BTreeSet<&str> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let in_path = path.split(['{', '}']).skip(1).step_by(2).collect();
        assert_eq!(named, in_path, "{method} {path}");
    }
}

#[test]
fn references_of_the_document_have_a_schema() {
    let document = document();
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut references = 0;
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap_or_default();
        assert!(schemas.contains_key(name), "{name}");
        references += 1;
    }
    assert!(references > 30, "{references} references");
}

#[test]
fn calls_are_those_of_the_guide() {
    let guide = std::fs::read_to_string(repository().join("docs/testing/README.md")).expect("the guide");
    let (_, section) = guide.split_once("\n## HTTP\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    // The cells of calls, which are spans of code with a method and a path.
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let spans = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let written: BTreeSet<(String, String)> = spans
        .filter_map(|span| span.split_once(' '))
        .map(|(method, path)| (method.to_owned(), path.replace('…', WORLD)))
        .collect();
    let served: BTreeSet<(String, String)> = operations(&document()).into_keys().collect();
    assert_eq!(written, served);
}

/// Returns the texts of a source file that are paths of calls, and the method in front of each.
///
/// They have no query, and `{}` for what is inserted.
fn called_paths(source: &str) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    for (position, _) in source.match_indices('/') {
        let (before, after) = source.split_at(position);
        let Some(quote) = before.chars().next_back().filter(|quote| matches!(quote, '"' | '`')) else { continue };
        if !after[1..].starts_with(|first: char| first.is_ascii_lowercase()) {
            continue;
        }
        let Some(text) = after.split(quote).next().filter(|text| !text.contains('\n')) else { continue };
        let mut path = String::new();
        for part in text.split('?').next().unwrap_or_default().split('}') {
            path.push_str(part.split('{').next().unwrap_or_default().trim_end_matches('$'));
            path.push_str(if part.contains('{') { "{}" } else { "" });
        }
        let argument = before[..before.len() - 1].trim_end_matches('f').trim_end_matches("&format!(").trim_end();
        let before_comma = argument.strip_suffix(',').unwrap_or_default().trim_end_matches('"');
        let method = before_comma.rsplit(|letter: char| !letter.is_ascii_uppercase()).next().unwrap_or_default();
        found.push((Some(method.to_owned()).filter(|method| !method.is_empty()), path));
    }
    found
}

#[test]
fn clients_use_calls_of_the_document() {
    let served: BTreeSet<(String, String)> = operations(&document())
        .into_keys()
        .map(|(method, path)| {
            let parts: Vec<&str> = path.split(['{', '}']).step_by(2).collect();
            (method, parts.join("{}"))
        })
        .collect();
    let files: [(&str, &[&str]); 3] = [
        (
            "packages/js/src",
            &["accounts.ts", "clock.ts", "events.ts", "faults.ts", "messages.ts", "server.ts", "world.ts"],
        ),
        ("packages/python/basalt_test", &["_server.py", "_world.py"]),
        ("packages/rust/src", &["server.rs", "world.rs"]),
    ];
    for (folder, names) in files {
        let mut used = 0;
        for name in names {
            let path = repository().join(folder).join(name);
            let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for (method, call) in called_paths(&source) {
                let below_world = format!("/worlds/{{}}{call}");
                let is_served = served.iter().any(|(served_method, served_path)| {
                    (*served_path == call || *served_path == below_world)
                        && method.as_ref().is_none_or(|method| method == served_method)
                });
                assert!(is_served, "{folder}/{name} calls {method:?} {call}, which is no call of the document");
                used += 1;
            }
        }
        assert!(used >= 15, "{folder} has {used} calls");
    }
}
