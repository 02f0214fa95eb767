//! The file format, placeholders, globs and HAR files.

use std::path::PathBuf;

use flows::expressions::{fill_path, fill_text, parse_text};
use flows::format::{Action, Flow, Profile, RequestBody, Step, load_settings};
use flows::record::{HarOptions, import_har};
use flows::replay::find_flows;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::Folder;

const EXAMPLE: &str = r#"{
 "flow": "sign_up",
 "about": "one of each",
 "profile": "gotrue",
 "settings": { "env": { "GOTRUE_SITE_URL": "http://localhost:3000" } },
 "compare": "relevant",
 "values": { "email1": { "email": "ann" } },
 "steps": [
  { "set": { "secret": { "@random": { "alphabet": "hex", "length": 8 } } } },
  {
   "label": "twice",
   "request": { "method": "POST", "path": "/signup", "bearer": "{{t}}", "headers": { "x": ["a", "b"] }, "json": { "email": "{{email1}}" } },
   "repeat": 2,
   "capture": { "made": "json", "code": "location.query.code" },
   "match": "subset",
   "expect": { "status": 200, "headers": {}, "json": { "id": "<uuid1>" } }
  },
  { "request": { "method": "GET", "path": "/user", "service": "functions" }, "status": 404 },
  { "note": { "a": "{{made.id}}" }, "expect": { "a": "<uuid1>" } },
  { "do": [{ "@sql": "select 1" }] },
  { "pause": 0.5 },
  { "advance": "61m" },
  { "learn": { "the text": "{{secret}}" } }
 ]
}
"#;

#[test]
fn file_is_written_as_it_was_read() {
    let flow = Flow::parse(EXAMPLE).expect("valid");
    assert_eq!((flow.name.as_str(), flow.profile, flow.steps.len()), ("sign_up", Profile::Gotrue, 8));
    let text = flow.to_text();
    assert_eq!(Flow::parse(&text).expect("valid"), flow);
    assert_eq!(Flow::parse(&text).unwrap().to_text(), text);
    let Action::Request(request) = &flow.steps[1].action else { panic!("a request") };
    assert!(request.is_subset && request.repeat == 2 && matches!(request.body, RequestBody::Json(_)));
}

