//! Pages that explain refused requests: a list, one explanation as a page, and as JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use foundation::html::escape_html;
use foundation::time::{Time, format_minutes};
use http::{Method, StatusCode};
use platform::explanation::{EXPLANATION_PATH, ExplanationStore};
use serde_json::Value;

use super::access::AccessRule;
use super::page::STYLE;
use super::responses::{DEFAULT_POLICY, response, text};

/// The number of listed explanations.
const MAX_LISTED: usize = 100;

/// Returns whether a path is below that of the explanations.
pub(crate) fn is_explanation_path(path: &str) -> bool {
    path.strip_prefix(EXPLANATION_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
}

/// Returns the access rule: links of other sites open pages in browsers on this machine, not JSON.
pub(super) fn access_rule(request: &Request) -> AccessRule<'static> {
    let has_token = request.uri().query().is_some_and(|query| query.split('&').any(|part| part.starts_with("token=")));
    if has_token || request.uri().path().strip_suffix(".json").is_some() {
        AccessRule::LocalOrToken
    } else {
        AccessRule::LocalOrNavigation
    }
}

/// Answers a request for an explanation, or for the list of them.
pub(super) fn answer(store: &ExplanationStore, request: &Request, header: &str) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "these pages are only read\n");
    }
    let query = request.uri().query().filter(|query| query.starts_with("token=")).map(|query| format!("?{query}"));
    let token = escape_html(&query.unwrap_or_default());
    let rest = request.uri().path().strip_prefix(EXPLANATION_PATH).unwrap_or_default();
    match rest {
        "" | "/" => html(format_list(&store.list(MAX_LISTED), &token, header)),
        ".json" => json(&format!("{{\"explanations\":[{}]}}", store.list(MAX_LISTED).join(","))),
        "/style.css" => response(StatusCode::OK, "text/css; charset=utf-8", DEFAULT_POLICY, STYLE.as_bytes().to_vec()),
        id => {
            let id = id.trim_start_matches('/');
            let (id, is_json) = id.strip_suffix(".json").map_or((id, false), |id| (id, true));
            match store.find(id) {
                Some(found) if is_json => json(&found),
                Some(found) => html(format_explanation(&found, &token, header)),
                None => text(
                    StatusCode::NOT_FOUND,
                    "this explanation is not kept any more; the latest ones are at /_dev/explain\n",
                ),
            }
        }
    }
}

fn json(text: &str) -> Response {
    response(StatusCode::OK, "application/json", DEFAULT_POLICY, text.as_bytes().to_vec())
}

fn html(body: String) -> Response {
    response(StatusCode::OK, "text/html; charset=utf-8", DEFAULT_POLICY, body.into_bytes())
}

/// Formats the head of a page. Addresses are relative, because a backend can be below a path.
fn format_head(title: &str, stylesheet: &str, token: &str, header: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"{stylesheet}{token}\">\n{header}<h1>{title}</h1>\n",
        title = escape_html(title)
    )
}

fn format_list(explanations: &[Arc<str>], token: &str, header: &str) -> String {
    let mut page = format_head("Explanations", "explain/style.css", token, header);
    page.push_str("<p>Refused requests, newest first.</p>\n");
    if explanations.is_empty() {
        page.push_str("<p class=\"quiet\">None yet: the next request that is refused is explained here.</p>\n");
    }
    for explanation in explanations {
        let Ok(shown) = serde_json::from_str::<Value>(explanation) else { continue };
        let _ = writeln!(
            page,
            "<article>\n<h2><a href=\"explain/{}{token}\">{} {}</a></h2>\n<p class=\"to\">{} · {}</p>\n{}</article>",
            shown_text(&shown["id"]),
            shown_text(&shown["request"]["method"]),
            shown_text(&shown["request"]["path"]),
            shown_time(&shown["at"]),
            shown_text(&title_of(&shown)),
            shown_cause(&shown),
        );
    }
    page
}

/// The reason of the decision, else the message to the client, as a paragraph.
fn shown_cause(explanation: &Value) -> String {
    let texts = [&explanation["decision"]["reason"], &explanation["message"]];
    let text = texts.into_iter().filter_map(Value::as_str).find(|text| !text.is_empty());
    text.map(|text| format!("<p>{}</p>\n", escape_html(text))).unwrap_or_default()
}

/// A time as people read it.
fn shown_time(value: &Value) -> String {
    let time: Option<Time> = value.as_str().and_then(|text| text.parse().ok());
    time.map_or_else(|| shown_text(value), format_minutes)
}

/// The error code, else the name of the decision.
fn title_of(explanation: &Value) -> Value {
    [&explanation["code"], &explanation["decision"]["name"], &explanation["request"]["status"]]
        .into_iter()
        .find(|value| !value.is_null())
        .cloned()
        .unwrap_or_default()
}

