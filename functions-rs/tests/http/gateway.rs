//! The functions gateway: routing, CORS, authentication, limits, errors.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use functions_rs::{Answer, CallLimits, Caller, Function, FunctionError, Functions, Invocation, router};
use futures::future::BoxFuture;
use http::{HeaderMap, Request};
use http_edge::request::{ClientAddress, RequestId, RequestIdSource, ResolvedRequest};
use platform::entropy::Entropy;
use serde_json::json;

use crate::support::{ADA, FixedClock, TestResponse, credential_verifier, send};

type CallFuture<'a> = BoxFuture<'a, Result<Answer, FunctionError>>;

/// A function that answers with the call it received.
struct Echo(&'static str);

impl Function for Echo {
    fn name(&self) -> &'static str {
        self.0
    }

    fn call<'a>(&'a self, invocation: &'a Invocation) -> CallFuture<'a> {
        let caller = match &invocation.caller {
            Caller::Unauthenticated => "nobody".to_owned(),
            Caller::Anonymous => "anonymous".to_owned(),
            Caller::ServiceRole => "service".to_owned(),
            Caller::User(user) => user.id.to_string(),
        };
        let seen = json!({
            "method": invocation.method.as_str(),
            "path": invocation.path,
            "query": invocation.query,
            "body": String::from_utf8_lossy(&invocation.body),
            "caller": caller,
            "client": invocation.client.address().to_string(),
        });
        Box::pin(async move { Answer::json(&seen) })
    }
}

/// A function that fails in the way of its name.
struct Failing(&'static str);

impl Function for Failing {
    fn name(&self) -> &'static str {
        self.0
    }

    fn call<'a>(&'a self, _: &'a Invocation) -> CallFuture<'a> {
        Box::pin(async move {
            match self.0 {
                "panics" => panic!("secret of the inside"),
                "hangs" => std::future::pending().await,
                "busy" => Err(FunctionError::too_many_requests(
                    "over_limit",
                    "At most 3 per hour",
                    Duration::from_millis(1200),
                )),
                _ => Err(FunctionError::internal("asking the database", "password authentication failed")),
            }
        })
    }
}

fn gateway(sleep_ends: bool) -> Router {
    let functions =
        Functions::new(Arc::new(credential_verifier()), Arc::new(FixedClock { sleep_ends }), Entropy::from_seed(1))
            .with_function(Echo("open"), false)
            .with_function(Echo("guarded"), true)
            .with_function(Failing("panics"), false)
            .with_function(Failing("hangs"), false)
            .with_function(Failing("busy"), false)
            .with_function(Failing("fails"), false)
            .with_limits(CallLimits { body: 100, ..CallLimits::default() });
    router(functions)
}

pub(crate) async fn call(method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> TestResponse {
    let request = Request::builder().method(method).uri(format!("/functions/v1{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(&gateway(false), request.body(body.into()).expect("a request")).await
}

#[tokio::test]
async fn all_methods_reach_the_function() {
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let seen = call(method, "/open", &[("x-region", "eu-west-1"), ("x-client-info", "x")], "hello").await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.json()["method"], method);
        assert_eq!(seen.json()["body"], "hello");
    }
}

#[tokio::test]
async fn client_address_is_that_of_the_router_or_the_connection() {
    let request = || Request::get("/functions/v1/open").header("x-forwarded-for", "198.51.100.1");
    let peer = ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 9)));
    let id = RequestId::resolve(&HeaderMap::new(), RequestIdSource::Generated, || "r-1".to_owned());
    let resolved = ResolvedRequest { id, client: Some(ClientAddress::new([192, 0, 2, 1].into())) };
    for (request, client) in [
        (request().extension(peer).extension(resolved), "192.0.2.1"),
        (request().extension(peer), "10.0.0.1"),
        (request(), "0.0.0.0"),
    ] {
        let seen = send(&gateway(false), request.body(Body::empty()).expect("a request")).await;
        assert_eq!(seen.json()["client"], client);
    }
}

#[tokio::test]
async fn unsupported_method_is_405() {
    let seen = call("PROPFIND", "/open", &[], "").await;
    assert_eq!(seen.error().0, 405);
    assert_eq!(seen.header("allow"), "GET, POST, PUT, PATCH, DELETE, OPTIONS");
    assert_eq!(call("HEAD", "/open", &[], "").await.status, 405);
}

#[tokio::test]
async fn rest_of_path_and_query_are_passed_undecoded() {
    let seen = call("GET", "/open/a%2Fb/../c?forceFunctionRegion=eu-west-1", &[], "").await.json();
    assert_eq!(seen["path"], "/a%2Fb/../c");
    assert_eq!(seen["query"], "forceFunctionRegion=eu-west-1");
}

#[tokio::test]
async fn unknown_name_is_404_in_any_encoding() {
    for path in ["", "/", "/unknown", "/OPEN", "/open%2F", "/%6fpen", "//open", "/../open", "/open;x", "/.", "/%00"] {
        let seen = call("POST", path, &[], "").await;
        let expected = (404, "NOT_FOUND".to_owned(), "Requested function was not found".to_owned());
        assert_eq!(seen.error(), expected, "{path}");
        assert_eq!(seen.header("access-control-allow-origin"), "*", "{path}");
    }
}

