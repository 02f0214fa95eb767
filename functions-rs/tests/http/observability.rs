//! The tracing span of a call.

use platform::testing::Recording;

use crate::gateway::call;
use crate::support::ADA;

async fn fields_of_call(path: &str, token: &str) -> [String; 6] {
    let authorization = format!("Bearer {token}");
    let mut headers = vec![("x-request-id", "request-1")];
    headers.extend((!token.is_empty()).then_some(("authorization", &*authorization)));
    Recording::start();
    call("POST", path, &headers, "a private body").await;
    let recording = Recording::stop();
    let text = recording.text();
    assert!(!text.contains("a private body") && (token.is_empty() || !text.contains(token)), "{text}");
    let [span] = recording.spans_named("request")[..] else { panic!("not one request span: {recording:?}") };
    assert_eq!((span.fields.get("request.id"), span.fields.get("http.request.method")), ("request-1", "POST"));
    ["http.route", "function", "user.id", "http.response.status_code", "error.code", "error.type"]
        .map(|name| span.fields.get(name).to_owned())
}

#[tokio::test]
async fn span_names_function_user_and_outcome() {
    const ROUTE: &str = "/functions/v1/{name}";
    assert_eq!(fields_of_call("/guarded/rest", "token-of-ada").await, [ROUTE, "guarded", ADA, "200", "", ""]);
    assert_eq!(fields_of_call("/fails", "").await, [ROUTE, "fails", "", "500", "WORKER_ERROR", ""]);
    let refused = fields_of_call("/guarded", "").await;
    assert_eq!(refused, [ROUTE, "guarded", "", "401", "UNAUTHORIZED_NO_AUTH_HEADER", ""]);
    assert_eq!(fields_of_call("/unknown", "").await, ["", "", "", "404", "NOT_FOUND", ""]);
}

#[tokio::test]
async fn failure_is_logged_once_with_its_causes() {
    Recording::start();
    call("POST", "/fails", &[], "").await;
    let recording = Recording::stop();
    let errors: Vec<_> = recording.events.iter().filter(|event| event.level == tracing::Level::ERROR).collect();
    let [line] = errors[..] else { panic!("not one error line: {recording:?}") };
    assert_eq!(line.fields.get("error"), "asking the database: password authentication failed");
}
