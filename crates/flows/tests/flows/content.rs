//! How requests of the data API and of the storage API become steps, and that nothing of users remains in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flows::format::{Action, Flow, RequestStep, Service};
use flows::record::{Exchange, RecordedBody};
use http::HeaderValue;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::privacy::{around, assert_absent, percent_encode_all, response_secret, secret};
use super::support::{exchange, headers, record};

const ID: &str = "6f1e2d3c-0000-4000-8000-000000000001";

fn of(service: Service, method: &str, path: &str, body: &Value, answer: (u16, &Value)) -> Exchange {
    Exchange { service, ..exchange(method, path, body, answer) }
}

fn rows(method: &str, path: &str, body: &Value, answer: &Value) -> Exchange {
    of(Service::Rest, method, path, body, (200, answer))
}

fn objects(method: &str, path: &str, body: &Value, answer: &Value) -> Exchange {
    of(Service::Storage, method, path, body, (200, answer))
}

fn requests(text: &str) -> Vec<RequestStep> {
    let flow = Flow::parse(text).expect("a flow");
    let request = |action| match action {
        Action::Request(request) => Some(*request),
        _ => None,
    };
    flow.steps.into_iter().filter_map(|step| request(step.action)).collect()
}

/// Returns the recorded path of a request.
fn path(exchange: Exchange) -> String {
    requests(&record(&[exchange])).remove(0).path
}

/// Returns what the only request expects of the member `json`.
fn expected(exchange: Exchange) -> Value {
    requests(&record(&[exchange])).remove(0).expect.expect("an expectation")["json"].clone()
}

#[test]
fn filters_keep_columns_and_operators() {
    let of = |query: &str| path(rows("GET", &format!("/notes?{query}"), &Value::Null, &json!([])));
    assert_eq!(of("select=id,author:users(name)&title=eq.Zoe&limit=10"), {
        "/notes?select=id,author:users(name)&title=eq.{{text1}}&limit=10"
    });
    assert_eq!(of("a=in.(Zoe,\"Ann, Lee\",Zoe)"), "/notes?a=in.({{text1}},%22{{text2}}%22,{{text1}})");
    assert_eq!(of("a=like(any).{Zoe*,*Ann}"), "/notes?a=like(any).%7B{{text1}}*,*{{text2}}%7D");
    assert_eq!(of("a=cs.{Zoe,\"Ann, Lee\"}"), "/notes?a=cs.%7B{{text1}},%22{{text2}}%22%7D");
    assert_eq!(of("a=is.null&b=not.is.true&c=is.zoe"), "/notes?a=is.null&b=not.is.true&c=is.{{text1}}");
    assert_eq!(of("or=(a.eq.Zoe,and(b.gt.12,not.or(c.is.null,d.like.*Ann*)))"), {
        "/notes?or=(a.eq.{{text1}},and(b.gt.{{number1}},not.or(c.is.null,d.like.*{{text2}}*)))"
    });
    assert_eq!(of("data-%3Ea-%3E%3E0=eq.true"), "/notes?data-%3Ea-%3E%3E0=eq.true");
    assert!(of("select=\"Zoe%20Zanzibar\"").starts_with("/notes?select={{query1}}"));
}

