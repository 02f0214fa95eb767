//! No secret and no personal value reaches a file, wherever in a request or response it is.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flows::format::{Flow, Service};
use flows::record::{Exchange, RecordedBody};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::{exchange, headers, record};

/// Tokens, keys, addresses and numbers as servers and applications have them.
pub(crate) fn secret() -> impl Strategy<Value = String> {
    let jwt = ("[a-z]{8,12}", "[A-Za-z0-9_-]{43}").prop_map(|(subject, signature)| {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = json!({"sub": subject, "email": format!("{subject}@corp.example"), "role": "authenticated"});
        format!("{}.{}.{signature}", part(json!({"alg": "HS256", "typ": "JWT"})), part(claims))
    });
    prop_oneof![
        jwt,
        "[A-Za-z0-9_-]{22,64}".prop_filter("has digits and both cases", |text| {
            text.bytes().filter(u8::is_ascii_digit).count() > 2
                && text.bytes().any(|byte| byte.is_ascii_uppercase())
                && text.bytes().any(|byte| byte.is_ascii_lowercase())
        }),
        "sb_secret_[A-Za-z0-9]{22}_[a-z0-9]{8}".prop_filter("has digits", |text| text
            .bytes()
            .filter(u8::is_ascii_digit)
            .count()
            > 2),
        "sk_live_[A-Za-z0-9]{24}".prop_filter("has digits", |text| text.bytes().filter(u8::is_ascii_digit).count() > 2),
        "[0-9a-f]{56}",
        "pkce_[0-9a-f]{40}",
        "[a-z][2-7][a-z]{2}[2-7][a-z]{4}[2-7][a-z]{2}",
        "[A-Z2-7]{32}".prop_filter("has digits", |text| text.bytes().any(|byte| byte.is_ascii_digit())),
        "[a-z]{3,10}\\.[a-z]{3,10}@[a-z]{3,10}\\.(com|example|co\\.uk)",
        "\\+[1-9][0-9]{9,13}",
        "[1-9][0-9]{7,14}",
        "[0-9]{6}",
        "[A-Z][a-z]{4,9} [A-Z][a-z]{4,9}-[A-Z][a-z]{4,9}",
        "[A-Z]{2}[0-9]{2} [0-9]{4} [0-9]{4} [0-9]{4}",
        "10\\.[0-9]{2,3}\\.[0-9]{2,3}\\.[0-9]{2,3}",
        "[A-Za-z0-9+/]{40}==",
    ]
}

/// Names of members, those of the API among them.
pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,12}",
        prop::sample::select(vec![
            "email",
            "phone",
            "password",
            "token",
            "token_hash",
            "data",
            "user_metadata",
            "name",
            "msg",
            "message",
            "code",
            "type",
            "role",
            "provider",
            "secret",
            "nonce",
            "refresh_token",
            "access_token",
            "id",
            "aud",
            "error_description",
            "redirect_to",
            "url",
            "user",
            "expires_at",
            "captcha_token",
            "current_password",
            "code_verifier",
            "scope",
            "jwt",
            "base",
            "query",
            "claims",
            "identities",
            "provider_id",
            "qr_code",
            "status",
            "error",
            "error_code",
            "hint",
            "title",
            "detail",
        ])
        .prop_map(str::to_owned),
    ]
}

/// A JSON value with the secret at some place.
pub(crate) fn around(secret: &str) -> impl Strategy<Value = Value> + use<> {
    let leaf = prop_oneof![
        Just(json!(secret)),
        Just(json!(format!("before {secret} behind"))),
        Just(json!(format!("https://app.example.com/{secret}/x?a={secret}#access_token={secret}"))),
        Just(json!(format!("<{secret}>"))),
        Just(json!({ secret: true })),
        Just(json!({"user_metadata": {"sub": secret}})),
        Just(json!(secret.parse::<u64>().map_or_else(|_| json!(secret), |number| json!(number)))),
        Just(token_with(secret)),
    ];
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (name(), inner.clone()).prop_map(|(name, value)| Value::Object(Map::from_iter([(name, value)]))),
            inner.prop_map(|value| json!([value])),
        ]
    })
}

fn token_with(secret: &str) -> Value {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({"sub": secret, "email": secret, "app_metadata": {"note": secret}, "custom": {secret: 1}});
    json!(format!("{}.{}.c2lnbmF0dXJl", part(json!({"alg": "HS256", "kid": secret})), part(claims)))
}

pub(crate) fn percent_encode_all(text: &str) -> String {
    text.bytes().flat_map(|byte| format!("%{byte:02X}").into_bytes()).map(char::from).collect()
}

