//! Answers of the reference to requests that the recordings lack.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::api::{TestApi, json_of, send, sign};
use crate::multipart::request_with;
use crate::signature;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn start() -> TestApi {
    let api = TestApi::start(&[]).await;
    let bucket = json!({"name": "b", "allowed_mime_types": ["text/*"]}).to_string();
    let created = send(&api.storage, "POST", "/bucket", &JSON, bucket).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
    for name in ["a.txt", "b.txt", "c.txt"] {
        let path = format!("/object/b/{name}");
        let stored = send(&api.storage, "POST", &path, &[("content-type", "text/plain")], "text").await;
        assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    }
    api
}

/// Names and values of header fields.
type Headers = &'static [(&'static str, &'static str)];

#[tokio::test]
async fn bodies_are_read_as_the_reference_reads_them() {
    let api = start().await;
    let not_json = "Body is not valid JSON but content-type is set to 'application/json'";
    let empty = "Body cannot be empty when content-type is set to 'application/json'";
    let cases: [(&str, &str, Headers, &str, &str); 8] = [
        ("POST", "/bucket", &JSON, "\u{feff}{\"name\":\"marked\"}", ""),
        ("POST", "/bucket", &JSON, r#"{"name":"x","__proto__":1}"#, not_json),
        ("POST", "/bucket", &JSON, r#"{"name":"x","a":[{"constructor":{"prototype":1}}]}"#, not_json),
        ("POST", "/bucket", &JSON, r#"{"name":"built","constructor":1}"#, ""),
        ("POST", "/bucket", &[], r#"{"name":"x"}"#, "body must be object"),
        ("DELETE", "/object/b/a.txt", &JSON, "", empty),
        ("POST", "/object/upload/sign/b/new.txt", &JSON, "", empty),
        ("DELETE", "/object/b/a.txt", &JSON, "{}", ""),
    ];
    for (method, path, headers, body, message) in cases {
        let answer = send(&api.storage, method, path, headers, body).await;
        if message.is_empty() {
            assert_eq!(answer.status(), StatusCode::OK, "{method} {path} {body}: {answer:?}");
        } else {
            assert_eq!(json_of(&answer)["message"], message, "{method} {path} {body}");
        }
    }
    let fraction = send(&api.storage, "POST", "/bucket", &JSON, r#"{"name":"x","file_size_limit":1.5}"#).await;
    let message = json_of(&fraction)["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("body/file_size_limit must be integer, body/file_size_limit must match"), "{message}");
    let repeated = api.send("GET", "/bucket?limit=1&limit=2", Body::empty()).await;
    assert_eq!(json_of(&repeated)["message"], "querystring/limit must be integer");
}

#[tokio::test]
async fn resumable_upload_without_a_type_is_stored_as_octets() {
    let api = start().await;
    let begin = async |metadata: &str| {
        let headers = [("tus-resumable", "1.0.0"), ("upload-length", "5"), ("upload-metadata", metadata)];
        send(&api.storage, "POST", "/upload/resumable", &headers, Body::empty()).await
    };
    let refused = begin("bucketName Yg==,objectName bg==,contentType aW1hZ2UvcG5n").await;
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{refused:?}");
    let created = begin("bucketName Yg==,objectName bg==").await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    let path = location[location.find("/upload/").unwrap()..].to_owned();
    let part =
        [("tus-resumable", "1.0.0"), ("upload-offset", "0"), ("content-type", "application/offset+octet-stream")];
    let written = send(&api.storage, "PATCH", &path, &part, "hello").await;
    assert_eq!(written.status(), StatusCode::NO_CONTENT, "{written:?}");
    let info = api.send("GET", "/object/info/b/n", Body::empty()).await;
    assert_eq!(json_of(&info)["content_type"], "application/octet-stream");
}

#[tokio::test]
async fn signed_url_of_an_image_names_the_format_and_takes_no_options() {
    let api = start().await;
    let sign = async |transform: Value| {
        let body = json!({"expiresIn": 60, "transform": transform}).to_string();
        let signed = send(&api.storage, "POST", "/object/sign/b/a.txt", &JSON, body).await;
        json_of(&signed)["signedURL"].as_str().unwrap().to_owned()
    };
    let claims = |url: &str| {
        let token = url.split_once("token=").unwrap().1;
        api.storage.keys().verify(token, api.storage.now().timestamp()).unwrap()
    };
    for (transform, format) in [
        (json!({"width": 10}), Value::Null),
        (json!({"width": 10, "format": "origin"}), json!("origin")),
        (json!({"format": "webp", "quality": 50}), json!("webp")),
    ] {
        let url = sign(transform.clone()).await;
        assert_eq!(claims(&url).get("format").unwrap_or(&Value::Null), &format, "{transform}");
    }
    // The options are those of the token: others are not looked at.
    let url = sign(json!({"width": 10})).await;
    let read = api.send("GET", &format!("{url}&width=wide"), Body::empty()).await;
    let message = json_of(&read)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.starts_with("The source image is invalid"), "{message}");
}

#[tokio::test]
async fn cursors_are_read_without_padding() {
    let api = start().await;
    let page = async |cursor: Value| {
        let body = json!({"limit": 1, "cursor": cursor}).to_string();
        json_of(&send(&api.storage, "POST", "/object/list-v2/b", &JSON, body).await)
    };
    let first = json_of(&send(&api.storage, "POST", "/object/list-v2/b", &JSON, r#"{"limit":1}"#).await);
    let cursor = first["nextCursor"].as_str().unwrap();
    for cursor in [cursor, cursor.trim_end_matches('='), &format!("{cursor}=")] {
        assert_eq!(page(json!(cursor)).await["objects"][0]["name"], "b.txt", "{cursor}");
    }
    assert_eq!(page(json!("!!!!")).await["code"], "InvalidParameter");
}

#[tokio::test]
async fn token_whose_role_is_no_text_is_refused() {
    let api = start().await;
    for role in [json!(5), json!(true), json!(["service_role"]), json!({"a": 1}), json!("nobody")] {
        let token = sign(&json!({"role": role}));
        let request = Request::builder().uri("/bucket").header("authorization", format!("Bearer {token}"));
        let answer = api.storage.handle(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{role}");
        let body: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!(body["message"], "The role of the token cannot be used", "{role}");
    }
}

#[tokio::test]
async fn empty_name_has_no_folder() {
    let api = start().await;
    let statement =
        "SELECT storage.foldername('') IS NULL, storage.foldername('a') = '{}', storage.foldername('a/b') = '{a}',
        storage.filename('') IS NULL, storage.extension('') IS NULL";
    let row = api.admin.query_one(statement, &[]).await.unwrap();
    let answers: Vec<bool> = (0..5).map(|column| row.get(column)).collect();
    assert_eq!(answers, [true; 5]);
}

#[tokio::test]
async fn head_of_the_s3_protocol_says_when_an_object_was_created() {
    let api = start().await;
    let signer =
        signature::Signer { key: "harbour-access-key", secret: "harbour-secret-key-0123456789", region: "us-east-1" };
    let mut headers = vec![("host".to_owned(), "localhost".to_owned())];
    signature::sign(&signer, "HEAD", "/s3/b/a.txt", &mut headers, b"");
    api.admin.execute("UPDATE storage.objects SET created_at = '2026-02-03 04:05:06.7+00'", &[]).await.unwrap();
    let mut request = Request::builder().method("HEAD").uri("/s3/b/a.txt");
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    let answer = api.storage.handle(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.headers()["created-at"], "Tue Feb 03 2026 04:05:06 GMT+0000 (Coordinated Universal Time)");
}

#[tokio::test]
async fn head_and_info_name_the_transformation_of_the_query() {
    let api = start().await;
    for (method, path, expected) in [
        ("HEAD", "/object/authenticated/b/a.txt?width=10&resize=fill", Some("width:10,resizing_type:force")),
        ("GET", "/object/info/b/a.txt?width=10", Some("width:10,resizing_type:fill")),
        ("GET", "/object/authenticated/b/a.txt?width=10", None),
        ("HEAD", "/object/authenticated/b/a.txt", None),
    ] {
        let answer = api.send(method, path, Body::empty()).await;
        assert_eq!(answer.status(), StatusCode::OK, "{method} {path}: {answer:?}");
        let named = answer.headers().get("x-transformations").map(|value| value.to_str().unwrap());
        assert_eq!(named, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn metadata_that_no_header_field_can_have_is_counted_by_the_s3_protocol() {
    let api = start().await;
    let metadata = json!({"kept": "x", "bad key": "x", "long": "v".repeat(8193), "longest": "v".repeat(8192)});
    let header = STANDARD.encode(metadata.to_string());
    let headers = [("content-type", "text/plain"), ("x-metadata", header.as_str())];
    let stored = send(&api.storage, "POST", "/object/b/m.txt", &headers, "text").await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    for method in ["HEAD", "GET"] {
        let answer = request_with(&api.storage, method, "/s3/b/m.txt", &[], "").await;
        let field = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(field("x-amz-missing-meta"), Some("2"), "{method}");
        assert_eq!(field("x-amz-meta-kept"), Some("x"), "{method}");
        assert_eq!(field("x-amz-meta-longest").map(str::len), Some(8192), "{method}");
        assert_eq!(field("x-amz-meta-long"), None, "{method}");
    }
}

#[tokio::test]
async fn content_without_a_type_is_octets_for_the_s3_protocol() {
    let api = start().await;
    let replacing = [("x-amz-copy-source", "/b/a.txt"), ("x-amz-metadata-directive", "REPLACE")];
    let copied = request_with(&api.storage, "PUT", "/s3/b/copy", &replacing, "").await;
    assert_eq!(copied.status(), StatusCode::OK, "{copied:?}");
    for (method, target, expected) in [
        ("GET", "/s3/b/copy", Some("application/octet-stream")),
        ("GET", "/s3/b/copy?response-content-type=text%2Fhtml", Some("text/html")),
        ("GET", "/s3/b/a.txt", Some("text/plain")),
        ("HEAD", "/s3/b/copy", None),
    ] {
        let answer = request_with(&api.storage, method, target, &[], "").await;
        assert_eq!(answer.status(), StatusCode::OK, "{method} {target}: {answer:?}");
        let kind = answer.headers().get("content-type").map(|value| value.to_str().unwrap());
        assert_eq!(kind, expected, "{method} {target}");
    }
}

#[tokio::test]
async fn head_refuses_transformations_that_are_not_valid() {
    let api = start().await;
    api.admin.execute("UPDATE storage.buckets SET public = true", &[]).await.unwrap();
    let answer = api.send("HEAD", "/object/public/b/a.txt?width=10", Body::empty()).await;
    assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    for query in ["width=abc", "quality=500", "resize=cover%0Amalicious", "format=png"] {
        for door in ["public/", "authenticated/", ""] {
            let path = format!("/object/{door}b/a.txt?{query}");
            let answer = api.send("HEAD", &path, Body::empty()).await;
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
        }
        let path = format!("/object/authenticated/b/a.txt?{query}");
        let answer = api.send("GET", &path, Body::empty()).await;
        assert_eq!(answer.status(), StatusCode::OK, "content takes no transformation: {path}");
    }
}

#[tokio::test]
async fn metadata_that_is_json_but_no_object_is_refused() {
    let api = start().await;
    let upload = async |metadata: &str| {
        let header = STANDARD.encode(metadata);
        let headers = [("content-type", "text/plain"), ("x-metadata", header.as_str()), ("x-upsert", "true")];
        send(&api.storage, "POST", "/object/b/m.txt", &headers, "text").await
    };
    let upload_form = async |metadata: &str| {
        let part = "--x\r\nContent-Disposition: form-data; name=\"";
        let body = format!(
            "{part}metadata\"\r\n\r\n{metadata}\r\n{part}\"; filename=\"f\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--x--\r\n"
        );
        let headers = [("content-type", "multipart/form-data; boundary=x"), ("x-upsert", "true")];
        send(&api.storage, "POST", "/object/b/m.txt", &headers, body).await
    };
    for metadata in ["[1]", "\"s\""] {
        for refused in [upload(metadata).await, upload_form(metadata).await] {
            assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{metadata}: {refused:?}");
            assert_eq!(json_of(&refused)["code"], "InvalidParameter", "{metadata}");
        }
    }
    for metadata in ["{\"a\":1}", "null", "no JSON"] {
        for stored in [upload(metadata).await, upload_form(metadata).await] {
            assert_eq!(stored.status(), StatusCode::OK, "{metadata}: {stored:?}");
        }
    }
}

#[tokio::test]
async fn content_runs_no_script_of_its_uploader() {
    let api = start().await;
    let svg = [("content-type", "text/xml")];
    let stored = send(&api.storage, "POST", "/object/b/a.svg", &svg, "<svg/>").await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    let by_rest = api.send("GET", "/object/b/a.svg", Body::empty()).await;
    let by_s3 = request_with(&api.storage, "GET", "/s3/b/a.svg", &[], "").await;
    for answer in [by_rest, by_s3] {
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        let policies: Vec<_> = answer.headers().get_all("content-security-policy").iter().collect();
        assert!(policies.len() == 1 && policies[0].as_bytes().starts_with(b"sandbox;"), "{policies:?}");
    }
}