#[tokio::test]
async fn preflight_is_answered_for_any_name() {
    for path in ["/open", "/guarded", "/unknown"] {
        let requested = [
            ("origin", "https://shop.example"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,x-client-info,idempotency-key"),
            ("authorization", "Bearer nonsense"),
        ];
        let seen = call("OPTIONS", path, &requested, "").await;
        assert_eq!(seen.status, 204);
        assert_eq!(seen.header("access-control-allow-origin"), "*");
        assert_eq!(seen.header("access-control-allow-methods"), "GET, POST, PUT, PATCH, DELETE, OPTIONS");
        assert_eq!(seen.header("access-control-allow-headers"), "authorization,x-client-info,idempotency-key");
    }
}

#[tokio::test]
async fn cors_never_allows_credentials() {
    for (method, path) in [("OPTIONS", "/open"), ("POST", "/open"), ("POST", "/fails"), ("POST", "/unknown")] {
        let seen = call(method, path, &[("origin", "https://evil.example")], "").await;
        assert_eq!(seen.header("access-control-allow-origin"), "*");
        assert!(!seen.headers.contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn verify_jwt_requires_token_or_key() {
    let anonymous = call("POST", "/guarded", &[], "").await;
    assert_eq!(anonymous.error(), (401, "UNAUTHORIZED_NO_AUTH_HEADER".into(), "Missing authorization header".into()));
    for (header, expected) in [
        (("apikey", "sb_publishable_test"), "anonymous"),
        (("apikey", "sb_secret_test"), "service"),
        (("authorization", "Bearer sb_publishable_test"), "anonymous"),
        (("authorization", "Bearer token-of-ada"), ADA),
    ] {
        assert_eq!(call("POST", "/guarded", &[header], "").await.json()["caller"], expected);
    }
}

#[tokio::test]
async fn invalid_token_is_401_without_verify_jwt() {
    let headers = [("authorization", "Bearer expired"), ("apikey", "sb_publishable_test")];
    for path in ["/open", "/guarded"] {
        let seen = call("POST", path, &headers, "").await;
        assert_eq!(seen.error(), (401, "UNAUTHORIZED_INVALID_JWT_FORMAT".into(), "Invalid JWT".into()));
        assert_eq!(seen.header("access-control-allow-origin"), "*");
    }
    assert_eq!(call("POST", "/open", &[("apikey", "sb_publishable_old")], "").await.status, 401);
    assert_eq!(call("POST", "/open", &[], "").await.json()["caller"], "nobody");
}

#[tokio::test]
async fn body_over_limit_is_413() {
    assert_eq!(call("POST", "/open", &[], "x".repeat(100)).await.status, 200);
    let parts = futures::stream::iter((0..30).map(|_| Ok::<_, std::io::Error>(Bytes::from("0123456789"))));
    for body in [Body::from("x".repeat(101)), Body::from_stream(parts)] {
        let seen = call("POST", "/open", &[], body).await;
        assert_eq!(seen.error().0, 413);
        assert_eq!(seen.error().1, "PAYLOAD_TOO_LARGE");
    }
    let broken = futures::stream::iter([Ok(Bytes::from("{")), Err(std::io::Error::other("reset"))]);
    assert_eq!(call("POST", "/open", &[], Body::from_stream(broken)).await.error().0, 400);
}

#[tokio::test]
async fn panic_is_500_without_details() {
    let gateway = gateway(false);
    for path in ["/panics", "/fails", "/panics"] {
        let request = Request::post(format!("/functions/v1{path}")).body(Body::empty()).expect("a request");
        let seen = send(&gateway, request).await;
        let (status, code, message) = seen.error();
        assert_eq!((status, code.as_str()), (500, "WORKER_ERROR"));
        assert!(!message.contains("secret") && !message.contains("password"), "{message}");
        assert_eq!(seen.header("access-control-allow-origin"), "*");
    }
}

#[tokio::test]
async fn hanging_function_is_504() {
    let request = Request::post("/functions/v1/hangs").body(Body::empty()).expect("a request");
    assert_eq!(send(&gateway(true), request).await.error().0, 504);
}

#[tokio::test]
async fn retry_after_is_rounded_up() {
    let seen = call("POST", "/busy", &[], "").await;
    assert_eq!(seen.error(), (429, "over_limit".into(), "At most 3 per hour".into()));
    assert_eq!(seen.header("retry-after"), "2");
    assert_eq!(seen.header("access-control-expose-headers"), "sb-error-code, retry-after");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_path_reaches_only_the_named_function(rest in "[a-zA-Z0-9%./;:@!$&'()*+,=_~-]{0,30}", header in "[ -~\\t]{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let headers = [("access-control-request-headers", header.as_str()), ("cookie", &header), ("x-forwarded-for", &header)];
        let seen = runtime.block_on(call("POST", &format!("/{rest}"), &headers, "{}"));
        let name = rest.split('/').next().unwrap_or_default();
        let exists = ["open", "guarded", "panics", "hangs", "busy", "fails"].contains(&name);
        proptest::prop_assert_eq!(seen.status == 404, !exists, "{}", rest);
        let preflight = runtime.block_on(call("OPTIONS", "/open", &headers, ""));
        proptest::prop_assert_eq!(preflight.status.as_u16(), 204);
        proptest::prop_assert_eq!(preflight.header("access-control-allow-origin"), "*");
    }
}