/// A request and a response that have the secret at all places that a client and a server have.
fn exchange_with(route: &str, secret: &str, (request, answer): (&Value, &Value), status: u16) -> Exchange {
    let encoded = percent_encode_all(secret);
    let mut made = exchange(
        "POST",
        &format!("{route}?token={encoded}&redirect_to=https%3A%2F%2Fx.example%2F{encoded}&{encoded}=1#"),
        request,
        (status, answer),
    );
    made.path = made.path.trim_end_matches('#').to_owned();
    made.headers = headers(&[
        ("content-type", "application/json"),
        ("authorization", &format!("Bearer {secret}")),
        ("apikey", secret),
        ("cookie", &format!("sb-access-token={secret}")),
        ("x-custom", secret),
        ("x-forwarded-for", secret),
        ("origin", &format!("https://{}", secret.replace(' ', ""))),
        ("x-supabase-api-version", secret),
        ("user-agent", secret),
    ]);
    made.response_headers = headers(&[
        ("content-type", "application/json"),
        (
            "location",
            &format!(
                "https://app.example.com/{encoded}?code={encoded}&state={encoded}#access_token={encoded}&{encoded}=x"
            ),
        ),
        ("set-cookie", &format!("sb={secret}")),
        ("www-authenticate", &format!("Bearer realm=\"{secret}\"")),
        ("link", &format!("<https://x/{secret}>; rel=next")),
        ("x-total-count", secret),
        ("x-sb-error-code", secret),
        ("retry-after", secret),
        ("x-supabase-api-version", secret),
    ]);
    made
}

/// Secrets that a recorder can only find in a response; those that read as an identifier are left out.
pub(crate) fn response_secret() -> impl Strategy<Value = String> {
    secret().prop_filter("is no identifier", |text| {
        let is_identifier = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        !is_identifier || digits > 4 || text.len() <= 13
    })
}

/// A request without the secret, and a response that has it in its body and its headers.
fn response_with(service: Service, secret: &str, (status, answer): (u16, &Value)) -> Exchange {
    let mut made = exchange("GET", "/user", &Value::Null, (status, answer));
    made.service = service;
    made.response_headers = exchange_with("/user", secret, (&Value::Null, &Value::Null), status).response_headers;
    made
}

/// Returns the forms in which a secret could stand in a file.
fn forms(secret: &str) -> Vec<String> {
    let encoded: String = secret
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    vec![secret.to_owned(), encoded, STANDARD.encode(secret), URL_SAFE_NO_PAD.encode(secret), secret.replace(' ', "")]
}

/// Returns the file without what the tool itself writes and what equals the secret.
pub(crate) fn assert_absent(text: &str, secret: &str) {
    for form in forms(secret) {
        let found = text.find(&form).map(|at| text[at.saturating_sub(80)..].chars().take(200).collect::<String>());
        assert!(found.is_none(), "{form:?} of {secret:?} is in the file: {}", found.unwrap_or_default());
    }
    Flow::parse(text).expect("the file is valid");
}

const ROUTES: [&str; 12] = [
    "/signup",
    "/token",
    "/verify",
    "/user",
    "/otp",
    "/factors",
    "/admin/users",
    "/callback",
    "/authorize",
    "/recover",
    "/passkeys/registration/verify",
    "/unknown",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn secrets_of_json_requests_and_responses_are_not_written(
        (secret, request, answer) in secret().prop_flat_map(|secret| (Just(secret.clone()), around(&secret), around(&secret))),
        route in prop::sample::select(ROUTES.to_vec()),
        status in prop::sample::select(vec![200_u16, 303, 400, 422]),
    ) {
        let first = exchange_with(route, &secret, (&request, &answer), status);
        // The response's values are known to the second request.
        let second = exchange_with(&format!("{route}/{}", secret.replace(['/', ' ', '+', '?', '%'], "")), &secret, (&answer, &request), 200);
        assert_absent(&record(&[first, second]), &secret);
    }

    #[test]
    fn secrets_of_forms_texts_and_functions_are_not_written(
        secret in secret(),
        name in name(),
        text in "[a-z ]{0,20}",
    ) {
        let encoded = percent_encode_all(&secret);
        let mut form = exchange_with("/token", &secret, (&Value::Null, &Value::Null), 200);
        form.headers.insert("content-type", http::HeaderValue::from_static("application/x-www-form-urlencoded"));
        form.headers.insert("authorization", http::HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(format!("{secret}:{secret}")))).unwrap());
        form.body = RecordedBody::Whole(format!("{name}={encoded}&{encoded}=1&grant_type={encoded}").into_bytes());
        form.response_body = RecordedBody::Whole(format!("{text} {secret}").into_bytes());
        let mut plain = exchange_with("/hello", &secret, (&Value::Null, &Value::Null), 200);
        plain.service = Service::Functions;
        plain.headers.insert("content-type", http::HeaderValue::from_static("text/plain"));
        plain.body = RecordedBody::Whole(format!("{text} {secret}").into_bytes());
        plain.response_body = RecordedBody::Whole(format!("<p>{secret}</p>").into_bytes());
        assert_absent(&record(&[form, plain]), &secret);
    }

    #[test]
    fn secrets_of_responses_alone_are_not_written(
        (secret, answer) in response_secret().prop_flat_map(|secret| (Just(secret.clone()), around(&secret))),
        (service, status) in prop::sample::select(vec![
            (Service::Auth, 200_u16), (Service::Auth, 303), (Service::Functions, 200), (Service::Functions, 400),
        ]),
        text in "[a-z ]{0,20}",
    ) {
        let mut plain = response_with(service, &secret, (status, &Value::Null));
        plain.response_headers.insert("content-type", http::HeaderValue::from_static("text/plain"));
        plain.response_body = RecordedBody::Whole(format!("{text} {secret}").into_bytes());
        assert_absent(&record(&[response_with(service, &secret, (status, &answer)), plain]), &secret);
    }

    #[test]
    fn secrets_of_sentences_of_errors_are_not_written(
        secret in response_secret().prop_filter("has digits or is an address", |text| {
            text.contains('@') || text.bytes().any(|byte| byte.is_ascii_digit())
        }),
        name in name(),
        status in prop::sample::select(vec![400_u16, 422, 500]),
        text in "[a-z ]{0,20}",
    ) {
        let sentence = format!("{text} {secret}.");
        let answer = json!({ "code": status, "msg": sentence, "hint": { name: sentence } });
        let mut refused = response_with(Service::Auth, &secret, (status, &answer));
        let location = format!("https://app.example.com/?error_description={}", percent_encode_all(&sentence));
        refused.response_headers.insert("location", http::HeaderValue::from_str(&location).unwrap());
        assert_absent(&record(&[refused]), &secret);
    }
}

