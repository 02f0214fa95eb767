//! Limits of number, rate and room, which clients are told with a time after which they may try again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use http_edge::request::{ClientAddress, RequestId, RequestIdSource, ResolvedRequest};
use serde_json::{Value, json};
use storage_rs::backend::disk::DiskBackend;

use crate::api::{TestApi, json_of, send, sign};
use crate::multipart::request_with;
use crate::signature::{self, Signer};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn start(more: &[(&str, &str)]) -> TestApi {
    let api = TestApi::start(more).await;
    prepare(&api).await;
    api
}

async fn prepare(api: &TestApi) {
    let bucket = json!({"name": "b", "public": true}).to_string();
    let created = send(&api.storage, "POST", "/bucket", &JSON, bucket).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
    let policy = "CREATE POLICY members ON storage.objects FOR ALL TO authenticated USING (true) WITH CHECK (true)";
    api.admin.batch_execute(policy).await.unwrap();
}

/// Sends a request as the router of `basalt serve` passes it on, from a client with this address.
async fn send_from(
    api: &TestApi,
    client: &str,
    claims: &Value,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Bytes> {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("authorization", format!("Bearer {}", sign(claims)));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(body.into()).unwrap();
    let id = RequestId::resolve(&HeaderMap::new(), RequestIdSource::Generated, || "request".to_owned());
    let client = Some(ClientAddress::new(client.parse().unwrap()));
    request.extensions_mut().insert(ResolvedRequest { id, client });
    let (parts, body) = api.storage.handle(request).await.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

fn member(number: u8) -> Value {
    json!({"role": "authenticated", "sub": format!("6f3b1d5e-52a1-4c3b-8d0e-1f2a3b4c5d{number:02x}")})
}

fn service() -> Value {
    json!({"role": "service_role"})
}

/// A body that sends something and then waits until the test ends it.
fn endless() -> Body {
    let first = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(&[7; 1000]))]);
    Body::from_stream(first.chain(futures::stream::pending()))
}