#[test]
fn problems_name_the_step_and_the_member() {
    for (text, expected) in [
        ("[]", "the file"),
        ("{", "no JSON"),
        (r#"{"flow": "a"}"#, "steps"),
        (r#"{"steps": [], "step": 1}"#, "step: the file has no such member"),
        (r#"{"steps": [{}]}"#, "step 0: one of request"),
        (r#"{"steps": [{"pause": -1}]}"#, "step 0: pause"),
        (r#"{"steps": [{"request": {"path": "/", "json": 1, "form": {}}}]}"#, "step 0: form: a request has one body"),
        (r#"{"steps": [{"request": {"path": "/"}, "expects": {}}]}"#, "step 0: expects"),
        (r#"{"steps": [{"note": 1}]}"#, "step 0: expect"),
        (r#"{"profile": "other", "steps": []}"#, "profile"),
        (r#"{"steps": [{"request": {"path": "/"}, "capture": {"a": 1}}]}"#, "capture.a"),
    ] {
        let error = Flow::parse(text).expect_err(text);
        assert!(error.problem.contains(expected), "{text}: {error}");
    }
}

#[test]
fn settings_extend_files_and_null_removes() {
    let folder = Folder::new();
    std::fs::write(
        folder.0.join("base.json"),
        r#"{"about": "x", "env": {"A": "1", "B": "2"}, "sql": ["select 1"], "static": {"/x": 1}}"#,
    )
    .unwrap();
    let text = r#"{"settings": {"extends": "base.json", "env": {"B": null, "C": "3"}}, "steps": []}"#;
    let settings = load_settings(&Flow::parse(text).unwrap(), &folder.0, Some(&folder.0)).expect("read");
    assert_eq!(Value::Object(settings.env), json!({"A": "1", "C": "3"}));
    assert_eq!(settings.sql, ["select 1"]);
    assert_eq!(Value::Object(settings.others), json!({"static": {"/x": 1}}));
    let missing = Flow::parse(r#"{"settings": {"extends": "none.json"}, "steps": []}"#).unwrap();
    assert!(load_settings(&missing, &folder.0, Some(&folder.0)).unwrap_err().problem.contains("none.json"));
}

#[test]
fn placeholders_take_values_and_paths_encode_them() {
    let variables: Map<String, Value> =
        serde_json::from_value(json!({"a": {"b": [1, {"c": "x y"}]}, "n": 7, "link": "?q=1&r=2"})).unwrap();
    assert_eq!(fill_text("{{a.b.1.c}}", &variables).unwrap(), json!("x y"));
    assert_eq!(fill_text("{{a.b}}", &variables).unwrap(), json!([1, {"c": "x y"}]));
    assert_eq!(fill_text("<{{n}}> {{{{n}}", &variables).unwrap(), json!("<7> {{n}}"));
    assert_eq!(fill_path("/verify/{{n}}?a={{a.b.1.c}}", &variables).unwrap(), "/verify/7?a=x%20y");
    assert_eq!(fill_path("/verify{{link|raw}}", &variables).unwrap(), "/verify?q=1&r=2");
    let missing = fill_text("{{step3.access_token}}", &variables).unwrap_err();
    assert!(missing.problem.contains("{{step3.access_token}}") && missing.hint.contains("--set step3="), "{missing}");
    assert!(fill_text("{{a.x}}", &variables).unwrap_err().problem.contains("{{a.x}}"));
}

#[test]
fn flows_are_selected_by_patterns_of_whole_names() {
    let folder = Folder::new();
    let names = ["abc", "ac", "magic_link.sent", "user.changed", "users.changed", "xaxxb", "xaxxbc"];
    for name in names {
        let flow = EXAMPLE.replace("\"sign_up\"", &format!("\"{name}\""));
        std::fs::write(folder.0.join(format!("{name}.json")), flow).expect("written");
    }
    let select = |pattern: &str| -> Vec<String> {
        let found = find_flows(std::slice::from_ref(&folder.0), &[pattern.to_owned()]).expect("readable");
        found.into_iter().map(|file| file.flow.name).collect()
    };
    assert_eq!(select("*"), names);
    for (pattern, selected) in
        [("user.*", "user.changed"), ("*link*", "magic_link.sent"), ("a?c", "abc"), ("*a*b", "xaxxb"), ("ac", "ac")]
    {
        assert_eq!(select(pattern), [selected], "{pattern}");
    }
}

fn har(entries: &Value) -> String {
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

fn entry(method: &str, url: &str, body: Option<&str>, (status, answer): (u16, &str)) -> Value {
    json!({
        "startedDateTime": "2026-01-02T03:04:05.678Z",
        "request": {
            "method": method, "url": url, "headers": [{"name": ":authority", "value": "x"}, {"name": "content-type", "value": "application/json"}],
            "postData": body.map(|text| json!({"mimeType": "application/json", "text": text})),
        },
        "response": {
            "status": status, "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"size": answer.len(), "mimeType": "application/json", "text": answer},
        },
    })
}

fn import(text: &str, upstream: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let (source, target) = (Folder::new(), Folder::new());
    let file: PathBuf = source.0.join("session.har");
    std::fs::write(&file, text).expect("writable");
    let options = HarOptions {
        file,
        folder: target.0.clone(),
        upstream: upstream.map(str::to_owned),
        profile: Profile::Serve,
        gap: 30.0,
        name: None,
    };
    import_har(&options).map(|_| target.files()).map_err(|error| error.to_string())
}

#[test]
fn har_of_a_browser_becomes_a_flow() {
    let session = r#"{"access_token": "opaque-token-0123456789", "refresh_token": "abcdefghijkl", "user": {"email": "zoe@corp.example"}}"#;
    let entries = json!([
        entry("OPTIONS", "https://abc.supabase.co/auth/v1/token", None, (204, "")),
        entry("GET", "https://app.example.com/index.html", None, (200, "<html>")),
        entry(
            "POST",
            "https://abc.supabase.co/auth/v1/token?grant_type=password",
            Some(r#"{"email": "zoe@corp.example", "password": "secret123"}"#),
            (200, session)
        ),
        entry(
            "POST",
            "https://abc.supabase.co/auth/v1/token?grant_type=refresh_token",
            Some(r#"{"refresh_token": "abcdefghijkl"}"#),
            (200, session)
        ),
    ]);
    let files = import(&har(&entries), None).expect("imported");
    let [(name, text)] = files.as_slice() else { panic!("one flow: {files:?}") };
    assert_eq!(name, "token.json");
    assert!(text.contains(r#""refresh_token": "{{step1.refresh_token}}""#), "{text}");
    assert!(!text.contains("zoe@") && !text.contains("secret123") && !text.contains("app.example.com"), "{text}");
    assert_eq!(
        Flow::parse(text).unwrap().steps.iter().filter(|step| matches!(step.action, Action::Request(_))).count(),
        2
    );
}

#[test]
fn har_has_requests_of_the_data_api_and_the_storage_api() {
    let url = |path: &str| format!("https://abc.supabase.co{path}");
    let entries = json!([
        entry("HEAD", &url("/rest/v1/notes?select=id"), None, (200, "")),
        entry("GET", &url("/storage/v1/object/papers/auth/v1/zoe.txt"), None, (200, "")),
        entry("GET", &url("/storage/v1/s3/papers"), None, (200, "")),
    ]);
    let files = import(&har(&entries), None).expect("imported");
    let [(_, text)] = files.as_slice() else { panic!("one flow: {files:?}") };
    let recorded = Flow::parse(text).unwrap();
    let titles: Vec<String> = recorded.steps.iter().map(Step::title).filter(|title| title.contains("/v1")).collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert_eq!(titles[0], "HEAD /rest/v1/notes");
    assert!(titles[1].starts_with("GET /storage/v1/object/papers/{{"), "{titles:?}");
    for upstream in ["https://abc.supabase.co", "https://abc.supabase.co/auth/v1"] {
        assert_eq!(&import(&har(&entries), Some(upstream)).expect("imported")[0].1, text);
    }
}

#[test]
fn har_of_a_server_at_the_root_needs_its_url() {
    let entries = json!([entry("GET", "http://127.0.0.1:9999/settings", None, (200, r#"{"disable_signup": false}"#))]);
    assert!(import(&har(&entries), None).unwrap_err().contains("--upstream"));
    let files = import(&har(&entries), Some("http://127.0.0.1:9999")).expect("imported");
    assert!(files[0].1.contains(r#""path": "/settings""#), "{}", files[0].1);
}

#[test]
fn other_files_are_refused_with_a_reason() {
    for text in ["", "{}", "[1]", r#"{"log": {"entries": 1}}"#, r#"{"log": {"entries": []}}"#] {
        assert!(import(text, None).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}|[{}a|. ]{0,30}") {
        drop(parse_text(&text));
        drop(Flow::parse(&text));
        drop(fill_path(&text, &Map::new()));
    }

    #[test]
    fn text_without_braces_stays(text in "[a-z?=&/ ]{0,40}") {
        prop_assert_eq!(fill_text(&text, &Map::new()).unwrap(), json!(text.clone()));
        prop_assert_eq!(fill_path(&text, &Map::new()).unwrap(), text);
    }

    #[test]
    fn any_entry_of_a_har_is_imported_or_skipped(url in "(https?://)?[a-z./:?#=&%0-9]{0,40}", method in "[A-Z]{0,7}", status in any::<u16>(), body in "\\PC{0,40}") {
        let entries = json!([entry(&method, &url, Some(&body), (status, &body)), {"request": {"url": format!("https://x/auth/v1/{url}"), "method": "GET"}, "response": {"status": 200}}]);
        drop(import(&har(&entries), None));
    }
}
