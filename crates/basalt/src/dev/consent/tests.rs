//! Tests of access to the page and of its policies.

use axum::body::Body;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};

use super::*;
use crate::dev::{Access, DevelopmentPages};

const NAVIGATION: [(&str, &str); 3] =
    [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];

async fn send(method: Method, path: &str, headers: &[(&'static str, &str)]) -> Response {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().expect("a path");
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::try_from(*value).expect("a header"));
    }
    let page = ConsentPage::new("http://192.168.1.5:54321", "sb_publishable_\"<x>");
    DevelopmentPages::new(None, Access::default()).with_consent(Some(page)).answer(request).await
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn consent_page_policy_allows_own_files_only() {
    for (path, holds) in [
        ("", "content=\"sb_publishable_&quot;&lt;x&gt;\""),
        ("/page.js", "sessionStorage"),
        ("/page.css", "color-scheme"),
    ] {
        let path = format!("{PATH}{path}");
        let response = send(Method::GET, &path, &[("host", "localhost:54321")]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let headers = response.headers().clone();
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().expect("text");
        for directive in ["default-src 'none'", "script-src 'self'", "form-action 'none'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|given| given == directive), "{path}: {directive}");
        }
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(headers[RESOURCE_POLICY], "same-origin");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        assert!(String::from_utf8_lossy(&body).contains(holds), "{path}");
    }
}

#[tokio::test]
async fn consent_page_requires_navigation_or_same_origin() {
    let framed = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let loaded = [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "script")];
    let own = [("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "script")];
    for (host, fetch, is_open) in [
        ("127.0.0.1:54321", &NAVIGATION[..], true),
        ("192.168.1.5:54321", &NAVIGATION[..], true),
        ("192.168.1.5:54321", &[], true),
        ("192.168.1.5:54321", &own[..], true),
        ("192.168.1.5", &NAVIGATION[..], false),
        ("rebound.example:54321", &NAVIGATION[..], false),
        ("localhost.evil.example", &[], false),
        ("localhost:54321", &framed[..], false),
        ("localhost:54321", &loaded[..], false),
        ("evil@192.168.1.5:54321", &NAVIGATION[..], false),
    ] {
        let headers: Vec<_> = [("host", host)].into_iter().chain(fetch.iter().copied()).collect();
        let expected = if is_open { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(send(Method::GET, PATH, &headers).await.status(), expected, "{host} {fetch:?}");
    }
}

#[tokio::test]
async fn consent_page_rejects_other_methods_and_paths() {
    let host = [("host", "localhost")];
    assert_eq!(send(Method::POST, PATH, &host).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(send(Method::GET, "/_dev/consent/page.html", &host).await.status(), StatusCode::NOT_FOUND);
    assert!(is_consent_path("/_dev/consent/x") && !is_consent_path("/_dev/consents"));
}
