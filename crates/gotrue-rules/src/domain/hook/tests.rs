use serde_json::json;

use super::*;

fn response(status: u16, content_type: &str) -> HookResponse<'_> {
    HookResponse { status, content_type, has_retry_after: false, is_too_long: false }
}

#[test]
fn response_status_determines_outcome() {
    let json = "application/json";
    for (status, received) in [
        (200, Ok(HookResponseKind::Output)),
        (202, Ok(HookResponseKind::Output)),
        (204, Ok(HookResponseKind::NoContent)),
        (201, Err("500: Unexpected status code returned from hook: 201")),
        (302, Err("500: Unexpected status code returned from hook: 302")),
        (400, Err("500: Invalid payload sent to hook")),
        (401, Err("500: Hook requires authorization token")),
        (429, Err("500: Service currently unavailable due to hook")),
        (503, Err("500: Service currently unavailable due to hook")),
    ] {
        assert_eq!(
            classify_response(response(status, json)).map_err(|error| error.to_string()),
            received.map_err(str::to_owned)
        );
    }
    for status in [429, 503] {
        let waiting = HookResponse { has_retry_after: true, ..response(status, json) };
        assert_eq!(classify_response(waiting).unwrap(), HookResponseKind::Retry);
    }
    let long = HookResponse { is_too_long: true, ..response(200, json) };
    assert_eq!(classify_response(long).unwrap_err().code().as_str(), "hook_payload_over_size_limit");
}

#[test]
fn only_json_content_types_are_accepted() {
    for header in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        " application/json ;Charset=\"utf-8\"; ",
    ] {
        assert_eq!(classify_response(response(200, header)).unwrap(), HookResponseKind::Output, "{header}");
    }
    for (header, complaint) in [
        ("", "Invalid Content-Type: Missing Content-Type header"),
        ("text/html", "Invalid JSON response. Received content-type: text/html"),
        ("application/json5; a=b", "Invalid JSON response. Received content-type: application/json5; a=b"),
        ("application/", "Invalid Content-Type header: mime: expected token after slash"),
        (";", "Invalid Content-Type header: mime: no media type"),
        ("/json", "Invalid Content-Type header: mime: no media type"),
        ("app lication/json", "Invalid Content-Type header: mime: expected slash after first token"),
        ("application/json/x", "Invalid Content-Type header: mime: unexpected content after media subtype"),
        ("application/json, text/plain", "Invalid Content-Type header: mime: unexpected content after media subtype"),
        ("application/json; charset", "Invalid Content-Type header: mime: invalid media parameter"),
        ("application/json; charset=", "Invalid Content-Type header: mime: invalid media parameter"),
        ("application/json; charset=\"utf-8", "Invalid Content-Type header: mime: invalid media parameter"),
        ("application/json; a=b; c", "Invalid Content-Type header: mime: invalid media parameter"),
        ("application/json; a=b; a=c", "Invalid Content-Type header: mime: duplicate parameter name"),
        ("application/json; ch\u{e4}r=1", "Invalid Content-Type header: mime: invalid media parameter"),
    ] {
        let error = classify_response(response(200, header)).unwrap_err();
        assert_eq!(
            (error.code().as_str(), error.message()),
            ("hook_payload_invalid_content_type", complaint),
            "{header}"
        );
    }
}

