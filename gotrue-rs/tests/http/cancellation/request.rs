//! A request that can be sent several times.

use axum::body::Body;
use http::{Method, Request};
use serde_json::Value;

/// A request that can be sent several times.
#[derive(Clone, Debug)]
pub(super) struct TestRequest {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl TestRequest {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: String::new() }
    }

    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(super) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self { body: body.to_string(), ..Self::new(Method::POST, path) }
    }

    pub(super) fn put(path: impl Into<String>, body: &Value) -> Self {
        Self { body: body.to_string(), ..Self::new(Method::PUT, path) }
    }

    pub(super) fn patch(path: impl Into<String>, body: &Value) -> Self {
        Self { body: body.to_string(), ..Self::new(Method::PATCH, path) }
    }

    pub(super) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(super) fn form(path: impl Into<String>, form: String) -> Self {
        Self { body: form, ..Self::new(Method::POST, path) }.header("content-type", "application/x-www-form-urlencoded")
    }

    pub(super) fn with_body(self, body: &Value) -> Self {
        Self { body: body.to_string(), ..self }
    }

    pub(super) fn with_token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn request(&self) -> Request<Body> {
        let mut request = Request::builder().method(&self.method).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(Body::from(self.body.clone())).expect("the test's request is well-formed")
    }
}
