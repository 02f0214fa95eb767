//! The validation cases that the form and the function share.

use functions_rs::functions::send_submission::text::SubmissionBody;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct SubmissionCase {
    name: String,
    input: Value,
    ok: bool,
    message: Option<String>,
    stored: Option<Value>,
}

/// Expands a value of the table.
/// `{"repeat": [text, times]}` is a long text, `{"json": value}` any JSON.
fn expand(written: &Value) -> Value {
    if let Some(repeat) = written.get("repeat") {
        let text = repeat[0].as_str().expect("a text to repeat");
        let times = repeat[1].as_u64().and_then(|times| usize::try_from(times).ok()).expect("how often");
        return json!(text.repeat(times));
    }
    written.get("json").unwrap_or(written).clone()
}

#[test]
fn form_and_function_validate_equally() {
    let cases: Vec<SubmissionCase> = serde_json::from_str(include_str!("../submission_cases.json")).expect("the table");
    assert!(cases.len() > 30);
    for case in cases {
        let body = serde_json::to_vec(&json!({ "description": expand(&case.input) })).expect("JSON");
        let seen = SubmissionBody::parse(&body).map(|body| body.text);
        let stored = seen.as_ref().map(|text| json!(text.as_str())).map_err(|invalid| invalid.message().to_owned());
        let expected = match (case.ok, case.stored, case.message) {
            (true, Some(stored), None) => Ok(expand(&stored)),
            (false, None, Some(message)) => Err(message),
            _ => panic!("{}: a case has either `stored` or `message`", case.name),
        };
        assert_eq!(stored, expected, "{}", case.name);
    }
}