fn format_explanation(explanation: &str, token: &str, header: &str) -> String {
    let shown: Value = serde_json::from_str(explanation).unwrap_or_default();
    let title = title_of(&shown);
    let mut page = format_head(title.as_str().unwrap_or("Explanation"), "style.css", token, header);
    let _ = writeln!(
        page,
        "<p class=\"to\">{} {} · {} · request {}</p>",
        shown_text(&shown["request"]["method"]),
        shown_text(&shown["request"]["path"]),
        shown_text(&shown["request"]["status"]),
        shown_text(&shown["request"]["id"]),
    );
    format_section(&mut page, "Why", &shown["decision"]["reason"]);
    format_section(&mut page, "What to do", &shown["remedy"]);
    format_setting(&mut page, &shown["setting"]);
    format_section(&mut page, "Response to the client", &shown["message"]);
    format_section(&mut page, "Inputs of the decision", &shown["decision"]["inputs"]);
    format_section(&mut page, "Guards passed", &shown["guards_passed"]);
    format_section(&mut page, "Refused by the guard", &shown["refusing_guard"]);
    format_section(&mut page, "Statements", &shown["statements"]);
    format_section(&mut page, "Calls", &shown["calls"]);
    format_section(&mut page, "Messages", &shown["messages"]);
    format_section(&mut page, "Other decisions", &shown["decisions"]);
    format_section(&mut page, "Documentation", &shown["documentation"]);
    let id = shown_text(&shown["id"]);
    let _ = writeln!(page, "<p><a href=\"{id}.json{token}\">As JSON</a> · <a href=\"../explain{token}\">All</a></p>");
    page
}

fn format_setting(page: &mut String, setting: &Value) {
    if setting.is_null() {
        return;
    }
    let line = setting["line"].as_u64().map(|line| format!(", line {line}")).unwrap_or_default();
    let place = setting["file"].as_str().map(|file| format!(" in {}{line}", escape_html(file))).unwrap_or_default();
    let value = setting["value"].as_str().map(|value| format!(" = {}", escape_html(value))).unwrap_or_default();
    let name = shown_text(&setting["name"]);
    let _ = writeln!(page, "<article>\n<h2>Setting</h2>\n<p><code>{name}</code>{value}{place}</p>\n</article>");
}

/// Formats a value, unless there is none.
fn format_section(page: &mut String, title: &str, value: &Value) {
    let content = match value {
        Value::Null => return,
        Value::Array(items) if items.is_empty() => return,
        Value::Object(members) if members.is_empty() => return,
        Value::Array(items) => {
            items.iter().fold(String::new(), |list, item| list + &format!("<li>{}</li>\n", shown_members(item)))
        }
        Value::Object(members) => {
            let shown = members.iter().filter(|(_, value)| !value.is_null());
            shown.fold(String::new(), |list, (name, value)| {
                list + &format!("<li>{}: {}</li>\n", escape_html(name), shown_nested(value))
            })
        }
        other => format!("<li>{}</li>\n", shown_text(other)),
    };
    let _ = writeln!(page, "<article>\n<h2>{title}</h2>\n<ul>\n{content}</ul>\n</article>");
}

/// A list below the name of a member; other values on its line.
fn shown_nested(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let items =
                items.iter().fold(String::new(), |list, item| list + &format!("<li>{}</li>\n", shown_members(item)));
            format!("\n<ul>\n{items}</ul>\n")
        }
        Value::Array(items) => items.iter().map(shown_text).collect::<Vec<_>>().join(", "),
        other => shown_text(other),
    }
}

/// The members of an object on one line.
fn shown_members(value: &Value) -> String {
    let Value::Object(members) = value else { return shown_text(value) };
    let shown = members.iter().filter(|(_, value)| !value.is_null());
    let shown = shown.map(|(name, value)| format!("{}: {}", escape_html(name), shown_text(value)));
    shown.collect::<Vec<_>>().join(", ")
}

fn shown_text(value: &Value) -> String {
    value.as_str().map_or_else(|| escape_html(&value.to_string()), escape_html)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use serde_json::json;

    use super::*;

    async fn page(store: &ExplanationStore, path: &str) -> (u16, String) {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().expect("a path");
        let response = answer(store, &request, "");
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, String::from_utf8(bytes.to_vec()).expect("text"))
    }

    #[tokio::test]
    async fn page_escapes_what_the_request_named() {
        let store = ExplanationStore::new("http://localhost", "x");
        let hostile = "<script>alert(1)</script>";
        store.insert(json!({
            "code": hostile,
            "request": {"method": hostile, "path": hostile},
            "decision": {"reason": hostile, "inputs": {"requested": hostile}},
            "setting": {"name": hostile, "file": hostile, "value": hostile, "line": 3},
            "statements": [{"name": hostile}],
        }));
        for path in ["/_dev/explain", "/_dev/explain/x1", "/_dev/explain/x1?token=a\"b"] {
            let (status, text) = page(&store, &path.replace('"', "%22")).await;
            assert_eq!(status, 200, "{path}");
            assert!(!text.contains("<script") && text.contains("&lt;script&gt;"), "{text}");
        }
    }

    #[tokio::test]
    async fn explanation_is_a_page_and_json() {
        let store = ExplanationStore::new("http://localhost", "x");
        store.insert(json!({"at": "2026-11-30T18:52:18.525900231+00:00", "request": {"status": 404}, "decision": {"reason": null}}));
        let (_, list) = page(&store, "/_dev/explain").await;
        assert!(list.contains("<p class=\"to\">2026-11-30 18:52 UTC · 404</p>\n</article>"), "{list}");
        store.insert(json!({"code": "some_code", "setting": {"name": "auth.a", "file": "config.toml", "line": 7}}));
        let (_, text) = page(&store, "/_dev/explain/x2").await;
        assert!(text.contains("<code>auth.a</code> in config.toml, line 7"), "{text}");
        let (_, text) = page(&store, "/_dev/explain/x2.json").await;
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON")["code"], "some_code");
        let (_, text) = page(&store, "/_dev/explain.json").await;
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON")["explanations"][0]["id"], "x2");
        assert_eq!(page(&store, "/_dev/explain/x3").await.0, 404);
        assert_eq!(page(&store, "/_dev/explain/style.css").await.0, 200);
    }
}
