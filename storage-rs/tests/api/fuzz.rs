//! Requests that no client sends: none fails inside the server, and none is answered with a file of another object.

use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::api::{TestApi, send, sign};
use crate::signature::{Signer, sign as sign_s3};

/// The requests of a kind.
const REQUESTS: usize = 250;
/// How long the longest of them may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
struct Wild {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// A part of a path, percent-encoded or as it is.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "object",
            "bucket",
            "public",
            "authenticated",
            "sign",
            "info",
            "upload",
            "resumable",
            "list",
            "list-v2",
            "move",
            "copy",
            "render",
            "image",
            "b",
            "a.txt",
            "..",
            ".",
            "",
            "%2e%2e",
            "%00",
            "%2F",
            "%",
            "%zz",
            "%ff",
            "s3",
            "empty",
            "CON",
            "a%20b",
            "%E2%80%AE",
            "folder",
            "'",
            "%25",
            "*",
            "status",
            "health",
            "cdn",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,12}".prop_map(|text| {
            percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC).to_string()
        }),
        (1000_usize..1200).prop_map(|length| "x".repeat(length)),
    ]
}

fn header() -> impl Strategy<Value = (&'static str, String)> {
    let name = prop::sample::select(vec![
        "range",
        "if-none-match",
        "if-modified-since",
        "x-upsert",
        "x-metadata",
        "content-type",
        "cache-control",
        "accept",
        "tus-resumable",
        "upload-length",
        "upload-offset",
        "upload-metadata",
        "upload-defer-length",
        "x-robots-tag",
        "x-signature",
        "content-length",
        "x-forwarded-host",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "bytes=0-",
            "bytes=-1",
            "bytes=9-1,2-3",
            "bytes=18446744073709551615-",
            "true",
            "1.0.0",
            "5",
            "-1",
            "99999999999999999999",
            "bucketName Yg==,objectName YQ==",
            "bucketName ,objectName",
            "multipart/form-data",
            "multipart/form-data; boundary=x",
            "application/json",
            "text/plain",
            "application/offset+octet-stream",
            "e30=",
            "image/webp",
            "W/\"a\"",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "googlebot: none, all",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,40}",
    ];
    (name, value)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let texts = prop::sample::select(vec![
        r#"{"prefix":""}"#,
        r#"{"prefix":"\u0000","limit":9007199254740993}"#,
        r#"{"prefix":"a","sortBy":{"column":"name","order":"desc"},"offset":2147483648}"#,
        r#"{"prefixes":["a","../b","\ud800"]}"#,
        r#"{"name":"b","id":{"a":1},"file_size_limit":"1e400MB"}"#,
        r#"{"bucketId":"b","sourceKey":"a.txt","destinationKey":"../../etc/passwd"}"#,
        r#"{"expiresIn":1e300,"paths":["a.txt",null]}"#,
        r#"{"cursor":"AAAA","prefix":"","with_delimiter":true}"#,
        "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"../../a\"\r\n\r\nhello\r\n--x--\r\n",
        "--x\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{\"a\":\"\\u0000\"}\r\n--x\r\n\
         Content-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nhello\r\n--x--\r\n",
    ]);
    prop_oneof![texts.prop_map(|text| text.as_bytes().to_vec()), prop::collection::vec(any::<u8>(), 0..200)]
}

