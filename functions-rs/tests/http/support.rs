//! Requests to a router, and a clock controlled by the test.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use functions_rs::CredentialVerifier;
use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use http_edge::request::{ApiKeyRing, ApiKeyRole};
use platform::clock::Clock;
use platform::journal::Journal;
use serde_json::{Value, json};
use tower::ServiceExt;

/// Returns a fixed time.
pub(crate) fn noon() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().expect("a time")
}

/// A clock that stands still; sleeping never ends, or ends at once.
#[derive(Debug)]
pub(crate) struct FixedClock {
    pub sleep_ends: bool,
}

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        noon()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        if self.sleep_ends { Box::pin(std::future::ready(())) } else { Box::pin(std::future::pending()) }
    }
}

/// The user of the token `token-of-ada`.
pub(crate) const ADA: &str = "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001";

/// Returns a verifier for tests.
/// It accepts the keys `sb_publishable_test` and `sb_secret_test` and the token `token-of-ada`.
pub(crate) fn credential_verifier() -> CredentialVerifier {
    let keys = ApiKeyRing::new([("sb_publishable_test", ApiKeyRole::Anon), ("sb_secret_test", ApiKeyRole::Service)]);
    let claims = json!({ "sub": ADA, "email": "ada@example.com", "role": "authenticated" });
    let check_token =
        move |token: &str, _| (token == "token-of-ada").then(|| claims.as_object().cloned()).flatten().map(Arc::new);
    CredentialVerifier::new(keys, Arc::new(check_token))
}

/// A response as the client receives it.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The steps of the call.
    pub journal: Arc<Journal>,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a readable header"))
    }

    /// Returns code and message of an error, after checking that the body has no other members.
    pub(crate) fn error(&self) -> (u16, String, String) {
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.json();
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(2), "{body}");
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        assert_eq!(self.header("sb-error-code"), text("code"));
        (self.status.as_u16(), text("code"), text("message"))
    }
}

/// Sends a request to a router.
pub(crate) async fn send(router: &Router, request: Request<Body>) -> TestResponse {
    let response: Response<Body> = router.clone().oneshot(request).await.expect("a router always answers");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let journal = head.extensions.get::<Arc<Journal>>().cloned().unwrap_or_default();
    TestResponse { status: head.status, headers: head.headers, body, journal }
}