#[test]
fn output_with_error_message_is_rejected() {
    for (output, expected) in [
        (json!({"error": {"http_code": 403, "message": "No"}}), Some("403: No")),
        (json!({"error": {"message": "No"}}), Some("500: No")),
        (json!({"error": {"http_code": 0, "message": "No"}}), Some("500: No")),
        (json!({"error": {"http_code": 403, "message": "N\u{0}o"}}), Some("403: N\u{0}o")),
        (json!({"error": {"http_code": 99, "message": "No"}}), Some("500: Internal Server Error")),
        (json!({"error": {"http_code": 100_000, "message": "No"}}), Some("500: Internal Server Error")),
        (json!({"error": {"http_code": "403", "message": "No"}}), None),
        (json!({"error": {"http_code": 403}}), None),
        (json!({"error": {"message": 5}}), None),
        (json!({"error": "No"}), None),
        (json!({"error": null}), None),
        (json!({}), None),
        (json!([{"error": {"message": "No"}}]), None),
    ] {
        let refused = parse_hook_error(output.to_string().as_bytes()).map(|error| error.to_string());
        assert_eq!(refused.as_deref(), expected, "{output}");
    }
    assert_eq!(parse_hook_error(br#"{"error": {"message": "No"}}"#).unwrap().code().as_str(), "unexpected_failure");
    assert_eq!(
        parse_hook_error(br#"{"error": {"http_code": 403, "message": "No"}}"#).unwrap().code().as_str(),
        "unknown"
    );
}

#[test]
fn attempt_decision_is_reject_or_continue() {
    let reject = |message: &str, ends_sessions| AttemptDecision::Reject {
        message: message.to_owned(),
        should_end_sessions: ends_sessions,
    };
    for (output, verdict) in [
        (json!({}), AttemptDecision::Continue),
        (json!(null), AttemptDecision::Continue),
        (json!({"decision": "maybe", "should_logout_user": true}), AttemptDecision::Continue),
        (json!({"decision": "continue", "message": "Fine"}), AttemptDecision::Continue),
        (json!({"decision": "reject"}), reject("", false)),
        (json!({"Decision": "reject", "message": "Locked", "should_logout_user": true}), reject("Locked", true)),
    ] {
        let read = AttemptDecision::parse(output.to_string().as_bytes(), HookKind::PasswordVerificationAttempt);
        assert_eq!(read.unwrap(), verdict, "{output}");
    }
    for output in [json!([]), json!(7), json!({"decision": 5}), json!({"should_logout_user": "yes"})] {
        let read = AttemptDecision::parse(output.to_string().as_bytes(), HookKind::PasswordVerificationAttempt);
        assert_eq!(read.unwrap_err().to_string(), "500: Error unmarshaling JSON output.", "{output}");
    }
    // Only the password hook can end sessions; the member is ignored in other hooks.
    let odd = json!({"decision": "reject", "should_logout_user": "yes"}).to_string();
    let read = AttemptDecision::parse(odd.as_bytes(), HookKind::MfaVerificationAttempt);
    assert_eq!(read.unwrap(), reject("", false));
    assert_eq!(password_rejected(String::new()).message(), "Further password verification attempts will be rejected.");
    assert_eq!(mfa_rejected("Locked".to_owned()).message(), "Locked");
}

fn default_claims() -> Value {
    json!({
        "aud": "a", "exp": 1, "iat": 1, "sub": "s", "email": "", "phone": "", "role": "r", "aal": "aal1",
        "session_id": "i", "is_anonymous": "anything",
    })
}

fn violation(claims: &Value) -> String {
    claims::parse_claims(Some(json!({ "claims": claims }).to_string().as_bytes())).unwrap_err().message().to_owned()
}

#[test]
fn hook_claims_must_be_complete_and_typed() {
    let start = "output claims do not conform to the expected schema: \n";
    let usual = default_claims();
    assert!(claims::parse_claims(Some(json!({ "claims": usual }).to_string().as_bytes())).is_ok());
    let changed = |name: &str, value: Value| {
        let mut claims = default_claims();
        claims[name] = value;
        violation(&claims)
    };
    for (name, value, lines) in [
        ("exp", json!("soon"), "- exp: Invalid type. Expected: integer, given: string\n"),
        ("exp", json!(1.5), "- exp: Invalid type. Expected: integer, given: number\n"),
        ("aud", json!(1), "- aud: Invalid type. Expected: [string,array], given: integer\n"),
        ("role", json!(null), "- role: Invalid type. Expected: string, given: null\n"),
        ("app_metadata", json!([]), "- app_metadata: Invalid type. Expected: object, given: array\n"),
        ("amr", json!("pwd"), "- amr: Invalid type. Expected: array, given: string\n"),
        (
            "amr",
            json!(["pwd", {}, 1]),
            "- amr.2: Must validate at least one schema (anyOf)\n\
             - amr.2: Invalid type. Expected: string, given: integer\n",
        ),
    ] {
        assert_eq!(changed(name, value), format!("{start}{lines}"));
    }
    assert!(violation(&json!({})).ends_with("- (root): session_id is required\n- (root): is_anonymous is required\n"));
    assert_eq!(violation(&json!(null)), format!("{start}- (root): Invalid type. Expected: object, given: null\n"));
}

#[test]
fn output_without_claims_is_rejected() {
    let read = |output: Option<&str>| claims::parse_claims(output.map(str::as_bytes)).unwrap_err().message().to_owned();
    assert_eq!(read(Some("{}")), "output claims field is missing");
    assert_eq!(read(Some("null")), "output claims field is missing");
    assert_eq!(read(Some(r#"{"Claims": {}}"#)), "output claims field is missing");
    for wrong in ["", "[]", "7", r#"{"claims": "all"}"#, r#"{"claims": []}"#] {
        assert_eq!(read(Some(wrong)), "Error unmarshaling JSON output.", "{wrong}");
    }
    assert!(read(None).contains("given: null"));
}

#[test]
fn before_user_created_view_has_no_role_and_only_client_metadata() {
    let data = Map::from_iter([("name".to_owned(), json!("Ann"))]);
    let user = User { role: "authenticated".to_owned(), ..User::default() };
    let shown = before_user_created_view(&user, &data);
    assert_eq!((shown.role.as_str(), &shown.user_metadata), ("", &data));
    assert_eq!(crate::wire::time::format_time(&shown.created_at), "0001-01-01T00:00:00Z");
}