fn wild() -> impl Strategy<Value = Wild> {
    let method = prop::sample::select(vec!["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    let query = prop_oneof![
        Just(String::new()),
        prop::sample::select(vec![
            "?token=a.b.c",
            "?download=%0d%0aset-cookie:a",
            "?width=1&height=0&resize=fill",
            "?width=2000&quality=20",
            "?limit=-1&offset=99999999999",
            "?prefix=%00",
            "?format=avif&width=1",
            "?%ff=%",
        ])
        .prop_map(str::to_owned),
    ];
    let path = (prop::collection::vec(segment(), 1..6), query);
    (method, path, prop::collection::vec(header(), 0..4), body()).prop_map(|(method, (parts, query), headers, body)| {
        Wild { method, path: format!("/{}{query}", parts.join("/")), headers, body }
    })
}

async fn start() -> TestApi {
    let api = TestApi::start(&[]).await;
    let setup = "INSERT INTO storage.buckets (id, name, public) VALUES ('b', 'b', true), ('secret', 'secret', false)";
    api.admin.batch_execute(setup).await.unwrap();
    send(&api.storage, "POST", "/object/secret/a.txt", &[("content-type", "text/plain")], "the secret").await;
    api
}

/// Sends a request that may be none; `None` if the HTTP library refuses it.
async fn answer(api: &TestApi, request: http::request::Builder, body: Vec<u8>) -> Option<Response<Vec<u8>>> {
    let request = request.body(Body::from(body)).ok()?;
    let response = tokio::time::timeout(PATIENCE, api.storage.handle(request)).await.expect("an answer in time");
    let (parts, body) = response.into_parts();
    let content = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    Some(Response::from_parts(parts, content))
}

fn is_failure(response: &Response<Vec<u8>>) -> bool {
    response.status().is_server_error() || String::from_utf8_lossy(response.body()).contains("DatabaseError")
}

#[tokio::test]
async fn wild_requests_never_fail_inside_the_server() {
    let api = start().await;
    let mut runner = TestRunner::deterministic();
    let tokens = [json!({"role": "service_role"}), json!({"role": "authenticated", "sub": "x'\u{1}"}), json!({})];
    for number in 0..REQUESTS {
        let wild = wild().new_tree(&mut runner).unwrap().current();
        let token = &tokens[number % tokens.len()];
        let mut request = Request::builder().method(wild.method).uri(&wild.path);
        request = request.header("authorization", format!("Bearer {}", sign(token)));
        for (name, value) in &wild.headers {
            request = request.header(*name, value);
        }
        let Some(response) = answer(&api, request, wild.body.clone()).await else { continue };
        assert!(!is_failure(&response), "{wild:?}: {response:?}");
        let is_foreign = number % tokens.len() != 0 && response.body().windows(10).any(|part| part == b"the secret");
        assert!(!is_foreign, "{wild:?}");
    }
    let read = api.send("GET", "/object/secret/a.txt", Body::empty()).await;
    let is_kept = read.status() == 200 || wild_removed(&api).await;
    assert!(is_kept, "the row has a file: {read:?}");
}

/// Whether a request of the service role removed the object, or its bucket.
async fn wild_removed(api: &TestApi) -> bool {
    api.admin.query("SELECT 1 FROM storage.objects WHERE bucket_id = 'secret'", &[]).await.unwrap().is_empty()
}

/// Documents of the S3 protocol, and what is nearly one.
fn document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<Delete>",
            "</Delete>",
            "<Object>",
            "</Object>",
            "<Key>",
            "</Key>",
            "<Part>",
            "</Part>",
            "<PartNumber>",
            "</PartNumber>",
            "<ETag>",
            "</ETag>",
            "<CompleteMultipartUpload>",
            "</CompleteMultipartUpload>",
            "<Quiet>true</Quiet>",
            "<!DOCTYPE a [<!ENTITY b \"cccccccccc\">]>",
            "&b;",
            "&#0;",
            "&#x10FFFF;",
            "<![CDATA[",
            "]]>",
            "<!--",
            "1",
            "a.txt",
            "..",
            "\"",
            "99999999999",
            "<?xml version=\"1.0\"?>",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat()),
        "\\PC{0,20}".prop_map(|name| format!("<Delete><Object><Key>{name}</Key></Object></Delete>")),
        (any::<i64>(), "\\PC{0,20}").prop_map(|(number, tag)| format!(
            "<CompleteMultipartUpload><Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part></CompleteMultipartUpload>"
        )),
    ]
}

#[tokio::test]
async fn wild_documents_of_s3_never_fail_inside_the_server() {
    let api = start().await;
    let mut runner = TestRunner::deterministic();
    let signer = Signer { key: "harbour-access-key", secret: "harbour-secret-key-0123456789", region: "us-east-1" };
    let targets = [
        "/s3/b?delete=",
        "/s3/b/a.txt?uploadId=6f3b1d5e-52a1-4c3b-8d0e-1f2a3b4c5d6e",
        "/s3/b/a.txt?uploadId=no-id",
        "/s3/b?list-type=2&continuation-token=a",
    ];
    for number in 0..REQUESTS {
        let body = document().new_tree(&mut runner).unwrap().current();
        let target = targets[number % targets.len()];
        let method = if target.contains("list-type") { "GET" } else { "POST" };
        let body = if method == "GET" { Vec::new() } else { body.into_bytes() };
        let mut headers = vec![("host".to_owned(), "localhost".to_owned())];
        sign_s3(&signer, method, target, &mut headers, &body);
        let request = headers.iter().fold(Request::builder().method(method).uri(target), |request, (name, value)| {
            request.header(name.as_str(), value.as_str())
        });
        let response = answer(&api, request, body.clone()).await.expect("a request");
        assert!(!is_failure(&response), "{target}: {}: {response:?}", String::from_utf8_lossy(&body));
        assert_ne!(response.status(), 403, "the signature is right: {response:?}");
    }
}

#[tokio::test]
async fn changed_signatures_are_refused() {
    let api = start().await;
    let mut runner = TestRunner::deterministic();
    let kind = [("content-type", "application/json")];
    let signed = send(&api.storage, "POST", "/object/sign/secret/a.txt", &kind, r#"{"expiresIn": 60}"#).await;
    let url = crate::api::json_of(&signed)["signedURL"].as_str().expect("a URL").to_owned();
    let read = answer(&api, Request::builder().uri(&url), Vec::new()).await.expect("a request");
    assert_eq!(read.body(), b"the secret");
    let change = (any::<prop::sample::Index>(), prop::sample::select(b"abcXYZ019-_.".to_vec()));
    let begin = url.find("token=").expect("a token") + "token=".len();
    for _ in 0..REQUESTS {
        let (place, byte) = change.new_tree(&mut runner).unwrap().current();
        let mut changed = url.clone().into_bytes();
        let place = begin + place.index(changed.len() - begin);
        // The last digit of a signature of 32 bytes has bits that do not count.
        if changed[place] == byte || place + 1 == changed.len() {
            continue;
        }
        changed[place] = byte;
        let changed = String::from_utf8(changed).expect("text");
        let response = answer(&api, Request::builder().uri(&changed), Vec::new()).await.expect("a request");
        assert_eq!(response.status(), 400, "{changed}");
    }
}