#[test]
fn ids_of_rows_are_those_that_the_server_returns() {
    let text = record(&[
        rows("POST", "/notes", &json!({ "title": "Zoe" }), &json!([{ "id": 7, "key": ID, "title": "Zoe" }])),
        rows("GET", &format!("/notes?id=eq.7&key=eq.{ID}"), &Value::Null, &json!([])),
        rows("POST", "/rpc/find", &json!({ "id": 7, "key": ID }), &json!(1)),
    ]);
    let found = requests(&text);
    assert_eq!(found[1].path, "/notes?id=eq.{{step1.0.id}}&key=eq.{{step1.0.key}}");
    assert!(text.contains(r#""key": "{{step1.0.key}}""#) && !text.contains("Zoe"), "{text}");
}

#[test]
fn rows_whose_order_generated_values_change_are_compared_by_their_number() {
    let answer = json!([{ "id": 1, "title": "Ann" }, { "id": 2, "title": "Zoe" }]);
    let of = |query: &str| expected(rows("GET", &format!("/notes?{query}"), &Value::Null, &answer));
    assert_eq!(of("order=title.asc"), json!(["<any>", "<any>"]));
    assert_eq!(of("title=gt.A"), json!("<any>"));
    assert_eq!(of("title=not.like.A*"), json!("<any>"));
    assert_eq!(of("or=(id.eq.1,title.lt.B)"), json!("<any>"));
    let rows = json!([{ "id": "<any>", "title": "<any>" }, { "id": "<any>", "title": "<any>" }]);
    assert_eq!(of("order=id.asc,created_at"), rows);
    assert_eq!(of("title=eq.Ann"), rows);
}

#[test]
fn lists_of_objects_are_compared_by_their_number() {
    let of = |path: &str, answer: &Value| expected(objects("POST", path, &json!({}), answer));
    let (first, second) = (json!({ "name": "a.txt" }), json!({ "name": "b.txt" }));
    assert_eq!(of("/object/list/papers", &json!([first, second])), json!(["<any>", "<any>"]));
    assert_eq!(of("/object/list/papers", &json!([first])), json!([{ "name": "<any>" }]));
    let page = json!({ "hasNext": false, "folders": [], "objects": [first, second] });
    let shown = json!({ "hasNext": false, "folders": [], "objects": ["<any>", "<any>"] });
    assert_eq!(of("/object/list-v2/papers", &page), shown);
}

#[test]
fn download_that_is_too_large_is_compared_without_its_content() {
    let mut download = objects("GET", "/object/papers/a.bin", &Value::Null, &Value::Null);
    download.response_headers = headers(&[("content-type", "application/octet-stream")]);
    download.response_body = RecordedBody::TooLarge(2_000_000);
    let request = requests(&record(&[download])).remove(0);
    let expect = request.expect.expect("an expectation");
    assert!(request.is_subset && expect.get("json").is_none() && expect.get("text").is_none(), "{expect}");
}

#[test]
fn errors_keep_codes_and_names_of_the_schema() {
    let of = |answer: Value| expected(of(Service::Rest, "POST", "/notes", &json!({}), (403, &answer)));
    let refusal = "new row violates row-level security policy for table \"notes\"";
    let answer = json!({ "code": "42501", "message": refusal, "details": "Zoe", "hint": "Zoe" });
    assert_eq!(of(answer), json!({ "code": "42501", "message": refusal }));
    let raised = json!({ "code": "P0001", "message": "Zoe has left", "details": null, "hint": null });
    assert_eq!(of(raised), json!({ "code": "P0001", "message": "<any>" }));
}

#[test]
fn urls_in_rows_are_replaced() {
    for url in ["https://zoe.example/zoe", "https://zoe.example/zoe?a=1#b", "https://abc.supabase.co/zoe", "zoe://zoe"]
    {
        let row = json!({ "website": url });
        let text = record(&[
            rows("GET", "/notes", &Value::Null, &json!([row])),
            rows("POST", "/links", &row, &json!([row])),
            rows("GET", &format!("/links?website=eq.{}", percent_encode_all(url)), &Value::Null, &json!([row])),
        ]);
        assert!(!text.contains("zoe"), "{url}: {text}");
    }
}

#[test]
fn key_in_the_query_is_that_of_clients() {
    let text = record(&[rows("GET", "/notes?apikey=sb_publishable_x", &Value::Null, &json!([]))]);
    assert_eq!(requests(&text)[0].headers["apikey"], "{{keys.publishable}}", "{text}");
    assert!(!text.contains("sb_publishable_x"), "{text}");
}

#[test]
fn headers_that_change_what_the_apis_do_are_kept() {
    let mut made = rows("GET", "/notes", &Value::Null, &json!([]));
    made.headers = headers(&[
        ("prefer", "return=representation,count=exact, max-affected=10, timezone=America/Los_Angeles"),
        ("accept", "application/vnd.pgrst.object+json;nulls=stripped"),
        ("accept-profile", "private"),
        ("range", "0-9"),
        ("user-agent", "app"),
    ]);
    let kept = requests(&record(&[made])).remove(0).headers;
    let names: Vec<&str> = kept.keys().map(String::as_str).collect();
    assert_eq!(names, ["prefer", "accept", "accept-profile", "range"]);
    assert_eq!(kept["prefer"], "return=representation,count=exact, max-affected=10, timezone=America/Los_Angeles");
}

#[test]
fn objects_keep_their_bucket_and_extension() {
    let path_of = |of: &str| path(objects("GET", of, &Value::Null, &json!({})));
    assert_eq!(path_of("/object/papers/Zoe/letter.pdf"), "/object/papers/{{file1}}/{{file2}}");
    assert_eq!(path_of("/object/list/papers"), "/object/list/papers");
    assert_eq!(path_of("/bucket/papers/empty"), "/bucket/papers/empty");
    let text = record(&[objects("GET", "/object/papers/letter.pdf", &Value::Null, &json!({}))]);
    assert!(text.contains("\".pdf\"") && !text.contains("letter"), "{text}");
}

#[test]
fn token_of_a_signed_url_is_that_of_the_response() {
    let url = "/object/sign/papers/zoe.txt?token=opaque-token-of-a-url-1";
    let sign =
        objects("POST", "/object/sign/papers/zoe.txt", &json!({ "expiresIn": 60 }), &json!({ "signedURL": url }));
    let text = record(&[sign, objects("GET", url, &Value::Null, &json!({}))]);
    assert!(text.contains(r#""@url": "{{step1.signedURL}}""#) && !text.contains("opaque-token"), "{text}");
    assert_eq!(requests(&text)[1].path, "/object/sign/papers/{{file1}}?token={{signed1.query.token}}");
}

#[test]
fn resumable_upload_continues_at_the_url_of_the_response() {
    let mut made = objects("POST", "/upload/resumable", &Value::Null, &Value::Null);
    let metadata = format!("bucketName {},objectName {}", STANDARD.encode("papers"), STANDARD.encode("Zoe/letter.pdf"));
    made.headers =
        headers(&[("tus-resumable", "1.0.0"), ("upload-length", "26"), ("upload-metadata", metadata.as_str())]);
    made.status = 201;
    let location = "https://abc.supabase.co/storage/v1/upload/resumable/cGFwZXJzL1pvZS9sZXR0ZXIucGRm";
    made.response_headers = headers(&[("location", location), ("tus-resumable", "1.0.0")]);
    let mut part = objects("PATCH", "/upload/resumable/cGFwZXJzL1pvZS9sZXR0ZXIucGRm", &Value::Null, &Value::Null);
    part.headers = headers(&[("upload-offset", "0"), ("content-type", "application/offset+octet-stream")]);
    part.body = RecordedBody::Whole(b"Dear Zoe, this is private.".to_vec());
    let text = record(&[made, part]);
    assert_eq!(requests(&text)[1].path, "{{location1.base}}", "{text}");
    assert!(!text.contains("Dear") && !text.contains("cGFwZXJz"), "{text}");
}

#[test]
fn contents_are_generated_at_their_length() {
    let mut upload = objects("POST", "/object/papers/letter.txt", &Value::Null, &json!({}));
    upload.headers = headers(&[("content-type", "text/plain")]);
    upload.body = RecordedBody::Whole(b"Dear Zoe, this is private.".to_vec());
    let text = record(&[upload.clone()]);
    assert!(text.contains(r#"{"words": 25}"#) || text.contains(r#"{"@words": 25}"#), "{text}");
    upload.body = RecordedBody::TooLarge(3_000_000);
    assert!(record(&[upload.clone()]).contains(r#""times": 3000000"#));
    upload.body = RecordedBody::TooLarge(9_000_000);
    assert!(record(&[upload.clone()]).contains("a content of 9000000 bytes"));
    upload.headers = headers(&[("content-type", "multipart/form-data; boundary=b1")]);
    upload.body = RecordedBody::TooLarge(3_000_000);
    let text = record(&[upload]);
    assert!(text.contains(r#""times": 3000000"#) && text.contains("boundary=basalt-flow"), "{text}");
}

#[test]
fn form_of_a_browser_keeps_its_parts() {
    let form = "--b1\r\nContent-Disposition: form-data; name=\"cacheControl\"\r\n\r\n3600\r\n--b1\r\n\
                Content-Disposition: form-data; name=\"\"; filename=\"Zoe.txt\"\r\nContent-Type: text/plain\r\n\r\n\
                Dear Zoe, this is private.\r\n--b1--\r\n";
    let mut upload = objects("POST", "/object/papers/letter.txt", &Value::Null, &json!({}));
    upload.headers = headers(&[("content-type", "multipart/form-data; boundary=b1")]);
    upload.body = RecordedBody::Whole(form.as_bytes().to_vec());
    let text = record(&[upload]);
    assert!(
        text.contains("cacheControl") && text.contains("3600") && text.contains("Content-Type: text/plain"),
        "{text}"
    );
    assert!(text.contains("boundary=basalt-flow") && !text.contains("Zoe"), "{text}");
}

#[test]
fn days_and_times_keep_their_form_and_side_of_the_present() {
    let body = json!({ "born": "1990-05-17", "due": "2031-08-09T10:11:12.5+02:00" });
    let text = record(&[rows("POST", "/notes", &body, &json!([body]))]);
    assert!(text.contains("2001-01-01") && text.contains("2101-01-01T12:00:00+00:00"), "{text}");
    assert!(!text.contains("1990") && !text.contains("2031"), "{text}");
    let expect = requests(&text).remove(0).expect.expect("an expectation");
    assert_eq!(expect["json"], json!([{ "born": "<date1>", "due": "<time with offset>" }]));
}

/// A request and a response that have the secret at all places that a client and a server have.
fn with_secret(
    service: Service,
    place: &str,
    secret: &str,
    (request, answer): (&Value, &Value),
    status: u16,
) -> Exchange {
    let encoded = percent_encode_all(secret);
    let path = match service {
        Service::Rest => format!(
            "{place}/{encoded}?title=eq.{encoded}&a=not.in.({encoded},{encoded})&or=(b.like.*{encoded}*,c.eq.{encoded})\
             &{encoded}=eq.1&select={encoded}&order={encoded}&limit={encoded}&d=fts.{encoded}&e={encoded}&f=cs.%7B{encoded}%7D"
        ),
        _ => format!("{place}/{encoded}/{encoded}.png?token={encoded}&download={encoded}&width={encoded}&{encoded}=1"),
    };
    let mut made = of(service, "POST", &path, request, (status, answer));
    let metadata = format!("objectName {0},metadata {0},filetype {0}", STANDARD.encode(secret));
    made.headers = headers(&[
        ("content-type", "application/json"),
        ("authorization", &format!("Bearer {secret}")),
        ("apikey", secret),
        ("prefer", secret),
        ("accept", secret),
        ("accept-profile", secret),
        ("x-upsert", secret),
        ("upload-metadata", &metadata),
        ("user-agent", secret),
    ]);
    let location = format!("https://abc.supabase.co/storage/v1/upload/resumable/{}", STANDARD.encode(secret));
    made.response_headers = headers(&[
        ("content-type", secret),
        ("location", &location),
        ("etag", &format!("\"{secret}\"")),
        ("preference-applied", secret),
        ("content-profile", secret),
        ("x-total-count", secret),
    ]);
    made
}

const PLACES: [(Service, &str); 8] = [
    (Service::Rest, "/notes"),
    (Service::Rest, "/rpc/find"),
    (Service::Storage, "/object/papers"),
    (Service::Storage, "/object/sign/papers"),
    (Service::Storage, "/object/list/papers"),
    (Service::Storage, "/object/move"),
    (Service::Storage, "/bucket"),
    (Service::Storage, "/upload/resumable"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn secrets_of_rows_and_objects_are_not_written(
        (secret, request, answer) in secret().prop_flat_map(|secret| (Just(secret.clone()), around(&secret), around(&secret))),
        (service, place) in prop::sample::select(PLACES.to_vec()),
        status in prop::sample::select(vec![200_u16, 206, 400, 409]),
    ) {
        let first = with_secret(service, place, &secret, (&request, &answer), status);
        // The response's values are known to the second request.
        let second = with_secret(service, place, &secret, (&answer, &request), 200);
        assert_absent(&record(&[first, second]), &secret);
    }

    #[test]
    fn secrets_of_contents_and_forms_are_not_written(secret in secret(), text in "[a-z ]{0,20}") {
        let mut plain = with_secret(Service::Storage, "/object/papers", &secret, (&Value::Null, &Value::Null), 200);
        plain.headers.insert("content-type", HeaderValue::from_static("text/plain"));
        plain.body = RecordedBody::Whole(format!("{text} {secret}").into_bytes());
        plain.response_body = RecordedBody::Whole(format!("{text} {secret}").into_bytes());
        let mut form = plain.clone();
        form.headers.insert("content-type", HeaderValue::from_static("multipart/form-data; boundary=b1"));
        let part = format!(
            "--b1\r\nContent-Disposition: form-data; name=\"{secret}\"; filename=\"{secret}\"\r\nContent-Type: {secret}\r\n\r\n{secret}\r\n"
        );
        let field = format!("--b1\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{}\r\n", json!({ "a": secret }));
        form.body = RecordedBody::Whole(format!("{part}{field}--b1--\r\n").into_bytes());
        assert_absent(&record(&[plain, form]), &secret);
    }

    #[test]
    fn secrets_of_responses_with_rows_and_objects_are_not_written(
        (secret, answer) in response_secret().prop_flat_map(|secret| (Just(secret.clone()), around(&secret))),
        (service, place) in prop::sample::select(PLACES.to_vec()),
        status in prop::sample::select(vec![200_u16, 400, 409]),
    ) {
        let rows = json!([answer.clone(), answer.clone()]);
        let first = of(service, "GET", place, &Value::Null, (status, &answer));
        let second = of(service, "GET", place, &Value::Null, (status, &rows));
        assert_absent(&record(&[first, second]), &secret);
    }
}
