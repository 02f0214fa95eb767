//! How requests become steps.

use flows::format::{Action, Flow, Step};
use flows::record::{RecordedBody, Recorder};
use serde_json::{Value, json};

use super::support::{Folder, exchange, headers, options, record};

fn requests(flow: &Flow) -> Vec<Value> {
    let of = |step: &Step| match &step.action {
        Action::Request(request) => Some(json!({"path": request.path, "captures": request.captures.len()})),
        _ => None,
    };
    flow.steps.iter().filter_map(of).collect()
}

fn sign_up(email: &str) -> flows::record::Exchange {
    let answer = json!({"id": "6f1e2d3c-0000-4000-8000-000000000001", "email": email, "role": "authenticated"});
    exchange("POST", "/signup", &json!({"email": email, "password": "correct horse"}), (200, &answer))
}

#[test]
fn session_of_a_sign_up_tells_that_nothing_had_to_be_confirmed() {
    let with_session = |body: &Value| {
        let session = json!({"access_token": "a.b.c", "user": {"id": "6f1e2d3c-0000-4000-8000-000000000001"}});
        let text = record(&[exchange("POST", "/signup", body, (200, &session))]);
        serde_json::from_str::<Value>(&text).expect("JSON")["settings"]["config"]["auth"].clone()
    };
    let auth = with_session(&json!({"email": "zoe@corp.example", "password": "correct horse"}));
    assert_eq!(auth["email"]["enable_confirmations"], false, "{auth}");
    let auth = with_session(&json!({"phone": "+4915112345678", "password": "correct horse"}));
    assert_eq!((&auth["sms"]["enable_confirmations"], &auth["sms"]["enable_signup"]), (&json!(false), &json!(true)));
    let auth = with_session(&json!({}));
    assert_eq!(
        (&auth["enable_anonymous_sign_ins"], &auth["email"]["enable_confirmations"]),
        (&json!(true), &json!(true))
    );
}