#[test]
fn sentences_are_those_of_errors_of_the_auth_api() {
    let kept = |service, status: u16, answer: Value| {
        let mut made = exchange("GET", "/user", &Value::Null, (status, &answer));
        made.service = service;
        record(&[made])
    };
    let sentence = "Signups not allowed for this instance";
    assert!(kept(Service::Auth, 422, json!({ "msg": sentence })).contains(sentence));
    let unlike = [
        (Service::Auth, 200, json!({ "msg": "Hello Alice Miller" })),
        (Service::Auth, 200, json!({ "user_metadata": { "title": "Senior Physician Alice Miller" } })),
        (Service::Auth, 422, json!({ "user": { "hint": "born in Alice Springs" } })),
        (Service::Auth, 403, json!({ "msg": "Alice denied for 203.0.113.7" })),
        (Service::Auth, 403, json!({ "msg": "Alice denied for fe80::1" })),
        (Service::Auth, 403, json!({ "msg": "Alice, your code is 123 456" })),
        (Service::Functions, 400, json!({ "message": "Hello Alice Miller" })),
        (Service::Functions, 200, json!([{ "message": "Hello Alice Miller" }])),
    ];
    for (service, status, answer) in unlike {
        let text = kept(service, status, answer);
        assert!(!text.contains("Alice"), "{text}");
    }
    let mut plain = exchange("GET", "/hello", &Value::Null, (200, &Value::Null));
    plain.response_body = RecordedBody::Whole(b"Hello Alice Miller".to_vec());
    assert!(!record(&[plain]).contains("Alice"));
}

#[test]
fn description_of_an_error_is_kept_in_a_redirect_of_the_auth_api() {
    let redirect = |service| {
        let mut made = exchange("GET", "/verify", &Value::Null, (303, &Value::Null));
        made.service = service;
        let location =
            "http://localhost:3000/#error=access_denied&error_description=Email+link+is+invalid&message=Hello+Alice";
        made.response_headers = headers(&[("location", location)]);
        record(&[made])
    };
    let text = redirect(Service::Auth);
    assert!(text.contains("Email link is invalid") && !text.contains("Alice"), "{text}");
    assert!(!redirect(Service::Functions).contains("Email link"));
}

#[test]
fn words_of_a_provider_that_refuses_are_not_kept() {
    let mut started = exchange("GET", "/authorize?provider=github", &Value::Null, (302, &Value::Null));
    started.response_headers =
        headers(&[("location", "https://github.com/login/oauth/authorize?state=opaque-state-1")]);
    let refusal = "error=access_denied&error_description=Alice+Miller+has+refused";
    let mut refused =
        exchange("GET", &format!("/callback?state=opaque-state-1&{refusal}"), &Value::Null, (303, &Value::Null));
    refused.response_headers = headers(&[("location", &format!("http://localhost:3000/?{refusal}"))]);
    let text = record(&[started, refused]);
    assert!(!text.contains("Alice") && text.contains(r#""error": "access_denied""#), "{text}");
}
