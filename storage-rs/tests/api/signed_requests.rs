//! What the holder of a signed request or URL can change of it: nothing.

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::api::{TestApi, json_of, send};
use crate::signature::{Signer, sign};

const SIGNER: Signer<'_> =
    Signer { key: "harbour-access-key", secret: "harbour-secret-key-0123456789", region: "us-east-1" };

async fn start() -> TestApi {
    start_with(&[]).await
}

/// Starts an API with further settings.
async fn start_with(more: &[(&str, &str)]) -> TestApi {
    let api = TestApi::start(more).await;
    for (name, is_public) in [("open", true), ("closed", false)] {
        let body = json!({"name": name, "public": is_public}).to_string();
        let created = send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
        assert_eq!(created.status(), StatusCode::OK);
    }
    let stored = api.send("POST", "/object/closed/secret.txt", "secret").await;
    assert_eq!(stored.status(), StatusCode::OK);
    api
}

#[tokio::test]
async fn headers_that_are_not_signed_are_refused() {
    let api = start().await;
    let put = async |more: &[(&str, &str)]| {
        let mut headers = vec![("host".to_owned(), "files.example.com".to_owned())];
        sign(&SIGNER, "PUT", "/s3/open/upload.txt", &mut headers, b"");
        let mut request = Request::builder().method("PUT").uri("/s3/open/upload.txt");
        for (name, value) in
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(more.iter().copied())
        {
            request = request.header(name, value);
        }
        api.storage.handle(request.body(Body::empty()).unwrap()).await
    };
    for unsigned in [
        ("x-amz-copy-source", "/closed/secret.txt"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-security-token", "a.b.c"),
        ("x-amz-meta-name", "other"),
    ] {
        let refused = put(&[unsigned]).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{unsigned:?}: {refused:?}");
        let read = send(&api.storage, "GET", "/object/public/open/upload.txt", &[], Body::empty()).await;
        assert_eq!(read.status(), StatusCode::BAD_REQUEST, "{unsigned:?}: nothing was written");
    }
    for harmless in [("x-amz-user-agent", "aws-sdk-js/3"), ("x-amz-cf-id", "abc")] {
        assert_eq!(put(&[harmless]).await.status(), StatusCode::OK, "{harmless:?}");
    }
}

/// The path of a proxy in front cannot make a signature of one object that of another.
#[tokio::test]
async fn signature_is_for_one_object_whatever_the_prefix() {
    let api = start().await;
    let get = async |prefix: &str, signed: &str, target: &str| {
        let mut headers = vec![("host".to_owned(), "files.example.com".to_owned())];
        sign(&SIGNER, "GET", signed, &mut headers, b"");
        let mut request = Request::get(target).header("x-forwarded-prefix", prefix);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        api.storage.handle(request.body(Body::empty()).unwrap()).await.status()
    };
    let secret = "/s3/closed/secret.txt";
    for prefix in ["/s3/open/own", "/storage/v1/s3/open", "/s3"] {
        let refused = get(prefix, &format!("{prefix}{secret}"), secret).await;
        assert_eq!(refused, StatusCode::FORBIDDEN, "{prefix}");
    }
    for prefix in ["/storage/v1", "/proxy/of/s3-files", ""] {
        assert_eq!(get(prefix, &format!("{prefix}{secret}"), secret).await, StatusCode::OK, "{prefix}");
    }
}

#[tokio::test]
async fn host_in_the_header_of_a_proxy_counts_where_the_settings_say_so() {
    for (setting, status) in [("true", StatusCode::OK), ("false", StatusCode::FORBIDDEN)] {
        let api = start_with(&[("S3_ALLOW_FORWARDED_HEADER", setting)]).await;
        let target = "/s3/closed/secret.txt";
        let mut headers = vec![("host".to_owned(), "files.example.com".to_owned())];
        sign(&SIGNER, "GET", target, &mut headers, b"");
        let forwarded = "for=192.0.2.1;proto=https;Host=\"files.example.com\"";
        let mut request = Request::get(target).header("host", "inside:5000").header("forwarded", forwarded);
        for (name, value) in headers.iter().filter(|(name, _)| name != "host") {
            request = request.header(name, value);
        }
        let answer = api.storage.handle(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), status, "{setting}");
    }
}

