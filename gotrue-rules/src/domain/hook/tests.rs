use serde_json::json;

use super::*;

fn answer(status: u16, content_type: &str) -> HttpAnswer<'_> {
    HttpAnswer { status, content_type, asks_to_wait: false, is_too_long: false }
}

#[test]
fn each_status_says_what_it_says() {
    let json = "application/json";
    for (status, heard) in [
        (200, Ok(Heard::Output)),
        (202, Ok(Heard::Output)),
        (204, Ok(Heard::Nothing)),
        (201, Err("500: Unexpected status code returned from hook: 201")),
        (302, Err("500: Unexpected status code returned from hook: 302")),
        (400, Err("500: Invalid payload sent to hook")),
        (401, Err("500: Hook requires authorization token")),
        (429, Err("500: Service currently unavailable due to hook")),
        (503, Err("500: Service currently unavailable due to hook")),
    ] {
        assert_eq!(hear(answer(status, json)).map_err(|error| error.to_string()), heard.map_err(str::to_owned));
    }
    for status in [429, 503] {
        let waiting = HttpAnswer { asks_to_wait: true, ..answer(status, json) };
        assert_eq!(hear(waiting).unwrap(), Heard::Again);
    }
    let long = HttpAnswer { is_too_long: true, ..answer(200, json) };
    assert_eq!(hear(long).unwrap_err().code(), "hook_payload_over_size_limit");
}

#[test]
fn only_json_is_read() {
    for header in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        " application/json ;Charset=\"utf-8\"; ",
    ] {
        assert_eq!(hear(answer(200, header)).unwrap(), Heard::Output, "{header}");
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
        let error = hear(answer(200, header)).unwrap_err();
        assert_eq!((error.code(), error.message()), ("hook_payload_invalid_content_type", complaint), "{header}");
    }
}

#[test]
fn an_output_refuses_by_an_error_with_a_message() {
    for (output, said) in [
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
        let refused = refusal(output.to_string().as_bytes()).map(|error| error.to_string());
        assert_eq!(refused.as_deref(), said, "{output}");
    }
    assert_eq!(refusal(br#"{"error": {"message": "No"}}"#).unwrap().code(), "unexpected_failure");
    assert_eq!(refusal(br#"{"error": {"http_code": 403, "message": "No"}}"#).unwrap().code(), "unknown");
}

#[test]
fn a_verdict_is_to_reject_or_to_continue() {
    let reject = |message: &str, ends_sessions| Verdict::Reject { message: message.to_owned(), ends_sessions };
    for (output, verdict) in [
        (json!({}), Verdict::Continue),
        (json!(null), Verdict::Continue),
        (json!({"decision": "maybe", "should_logout_user": true}), Verdict::Continue),
        (json!({"decision": "continue", "message": "Fine"}), Verdict::Continue),
        (json!({"decision": "reject"}), reject("", false)),
        (json!({"Decision": "reject", "message": "Locked", "should_logout_user": true}), reject("Locked", true)),
    ] {
        let read = Verdict::read(output.to_string().as_bytes(), HookKind::PasswordVerificationAttempt);
        assert_eq!(read.unwrap(), verdict, "{output}");
    }
    for output in [json!([]), json!(7), json!({"decision": 5}), json!({"should_logout_user": "yes"})] {
        let read = Verdict::read(output.to_string().as_bytes(), HookKind::PasswordVerificationAttempt);
        assert_eq!(read.unwrap_err().to_string(), "500: Error unmarshaling JSON output.", "{output}");
    }
    // Only a password's hook may end sessions, so that nobody else's word for it is read.
    let odd = json!({"decision": "reject", "should_logout_user": "yes"}).to_string();
    let read = Verdict::read(odd.as_bytes(), HookKind::MfaVerificationAttempt);
    assert_eq!(read.unwrap(), reject("", false));
    assert_eq!(password_rejected(String::new()).message(), "Further password verification attempts will be rejected.");
    assert_eq!(mfa_rejected("Locked".to_owned()).message(), "Locked");
}

fn usual_claims() -> Value {
    json!({
        "aud": "a", "exp": 1, "iat": 1, "sub": "s", "email": "", "phone": "", "role": "r", "aal": "aal1",
        "session_id": "i", "is_anonymous": "anything",
    })
}

fn complaint(claims: &Value) -> String {
    claims::read(Some(json!({ "claims": claims }).to_string().as_bytes())).unwrap_err().message().to_owned()
}

#[test]
fn claims_must_be_complete_and_of_their_types() {
    let start = "output claims do not conform to the expected schema: \n";
    let usual = usual_claims();
    assert!(claims::read(Some(json!({ "claims": usual }).to_string().as_bytes())).is_ok());
    let changed = |name: &str, value: Value| {
        let mut claims = usual_claims();
        claims[name] = value;
        complaint(&claims)
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
    assert!(complaint(&json!({})).ends_with("- (root): session_id is required\n- (root): is_anonymous is required\n"));
    assert_eq!(complaint(&json!(null)), format!("{start}- (root): Invalid type. Expected: object, given: null\n"));
}

#[test]
fn an_output_without_claims_says_so() {
    let read = |output: Option<&str>| claims::read(output.map(str::as_bytes)).unwrap_err().message().to_owned();
    assert_eq!(read(Some("{}")), "output claims field is missing");
    assert_eq!(read(Some("null")), "output claims field is missing");
    assert_eq!(read(Some(r#"{"Claims": {}}"#)), "output claims field is missing");
    for wrong in ["", "[]", "7", r#"{"claims": "all"}"#, r#"{"claims": []}"#] {
        assert_eq!(read(Some(wrong)), "Error unmarshaling JSON output.", "{wrong}");
    }
    assert!(read(None).contains("given: null"));
}

#[test]
fn before_it_is_stored_an_account_has_no_role_and_only_its_own_metadata() {
    let data = Map::from_iter([("name".to_owned(), json!("Ann"))]);
    let account = Account { role: "authenticated".to_owned(), ..Account::default() };
    let shown = before_stored(&account, &data);
    assert_eq!((shown.role.as_str(), &shown.user_metadata), ("", &data));
    assert_eq!(crate::wire::time::text(&shown.created_at), "0001-01-01T00:00:00Z");
}
