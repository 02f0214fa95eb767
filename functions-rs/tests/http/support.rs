//! Requests to a router, and a clock that a test holds.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use functions_rs::{ApiKey, Credentials};
use futures::future::BoxFuture;
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::clock::Clock;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// A moment on which nothing depends.
pub fn noon() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().expect("a time")
}

/// A clock that stands still; sleeping on it never ends, or ends at once.
#[derive(Debug)]
pub struct StillClock {
    pub sleep_ends: bool,
}

impl Clock for StillClock {
    fn now(&self) -> DateTime<Utc> {
        noon()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        if self.sleep_ends { Box::pin(std::future::ready(())) } else { Box::pin(std::future::pending()) }
    }
}

/// The account behind the token `token-of-ada`.
pub const ADA: &str = "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001";

/// Knows the keys `sb_publishable_test` and `sb_secret_test` and the token `token-of-ada`.
pub fn credentials() -> Credentials {
    let key = |key: &str, is_secret| ApiKey { key: key.into(), is_secret };
    let keys = vec![key("sb_publishable_test", false), key("sb_secret_test", true)];
    let claims = json!({ "sub": ADA, "email": "ada@example.com", "role": "authenticated" });
    let check_token = move |token: &str, _| (token == "token-of-ada").then(|| claims.as_object().cloned()).flatten();
    Credentials::new(keys, Arc::new(check_token))
}

/// What a client sees of an answer.
#[derive(Debug)]
pub struct Seen {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// What the call did.
    pub journal: Arc<Journal>,
}

impl Seen {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a readable header"))
    }

    /// The members of an error's body, once it is found to have these two alone.
    pub fn error(&self) -> (u16, String, String) {
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.json();
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(2), "{body}");
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        assert_eq!(self.header("sb-error-code"), text("code"));
        (self.status.as_u16(), text("code"), text("message"))
    }
}

/// Sends a request.
pub async fn send(router: &Router, request: Request<Body>) -> Seen {
    let response: Response<Body> = router.clone().oneshot(request).await.expect("a router always answers");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let journal = head.extensions.get::<Arc<Journal>>().cloned().unwrap_or_default();
    Seen { status: head.status, headers: head.headers, body, journal }
}