#[tokio::test]
async fn signed_url_of_a_transformed_image_does_not_open_its_source() {
    let key = ("JWT_JWKS", r#"{"keys":[],"urlSigningKey":{"kty":"oct","k":"c2VjcmV0LW9mLXVybHM","alg":"HS256"}}"#);
    for settings in [&[][..], &[key]] {
        let api = start_with(settings).await;
        let body = json!({"expiresIn": 60, "transform": {"width": 20}}).to_string();
        let path = "/object/sign/closed/secret.txt";
        let signed = send(&api.storage, "POST", path, &[("content-type", "application/json")], body).await;
        let signed: Value = serde_json::from_slice(signed.body()).unwrap();
        let url = signed["signedURL"].as_str().unwrap();
        assert!(url.starts_with("/render/image/sign/"), "{url}");
        let source = url.replacen("/render/image/sign/", "/object/sign/", 1);
        let refused = send(&api.storage, "GET", &source, &[], Body::empty()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{settings:?}: {refused:?}");
    }
}

#[tokio::test]
async fn signed_url_has_one_token() {
    let api = start().await;
    let json = [("content-type", "application/json")];
    let signed = send(&api.storage, "POST", "/object/sign/closed/secret.txt", &json, r#"{"expiresIn":60}"#).await;
    let download = json_of(&signed)["signedURL"].as_str().unwrap().to_owned();
    let signed = send(&api.storage, "POST", "/object/upload/sign/closed/new.txt", &[], Body::empty()).await;
    let upload = json_of(&signed)["url"].as_str().unwrap().to_owned();
    let render = download.replacen("/object/sign/", "/render/image/sign/", 1);
    for (method, url) in [("GET", &download), ("PUT", &upload), ("GET", &render)] {
        let refused = send(&api.storage, method, &format!("{url}&token=abc"), &[], "text").await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{method} {url}: {refused:?}");
        assert_eq!(json_of(&refused)["message"], "querystring/token must be string", "{method} {url}");
    }
    for (method, url) in [("GET", &download), ("PUT", &upload)] {
        let answer = send(&api.storage, method, url, &[], "text").await;
        assert_eq!(answer.status(), StatusCode::OK, "{method} {url}: {answer:?}");
    }
}

#[tokio::test]
async fn copy_with_metadata_of_its_own_has_nothing_of_the_source() {
    let api = start().await;
    let headers = [("content-type", "text/plain"), ("cache-control", "max-age=60")];
    let uploaded = send(&api.storage, "POST", "/object/open/source.txt", &headers, "text").await;
    assert_eq!(uploaded.status(), StatusCode::OK, "{uploaded:?}");
    let mut headers = vec![
        ("host".to_owned(), "localhost".to_owned()),
        ("x-amz-copy-source".to_owned(), "/open/source.txt".to_owned()),
        ("x-amz-metadata-directive".to_owned(), "REPLACE".to_owned()),
        ("x-amz-meta-name".to_owned(), "own".to_owned()),
    ];
    sign(&SIGNER, "PUT", "/s3/open/copy.txt", &mut headers, b"");
    let mut request = Request::builder().method("PUT").uri("/s3/open/copy.txt");
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    let copied = api.storage.handle(request.body(Body::empty()).unwrap()).await;
    assert_eq!(copied.status(), StatusCode::OK);
    let read = "SELECT concat_ws(' ', metadata ->> 'mimetype', metadata ->> 'cacheControl', user_metadata ->> 'name')
                FROM storage.objects WHERE name = 'copy.txt'";
    let metadata: String = api.admin.query_one(read, &[]).await.unwrap().get(0);
    assert_eq!(metadata, "own");
}

#[tokio::test]
async fn times_of_older_rows_and_empty_conditions_are_read() {
    let api = start().await;
    let uploaded = send(&api.storage, "POST", "/object/open/a.txt", &[], "text").await;
    assert_eq!(uploaded.status(), StatusCode::OK, "{uploaded:?}");
    let set = "UPDATE storage.objects SET metadata = metadata || jsonb_build_object('lastModified', $1::text)
               WHERE name = 'a.txt'";
    api.admin.execute(set, &[&"Wed, 12 Oct 2022 11:17:02 GMT"]).await.unwrap();
    let empty = [("range", ""), ("if-none-match", "")];
    let read = send(&api.storage, "GET", "/object/public/open/a.txt", &empty, Body::empty()).await;
    assert_eq!((read.status(), read.body().as_ref()), (StatusCode::OK, &b"text"[..]));
    assert_eq!(read.headers()["last-modified"], "Wed, 12 Oct 2022 11:17:02 GMT");
    let since = [("if-modified-since", "Wed, 12 Oct 2022 11:17:02 GMT")];
    let read = send(&api.storage, "GET", "/object/public/open/a.txt", &since, Body::empty()).await;
    assert_eq!(read.status(), StatusCode::NOT_MODIFIED);
}