#[tokio::test]
async fn network_with_too_many_uploads_waits_and_is_refused() {
    let api = start(&[("BASALT_STORAGE_MAX_UPLOADS_PER_NETWORK", "2")]).await;
    let slow = |name: &'static str| {
        let headers = [("content-type", "text/plain")];
        let api = &api;
        async move { send_from(api, "2001:db8::1", &service(), "POST", name, &headers, endless()).await }
    };
    let quick = async |client: &str, name: &str| {
        let headers = [("content-type", "text/plain")];
        send_from(&api, client, &service(), "POST", name, &headers, "text").await
    };
    let uploads = futures::future::join(slow("/object/b/slow1"), slow("/object/b/slow2"));
    let others = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        // The address is another one of the same network.
        let tus = [
            ("tus-resumable", "1.0.0"),
            ("upload-length", "4"),
            ("upload-metadata", "bucketName Yg==,objectName bg=="),
            ("content-type", "application/offset+octet-stream"),
        ];
        let key = service();
        let (rest, tus) = tokio::join!(
            quick("2001:db8::2", "/object/b/third"),
            send_from(&api, "2001:db8::3", &key, "POST", "/upload/resumable", &tus, "text")
        );
        assert_eq!(rest.status(), StatusCode::TOO_MANY_REQUESTS, "{rest:?}");
        assert_eq!((&json_of(&rest)["code"], &json_of(&rest)["statusCode"]), (&json!("SlowDown"), &json!("429")));
        assert_eq!(tus.status(), StatusCode::TOO_MANY_REQUESTS, "{tus:?}");
        for answer in [&rest, &tus] {
            assert_eq!(answer.headers()["retry-after"], "10");
        }
        assert_eq!(quick("2001:db8:0:1::1", "/object/b/other").await.status(), StatusCode::OK, "another network");
        let read = api.send("GET", "/object/public/b/other", Body::empty()).await;
        assert_eq!(read.status(), StatusCode::OK, "downloads go on");
    };
    tokio::select! {
        _ = uploads => panic!("the uploads do not end"),
        () = others => {}
    }
    // The slow uploads hung up.
    assert_eq!(quick("2001:db8::2", "/object/b/third").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn all_networks_together_have_so_many_uploads() {
    let api = start(&[("BASALT_STORAGE_MAX_UPLOADS", "1")]).await;
    let headers = [("content-type", "text/plain")];
    let key = service();
    let slow = send_from(&api, "192.0.2.1", &key, "POST", "/object/b/slow", &headers, endless());
    let other = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        request_with(&api.storage, "PUT", "/s3/b/other", &headers, "text").await
    };
    tokio::select! {
        _ = slow => panic!("the upload does not end"),
        refused = other => {
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
            assert_eq!(refused.headers()["retry-after"], "10");
            assert!(String::from_utf8_lossy(refused.body()).contains("<Code>SlowDown</Code>"), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn user_has_so_many_resumable_uploads_open() {
    let api = start(&[("BASALT_STORAGE_MAX_OPEN_UPLOADS", "2")]).await;
    let begin = async |claims: &Value, client: &str| {
        let metadata = "bucketName Yg==,objectName bg==";
        let headers =
            [("tus-resumable", "1.0.0"), ("upload-length", "4"), ("upload-metadata", metadata), ("x-upsert", "true")];
        send_from(&api, client, claims, "POST", "/upload/resumable", &headers, Body::empty()).await
    };
    let path = |created: &Response<Bytes>| {
        let location = created.headers()["location"].to_str().unwrap();
        location[location.find("/upload/").unwrap()..].to_owned()
    };
    let first = begin(&member(1), "192.0.2.1").await;
    let second = begin(&member(1), "192.0.2.2").await;
    let refused = begin(&member(1), "192.0.2.3").await;
    assert_eq!((first.status(), second.status()), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert_eq!(refused.headers()["retry-after"], "60");
    assert!(refused.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    assert_eq!(begin(&member(2), "192.0.2.1").await.status(), StatusCode::CREATED, "another user");
    for _ in 0..4 {
        assert_eq!(begin(&service(), "192.0.2.1").await.status(), StatusCode::CREATED, "the service role");
    }
    // One ends complete, the other one by the client.
    let part =
        [("tus-resumable", "1.0.0"), ("upload-offset", "0"), ("content-type", "application/offset+octet-stream")];
    let written = send_from(&api, "192.0.2.1", &member(1), "PATCH", &path(&first), &part, "text").await;
    assert_eq!(written.status(), StatusCode::NO_CONTENT, "{written:?}");
    // As tus-js-client does: the headers of the upload are those of all its requests.
    let version = [("tus-resumable", "1.0.0"), ("x-upsert", "true")];
    let ended = send_from(&api, "192.0.2.1", &member(1), "DELETE", &path(&second), &version, Body::empty()).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT, "{ended:?}");
    for _ in 0..2 {
        assert_eq!(begin(&member(1), "192.0.2.1").await.status(), StatusCode::CREATED);
    }
    assert_eq!(begin(&member(1), "192.0.2.1").await.status(), StatusCode::TOO_MANY_REQUESTS);
    // Another server on the same files ends the one of the other user, who has two.
    let theirs = begin(&member(2), "192.0.2.1").await;
    assert_eq!(begin(&member(2), "192.0.2.1").await.status(), StatusCode::TOO_MANY_REQUESTS);
    let ended = send(&api.replica(), "DELETE", &path(&theirs), &version, "").await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT, "{ended:?}");
    assert_eq!(begin(&member(2), "192.0.2.1").await.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn user_has_so_many_uploads_of_several_parts_open() {
    let api = start(&[("BASALT_STORAGE_MAX_OPEN_UPLOADS", "2")]).await;
    let anon_key = api.storage.config().anon_key.clone().unwrap();
    let begin = async |claims: &Value| {
        let mut headers =
            vec![("host".to_owned(), "localhost".to_owned()), ("x-amz-security-token".to_owned(), sign(claims))];
        let signer = Signer { key: "stub", secret: &anon_key, region: "us-east-1" };
        signature::sign(&signer, "POST", "/s3/b/a?uploads", &mut headers, b"");
        let mut request = Request::builder().method("POST").uri("/s3/b/a?uploads");
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let (parts, body) = Arc::clone(&api.storage).handle(request.body(Body::empty()).unwrap()).await.into_parts();
        Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
    };
    for _ in 0..2 {
        assert_eq!(begin(&member(1)).await.status(), StatusCode::OK);
    }
    let refused = begin(&member(1)).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert_eq!(refused.headers()["retry-after"], "60");
    assert_eq!(begin(&member(2)).await.status(), StatusCode::OK, "another user");
    for _ in 0..4 {
        let of_server = request_with(&api.storage, "POST", "/s3/b/a?uploads", &[], "").await;
        assert_eq!(of_server.status(), StatusCode::OK, "the key of the server: {of_server:?}");
    }
}

#[tokio::test]
async fn images_of_a_network_are_limited() {
    let api = start(&[("BASALT_STORAGE_IMAGES_PER_MINUTE", "3")]).await;
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
    send(&api.storage, "POST", "/object/b/a.svg", &[("content-type", "image/svg+xml")], svg).await;
    let render = async |client: &str| {
        let path = "/render/image/public/b/a.svg?width=10";
        send_from(&api, client, &service(), "GET", path, &[], Body::empty()).await
    };
    for _ in 0..3 {
        assert_eq!(render("192.0.2.1").await.status(), StatusCode::OK);
    }
    let refused = render("192.0.2.1").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert_eq!(json_of(&refused)["code"], "SlowDown");
    assert_eq!(refused.headers()["retry-after"], "20");
    assert_eq!(render("192.0.2.2").await.status(), StatusCode::OK, "another network");
}

#[tokio::test]
async fn lists_of_names_are_bounded() {
    let api = start(&[]).await;
    let names = |number: usize| (0..number).map(|number| number.to_string()).collect::<Vec<_>>();
    for (method, path, body) in [
        ("POST", "/object/sign/b", json!({"expiresIn": 60, "paths": names(1001)})),
        ("DELETE", "/object/b", json!({"prefixes": names(100_001)})),
    ] {
        let refused = send(&api.storage, method, path, &JSON, body.to_string()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{method} {path}: {refused:?}");
        let message = json_of(&refused)["message"].as_str().unwrap().to_owned();
        assert!(message.contains("must NOT have more than"), "{message}");
    }
    let objects = format!("<Object><Key>{}</Key></Object>", names(1001).join("</Key></Object><Object><Key>"));
    let body = format!("<Delete>{objects}</Delete>");
    let refused = request_with(&api.storage, "POST", "/s3/b?delete", &[], &body).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{refused:?}");
}

#[tokio::test]
async fn uploads_beyond_the_quota_are_refused_before_their_content_is_read() {
    let folder = std::env::temp_dir().join(format!("basalt-quota-{}", std::process::id()));
    let disk = DiskBackend::open_with_quota(&folder, Some(1_000_000)).unwrap();
    let api = TestApi::start_over(&[], Some(Arc::new(disk))).await;
    prepare(&api).await;
    let length = "1000001";
    let plain = [("content-type", "text/plain"), ("content-length", length)];
    // None of these bodies ends: the answer does not wait for them.
    let rest = send(&api.storage, "POST", "/object/b/a", &plain, endless()).await;
    assert_eq!(rest.status(), StatusCode::INSUFFICIENT_STORAGE, "{rest:?}");
    assert_eq!(json_of(&rest)["code"], "InsufficientStorage");
    assert_eq!(json_of(&rest)["message"], "The quota of the storage is exhausted");
    let tus =
        [("tus-resumable", "1.0.0"), ("upload-length", length), ("upload-metadata", "bucketName Yg==,objectName bg==")];
    let tus = send(&api.storage, "POST", "/upload/resumable", &tus, Body::empty()).await;
    assert_eq!(tus.status(), StatusCode::INSUFFICIENT_STORAGE, "{tus:?}");
    // Content of unknown length fails when it does not fit any more, and gives its room back.
    let blocks = (0..11).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![7; 100_000])));
    let unknown = Body::from_stream(futures::stream::iter(blocks));
    let refused = send(&api.storage, "POST", "/object/b/a", &[("content-type", "text/plain")], unknown).await;
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE, "{refused:?}");
    let large = "x".repeat(999_000);
    let large_length = large.len().to_string();
    let fits = [("content-type", "text/plain"), ("content-length", large_length.as_str())];
    let stored = send(&api.storage, "POST", "/object/b/a", &fits, large).await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    let small = [("content-type", "text/plain"), ("content-length", "2000")];
    let refused = send(&api.storage, "POST", "/object/b/small", &small, "x".repeat(2000)).await;
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE, "{refused:?}");
    api.send("DELETE", "/object/b/a", Body::empty()).await;
    let stored = send(&api.storage, "POST", "/object/b/small", &small, "x".repeat(2000)).await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

const BLOCK: usize = 64 * 1024;

/// A form that begins with `start`, goes on with so many blocks and is there at once, and a counter of the bytes that were read
/// of it.
fn large_form(
    start: &'static str,
    blocks: usize,
    block: impl Fn(usize) -> String + Send + 'static,
) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let blocks = futures::stream::iter(0..blocks).map(move |number| Bytes::from(block(number)));
    let blocks = futures::stream::iter([Bytes::from_static(start.as_bytes())]).chain(blocks);
    let body = Body::from_stream(blocks.map(move |bytes| {
        counter.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok::<_, std::io::Error>(bytes)
    }));
    (body, read)
}

/// Forms of which a server that reads on keeps everything in memory.
#[tokio::test]
async fn forms_are_not_read_beyond_their_limits() {
    let api = start(&[]).await;
    let limited = json!({"name": "small", "file_size_limit": 100_000}).to_string();
    send(&api.storage, "POST", "/bucket", &JSON, limited).await;
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let filler = |_| "x".repeat(BLOCK);
    let file = "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\n\r\n";
    let field = |number| {
        let value = "x".repeat(1_000_000);
        format!("\r\n--x\r\nContent-Disposition: form-data; name=\"{number}\"\r\n\r\n{value}")
    };
    for (path, start, is_field) in [
        ("/object/b/a", "", false),
        ("/object/b/a", "--x\r\nContent-Disposition: form-data; name=\"", false),
        ("/object/small/a", file, false),
        ("/s3/b", "", false),
        ("/s3/b", "--x\r\nContent-Disposition: form-data; name=\"", false),
        ("/s3/b", "", true),
    ] {
        let (body, read) = if is_field { large_form(start, 60, field) } else { large_form(start, 1000, filler) };
        let refused = send(&api.storage, "POST", path, &kind, body).await;
        let read = read.load(Ordering::Relaxed);
        assert!(refused.status().is_client_error(), "{path} {start}: {refused:?}");
        assert!(read < 4 * 1024 * 1024, "{read} bytes of {path} {start} were read");
    }
    assert_eq!(api.count_files(), 0);
}

/// A form of many blocks is taken as a whole.
#[tokio::test]
async fn large_form_is_stored() {
    let api = start(&[("FILE_SIZE_LIMIT", "100000000")]).await;
    let file = "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\n\r\n";
    let block = |number| if number == 1000 { "\r\n--x--\r\n".to_owned() } else { "y".repeat(BLOCK) };
    let (body, _) = large_form(file, 1001, block);
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let stored = send(&api.storage, "POST", "/object/b/a", &kind, body).await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    let read = api.send("GET", "/object/b/a", Body::empty()).await;
    assert!(read.body().len() == 1000 * BLOCK && read.body().iter().all(|byte| *byte == b'y'));
}