#[test]
fn values_of_responses_become_captures_only_if_they_are_used() {
    let created =
        json!({"id": "6f1e2d3c-0000-4000-8000-000000000001", "client_secret": "abcdef0123456789abcdef0123456789"});
    let text = record(&[
        exchange("POST", "/admin/oauth/clients", &json!({}), (201, &created)),
        exchange("GET", "/health", &Value::Null, (200, &json!({"name": "GoTrue"}))),
        exchange("GET", "/admin/oauth/clients/6f1e2d3c-0000-4000-8000-000000000001", &Value::Null, (200, &created)),
        exchange(
            "POST",
            "/oauth/token",
            &json!({"client_secret": "abcdef0123456789abcdef0123456789"}),
            (200, &json!({})),
        ),
    ]);
    let flow = Flow::parse(&text).unwrap();
    let found = requests(&flow);
    assert_eq!(found[0]["captures"], 1);
    assert_eq!(found[1]["captures"], 0);
    assert_eq!(found[2], json!({"path": "/admin/oauth/clients/{{step1.id}}", "captures": 0}));
    assert!(text.contains(r#""client_secret": "{{step1.client_secret}}""#), "{text}");
}

#[test]
fn code_of_a_mail_comes_from_the_message_to_the_same_address() {
    let verified = exchange(
        "POST",
        "/verify",
        &json!({"type": "signup", "email": "zoe@corp.example", "token": "123456"}),
        (200, &json!({"access_token": "opaque-access-token-1"})),
    );
    let text = record(&[sign_up("zoe@corp.example"), verified]);
    assert!(text.contains(r#"{"@message": {"to": "{{email1}}", "kind": "confirmation"}}"#), "{text}");
    assert!(text.contains(r#""token": "{{message1.code}}""#), "{text}");
}

#[test]
fn second_message_is_the_one_whose_code_is_used() {
    let resend =
        exchange("POST", "/resend", &json!({"type": "signup", "email": "zoe@corp.example"}), (200, &json!({})));
    let verified = exchange(
        "POST",
        "/verify",
        &json!({"type": "signup", "email": "zoe@corp.example", "token": "123456"}),
        (200, &json!({"access_token": "opaque-access-token-1"})),
    );
    let text = record(&[sign_up("zoe@corp.example"), resend, verified]);
    assert!(text.contains(r#""number": 2"#), "{text}");
}

#[test]
fn refused_code_stays_a_wrong_code() {
    let refused = exchange(
        "POST",
        "/verify",
        &json!({"type": "signup", "email": "zoe@corp.example", "token": "000000"}),
        (403, &json!({"error_code": "otp_expired", "msg": "Token has expired or is invalid"})),
    );
    let text = record(&[sign_up("zoe@corp.example"), refused]);
    assert!(!text.contains("@message") && text.contains(r#""token": "{{digits1}}""#), "{text}");
    assert!(text.contains("Token has expired or is invalid"), "{text}");
}

#[test]
fn token_from_before_the_recording_must_be_provided() {
    let mut request = exchange("GET", "/user", &Value::Null, (200, &json!({})));
    request.headers = headers(&[("authorization", "Bearer opaque-access-token-1"), ("apikey", "sb_publishable_x")]);
    let text = record(&[request]);
    assert!(text.contains(r#""@provided": "a bearer token that no recorded response had""#), "{text}");
    assert!(text.contains(r#""bearer": "{{token1}}""#) && !text.contains("apikey"), "{text}");
}

#[test]
fn key_of_servers_is_named_and_that_of_clients_left_out() {
    let mut request = exchange("GET", "/admin/users", &Value::Null, (200, &json!({})));
    request.headers = headers(&[("authorization", "Bearer sb_secret_abc"), ("apikey", "sb_secret_abc")]);
    let text = record(&[request]);
    assert!(
        text.contains(r#""bearer": "{{keys.secret}}""#) && text.contains(r#""apikey": "{{keys.secret}}""#),
        "{text}"
    );
}

#[test]
fn large_bodies_are_recorded_by_their_size() {
    let mut request = exchange("POST", "/user", &Value::Null, (200, &json!({})));
    request.body = RecordedBody::TooLarge(5_000_000);
    request.response_body = RecordedBody::TooLarge(9_000_000);
    let text = record(&[request]);
    assert!(text.contains("a body of 5000000 bytes") && text.contains(r#""json": "<any>""#), "{text}");
}

#[test]
fn flows_are_separated_by_name_by_tokens_and_by_gap() {
    let folder = Folder::new();
    let mut recorder = Recorder::new(options(&folder));
    let session = json!({"access_token": "opaque-access-token-1"});
    let first = exchange("POST", "/token", &json!({}), (200, &session));
    let mut later = exchange("GET", "/settings", &Value::Null, (200, &json!({})));
    later.at += 100.0;
    let mut same_user = exchange("GET", "/user", &Value::Null, (200, &json!({})));
    same_user.at += 101.0;
    same_user.headers = headers(&[("authorization", "Bearer opaque-access-token-1")]);
    let mut named = exchange("GET", "/user", &Value::Null, (200, &json!({})));
    named.headers = headers(&[("x-flow-name", "checkout/../x")]);
    for exchange in [&first, &later, &same_user, &named] {
        recorder.record(exchange).unwrap();
    }
    recorder.finish().unwrap();
    let found: Vec<(String, usize)> =
        folder.files().into_iter().map(|(name, text)| (name, requests(&Flow::parse(&text).unwrap()).len())).collect();
    let expected = [("checkout-..-x.json", 1), ("settings.json", 1), ("token.json", 2)];
    assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn file_is_valid_after_every_step() {
    let folder = Folder::new();
    let mut recorder = Recorder::new(options(&folder));
    for number in 1..=20 {
        recorder.record(&sign_up(&format!("user{number}@corp.example"))).unwrap();
        let [(_, text)] = folder.files().try_into().expect("one file");
        assert_eq!(requests(&Flow::parse(&text).expect("valid")).len(), number);
    }
    // A recorder that is dropped has not finished, as after a power failure.
    drop(recorder);
    let [(_, text)] = folder.files().try_into().expect("one file");
    assert_eq!(requests(&Flow::parse(&text).expect("valid")).len(), 20);
}

#[test]
fn recording_of_the_same_name_does_not_replace_an_earlier_one() {
    let folder = Folder::new();
    for _ in 0..2 {
        let mut recorder = Recorder::new(options(&folder));
        recorder.record(&sign_up("zoe@corp.example")).unwrap();
        recorder.finish().unwrap();
    }
    let names: Vec<String> = folder.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["signup-2.json", "signup.json"]);
}

#[test]
fn settings_follow_from_what_the_flow_uses() {
    let options = json!({"challenge_id": "6f1e2d3c-0000-4000-8000-000000000001"});
    let text = record(&[exchange("POST", "/passkeys/registration/options", &json!({}), (200, &options))]);
    let env = Flow::parse(&text).unwrap().settings["env"].clone();
    let expected = [
        ("GOTRUE_PASSKEY_ENABLED", "true"),
        ("GOTRUE_JWT_AUD", "authenticated"),
        ("GOTRUE_JWT_DEFAULT_GROUP_NAME", "authenticated"),
        ("GOTRUE_JWT_ISSUER", "{{base}}"),
    ];
    for (name, value) in expected {
        assert_eq!(env[name], value, "{name}: {env}");
    }
    assert_eq!(env.get("GOTRUE_MFA_TOTP_ENROLL_ENABLED"), None);
}

#[test]
fn tokens_of_providers_have_no_form() {
    let answer =
        json!({"provider_token": "gho_abc", "provider_refresh_token": "ghr_abc", "refresh_token": "abcdef012345"});
    let text = record(&[exchange("POST", "/token?grant_type=pkce", &json!({}), (200, &answer))]);
    assert!(text.contains(r#""provider_token": "<any>""#), "{text}");
    assert!(text.contains(r#""provider_refresh_token": "<any>""#), "{text}");
    assert!(text.contains(r#""refresh_token": "<refresh_token "#), "{text}");
}

#[test]
fn methods_of_authentication_are_recorded_without_their_order() {
    let methods = |first: &str, second: &str| {
        let at = |method: &str| json!({"method": method, "timestamp": 1_700_000_000});
        let answer = json!({"amr": [at(first), at(second)]});
        record(&[exchange("GET", "/user", &Value::Null, (200, &answer))])
    };
    assert_eq!(methods("totp", "password"), methods("password", "totp"));
}

#[test]
fn path_of_a_function_keeps_its_name_and_replaces_names_and_codes_of_users() {
    let path = |path: &str| {
        let mut request = exchange("GET", path, &Value::Null, (200, &json!({})));
        request.service = flows::format::Service::Functions;
        requests(&Flow::parse(&record(&[request])).unwrap())[0]["path"].as_str().expect("a path").to_owned()
    };
    assert_eq!(path("/sendSubmission2/drafts/list"), "/sendSubmission2/drafts/list");
    assert_eq!(path("/redeem/XK7Q-9PLM"), "/redeem/{{text1}}");
    assert_eq!(path("/profile/AliceMiller"), "/profile/{{text1}}");
    assert_eq!(path("/join/abc-defg-hij"), "/join/{{text1}}");
}

#[test]
fn code_in_the_path_of_an_application_is_replaced_in_request_and_redirect() {
    let mut request = exchange(
        "GET",
        "/verify?redirect_to=http%3A%2F%2Flocalhost%3A3000%2Fjoin%2Fabc-defg-hij",
        &Value::Null,
        (303, &Value::Null),
    );
    request.response_headers = headers(&[("location", "http://localhost:3000/join/abc-defg-hij?code=x")]);
    let text = record(&[request]);
    assert!(text.contains("redirect_to=http%3A%2F%2Flocalhost%3A3000%2Fjoin%2F{{text1}}"), "{text}");
    assert!(text.contains(r#""base": "http://localhost:3000/join/<text1>""#), "{text}");
}

#[test]
fn text_that_an_application_sends_is_no_name_of_an_address() {
    let texts = json!({ "data": { "a": "the user", "b": "the factor's number" }, "email": "zoe@corp.example", "phone": "+15550001111" });
    let changed = exchange("PUT", "/user", &texts, (200, &json!({})));
    let text = record(&[sign_up("ann@corp.example"), changed.clone(), changed]);
    assert!(!text.contains(r#""a": "{{email"#) && !text.contains(r#""b": "{{phone"#), "{text}");
    assert!(text.contains(r#""a": "{{text1}}""#) && text.contains(r#""b": "{{text2}}""#), "{text}");
}
