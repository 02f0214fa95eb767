//! Calls of the auth API in the process, in the name of the browser that opened a link.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use foundation::error::ErrorCode;
use foundation::language::Language;
use gotrue_rs::app::App;
use gotrue_rs::request_context::RequestContext;
use http::header::{
    ACCEPT, ACCEPT_LANGUAGE, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, REFERER, RETRY_AFTER,
    TRANSFER_ENCODING,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use http_edge::request::{BODY_DEADLINE, ResolvedRequest, bearer_value, read_body};
use platform::request_body::RequestBody;
use platform::request_info::RequestInfo;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt;

use super::texts::LinkTexts;

/// The largest form and the largest answer, in bytes.
const MAX_FORM: usize = 16 * 1024;
const MAX_ANSWER: usize = 256 * 1024;
/// How long to wait where the API does not say, in seconds.
pub(super) const DEFAULT_WAIT: u64 = 60;
const FORM_TYPE: &str = "application/x-www-form-urlencoded";
const REDIRECT_TO: HeaderName = HeaderName::from_static("redirect_to");

/// Headers of a request that do not belong to the calls in its name.
const LEFT_OUT: [HeaderName; 6] = [ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, TRANSFER_ENCODING];

/// The browser that opened a link.
pub(super) struct Sender {
    headers: HeaderMap,
    referer: String,
    resolved: Option<ResolvedRequest>,
    peer: Option<ConnectInfo<SocketAddr>>,
    /// The language of its pages.
    pub language: Language,
}

/// An answer of the auth API.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub body: Value,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
}

/// Returns `Retry-After`, in seconds.
pub(super) fn read_retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok())
}

impl Answer {
    /// Whether the answer is an error of this code.
    pub(super) fn is(&self, code: ErrorCode) -> bool {
        self.code() == code.as_str()
    }

    /// Returns the error code; empty without one.
    pub(super) fn code(&self) -> &str {
        ["error_code", "code"].iter().find_map(|name| self.body[*name].as_str()).unwrap_or_default()
    }

    /// Says that the API is busy or fails, with the status of a page.
    pub(super) fn describe_failure(&self, texts: &LinkTexts) -> (StatusCode, String) {
        if self.status != StatusCode::TOO_MANY_REQUESTS {
            return (StatusCode::SERVICE_UNAVAILABLE, texts.busy.to_owned());
        }
        let seconds = self.retry_after.unwrap_or(DEFAULT_WAIT);
        (self.status, texts.too_many.text.replace("{number}", &seconds.to_string()))
    }
}

impl Sender {
    /// Reads the sender of a request.
    pub(super) fn of(request: &Request) -> Self {
        let given = request.headers();
        let mut headers = given.clone();
        for name in LEFT_OUT {
            headers.remove(name);
        }
        let referer = given.get(REFERER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self {
            headers,
            referer: referer.to_owned(),
            resolved: request.extensions().get().cloned(),
            peer: request.extensions().get().copied(),
            language: find_language(given),
        }
    }

    /// Returns the header `redirect_to` and the referrer.
    pub(super) fn redirect_headers(&self) -> (&str, &str) {
        let header = self.headers.get(REDIRECT_TO).and_then(|value| value.to_str().ok()).unwrap_or_default();
        (header, &self.referer)
    }

    /// Returns the context of an operation beside the API, whose links lead to `redirect_to` if that is allowed.
    pub(super) fn to_context(&self, app: &watch::Receiver<Arc<App>>, redirect_to: &str) -> RequestContext {
        let client = self.resolved.as_ref().and_then(|resolved| resolved.client);
        let peer = self.peer.as_ref().map(|peer| peer.0.ip());
        let query = vec![("redirect_to".to_owned(), redirect_to.to_owned())];
        let request = RequestInfo { client, peer, query, headers: self.headers.clone(), ..RequestInfo::internal() };
        RequestContext::new(Arc::clone(&app.borrow()), request, RequestBody::empty())
    }

    /// Builds a request to the auth API.
    pub(super) fn build(&self, method: Method, target: &str, token: Option<&str>, body: Option<&Value>) -> Request {
        let mut request = Request::new(body.map_or_else(Body::empty, |body| Body::from(body.to_string())));
        *request.method_mut() = method;
        *request.uri_mut() = Uri::try_from(target).unwrap_or_default();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(value) = token.and_then(bearer_value) {
            headers.insert(AUTHORIZATION, value);
        }
        if let Some(resolved) = &self.resolved {
            request.extensions_mut().insert(resolved.clone());
        }
        if let Some(peer) = &self.peer {
            request.extensions_mut().insert(*peer);
        }
        request
    }

    /// Calls the auth API.
    pub(super) async fn call(
        &self,
        auth: &Router,
        method: Method,
        target: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let response = forward(auth, self.build(method, target, token, body)).await;
        let (head, body) = response.into_parts();
        let retry_after = read_retry_after(&head.headers);
        let body = Limited::new(body, MAX_ANSWER).collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Answer { status: head.status, body, retry_after }
    }
}

/// Passes a request on to the auth API.
pub(super) async fn forward(auth: &Router, request: Request) -> Response {
    match auth.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Reads a form; `None` for another content, one that is too large or not UTF-8.
pub(super) async fn read_form(request: Request) -> Option<String> {
    let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = media_type.split(';').next().unwrap_or_default().trim();
    if !name.eq_ignore_ascii_case(FORM_TYPE) {
        return None;
    }
    let body = read_body(request.into_body(), MAX_FORM, BODY_DEADLINE).await.ok()?;
    String::from_utf8(body.to_vec()).ok()
}

/// Returns the language of a request.
fn find_language(headers: &HeaderMap) -> Language {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.and_then(Language::negotiate).unwrap_or_default()
}
