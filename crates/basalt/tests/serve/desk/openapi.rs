//! The `OpenAPI` document of the desk's API beside what is served and what the pages call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::desk_client::{Shop, SignedIn};

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// The operations of the document by method and path.
type Operations = BTreeMap<(String, String), Value>;

async fn read_document(shop: &Shop, owner: &SignedIn) -> Value {
    let answer = shop.get("/openapi.json", Some(&owner.cookie)).await;
    assert_eq!((answer.status, answer.headers["content-type"].to_str().ok()), (200, Some("application/json")));
    answer.body
}

fn operations(document: &Value) -> Operations {
    let mut operations = Operations::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in METHODS {
            if let Some(operation) = item.get(method.as_str().to_ascii_lowercase()) {
                operations.insert((method.to_string(), path.clone()), operation.clone());
            }
        }
    }
    operations
}

/// Whether a path has the form of a path of the document.
fn fits(path: &str, documented: &str) -> bool {
    let (path, documented): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), documented.split('/').collect());
    let is_equal = |(sent, wanted): (&&str, &&str)| sent == wanted || wanted.starts_with('{');
    path.len() == documented.len() && path.iter().zip(&documented).all(is_equal)
}

#[tokio::test]
async fn document_is_for_signed_in_owners() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    for cookie in [None, Some("basalt_desk=x")] {
        let refused = shop.get("/openapi.json", cookie).await;
        assert_eq!((refused.status, refused.code()), (401, "desk_session_missing"), "{cookie:?}");
        assert!(refused.body.get("paths").is_none());
    }
    let document = read_document(&shop, &owner).await;
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")), "{document}");
    let operations = operations(&document);
    let ids: BTreeSet<&str> = operations.values().filter_map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations.len(), "each operation has an id of its own");
    for ((method, path), operation) in &operations {
        assert!(operation["summary"].is_string(), "{method} {path}");
        let refusal = &operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(refusal, "#/components/schemas/Error", "{method} {path}");
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
        let named: BTreeSet<&str> = in_path.filter_map(|parameter| parameter["name"].as_str()).collect();
        assert_eq!(named, path.split(['{', '}']).skip(1).step_by(2).collect(), "{method} {path}");
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for reference in document.to_string().split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap_or_default();
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn document_lists_the_calls_that_are_served() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let operations = operations(&read_document(&shop, &owner).await);
    let paths: BTreeSet<&str> = operations.keys().map(|(_, path)| path.as_str()).collect();
    let mut calls: Vec<(Method, &str)> = paths.iter().flat_map(|path| METHODS.map(|method| (method, *path))).collect();
    // The call that ends the session is the last one.
    calls.sort_by_key(|(method, path)| (method, *path) == (&Method::DELETE, "/session"));
    for (method, documented) in calls {
        let path: Vec<&str> = documented.split('/').map(|part| if part.starts_with('{') { ID } else { part }).collect();
        let path = path.join("/");
        let operation = operations.get(&(method.to_string(), documented.to_owned()));
        let is_open = operation.is_some_and(|operation| operation["security"] == json!([{}]));
        let anonymous = super::desk_client::send(shop.request(&method, &path).json(&json!({}))).await;
        let is_refused = (anonymous.status, anonymous.code()) == (401, "desk_session_missing");
        assert_eq!(is_refused, !is_open, "{method} {path} without a session: {}", anonymous.body);
        let answer = shop.change(method.clone(), &path, &owner, json!({})).await;
        let is_served = answer.code() != "method_not_allowed" && answer.body["message"] != "The path does not exist.";
        match operation {
            Some(_) => assert!(is_served, "{method} {path} is documented: {}", answer.body),
            // `/catalogue/pictures` has the form of `/catalogue/{id}`.
            None if is_served => {
                let other = operations.keys().any(|(of, other)| of == method.as_str() && fits(&path, other));
                assert!(other, "{method} {path} is not documented: {} {}", answer.status, answer.body);
            }
            None => {}
        }
    }
    let ended = shop.get("/session", Some(&owner.cookie)).await;
    assert_eq!(ended.code(), "desk_session_missing", "all calls were sent");
}

/// Matches no order, submission or passkey; templates have numbers.
const ID: &str = "00000000-0000-4000-8000-00000000000f";

#[tokio::test]
async fn pages_use_the_calls_of_the_document() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let operations = operations(&read_document(&shop, &owner).await);
    let features = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../frontend/desk/features");
    let mut used = BTreeSet::new();
    for file in source_rules::list_files(&features, &[".ts", ".tsx"]) {
        for (method, path) in called_paths(&source_rules::read_text(&file)) {
            let found = operations.keys().find(|(of, documented)| *of == method && fits(&path, documented));
            let found =
                found.unwrap_or_else(|| panic!("{} calls {method} {path}: not in the document", file.display()));
            used.insert(found);
        }
    }
    assert!(used.len() > 30, "{used:?}");
}

/// Lists method and path of the requests in a source file: `{ method: "POST", path: "/orders/held/deliver" }`.
fn called_paths(source: &str) -> Vec<(String, String)> {
    let requests = source.match_indices("path: ").filter_map(|(at, start)| {
        let text = &source[at + start.len()..];
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '`'))?;
        let text = text[1..].split([quote, '?']).next().unwrap_or_default();
        // What is inserted after a slash is a segment; elsewhere it is a query.
        let mut path = String::new();
        for (number, part) in text.split("${").enumerate() {
            let inserted = number > 0;
            if inserted && !path.ends_with('/') {
                break;
            }
            let rest = if inserted { part.split_once('}').map_or("", |(_, rest)| rest) } else { part };
            path.push_str(if inserted { ID } else { "" });
            path.push_str(rest);
        }
        let line = source[..at].rsplit(['{', '\n']).next().unwrap_or_default();
        let method = line.split("method: \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("GET");
        path.starts_with('/').then(|| (method.to_owned(), path))
    });
    requests.collect()
}
