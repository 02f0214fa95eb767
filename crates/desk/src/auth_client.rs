//! Calls of the auth API in the process.
//!
//! The desk decides about no password, code or passkey itself: it sends the request that a browser would send, with the
//! address and the user agent of the browser, so that limits, hooks, audit entries and bans are those of the auth API.

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use http_edge::request::ResolvedRequest;
use platform::request_info::{KnownDevice, RequestInfo};
use serde_json::Value;
use std::net::SocketAddr;
use tower::ServiceExt;

use crate::http::error::DeskError;

/// The largest response, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;

/// Who sent the request that the desk answers.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    resolved: Option<ResolvedRequest>,
    peer: Option<ConnectInfo<SocketAddr>>,
    user_agent: Option<HeaderValue>,
    device: Option<KnownDevice>,
}

impl Sender {
    /// Reads the sender of a request.
    pub(crate) fn of(head: &Parts) -> Self {
        Self {
            resolved: head.extensions.get().cloned(),
            peer: head.extensions.get().copied(),
            user_agent: head.headers.get(USER_AGENT).cloned(),
            device: None,
        }
    }

    /// Returns this sender as a known device of the user whom calls are about.
    pub(crate) fn with_device(&self, device: Option<KnownDevice>) -> Self {
        Self { device, ..self.clone() }
    }

    /// Returns the sender in the form of the auth API.
    pub(crate) fn to_request_info(&self) -> RequestInfo {
        let client = self.resolved.as_ref().and_then(|resolved| resolved.client);
        RequestInfo { client, peer: self.peer.as_ref().map(|peer| peer.0.ip()), ..RequestInfo::internal() }
    }

    /// Returns the client's address, if it is known.
    pub(crate) fn address(&self) -> Option<String> {
        Some(self.resolved.as_ref()?.client?.address().to_string())
    }
}

/// A call of the auth API.
#[derive(Debug)]
pub(crate) struct AuthCall<'a> {
    pub method: Method,
    /// The path from the root of the auth API, with a query.
    pub path: &'a str,
    /// The access token, if the call needs one.
    pub token: Option<&'a str>,
    /// The body, if there is one.
    pub body: Option<Value>,
}

/// An answer of the auth API.
#[derive(Debug)]
pub(crate) struct AuthAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, `null` if it is empty.
    pub body: Value,
}

impl AuthAnswer {
    /// Returns the error code of a refusal.
    pub(crate) fn error_code(&self) -> &str {
        self.body["error_code"].as_str().unwrap_or_default()
    }

    /// Returns the text of a refusal.
    pub(crate) fn message(&self) -> &str {
        self.body["msg"].as_str().unwrap_or_default()
    }

    /// Returns the seconds of `Retry-After`.
    fn retry_after(&self) -> Option<u64> {
        self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
    }

    /// Passes on that there were too many requests, or that the auth API is unavailable.
    ///
    /// # Errors
    /// 429, 503 or 500.
    pub(crate) fn require_available(self) -> Result<Self, DeskError> {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => {
                let seconds = self.retry_after().unwrap_or(60);
                Err(DeskError::too_many("There were too many attempts.", seconds)
                    .hint(format!("Try again in {seconds} seconds.")))
            }
            status if status.is_server_error() => {
                // The auth API has logged the failure with its cause.
                tracing::debug!(status = status.as_u16(), code = self.error_code(), "the auth API failed for the desk");
                let seconds = self.retry_after().unwrap_or(1);
                Err(DeskError::unavailable("Sign-in is unavailable at the moment.").retry_after(seconds))
            }
            _ => Ok(self),
        }
    }
}

/// The auth API with the policy of the desk.
#[derive(Debug, Clone)]
pub(crate) struct AuthClient(Router);

impl AuthClient {
    /// Calls this router.
    pub(crate) fn new(router: Router) -> Self {
        Self(router)
    }

    /// Sends a call in the name of the sender.
    ///
    /// # Errors
    /// 429 and 503 as the auth API has them; other refusals are answers.
    pub(crate) async fn call(&self, sender: &Sender, call: AuthCall<'_>) -> Result<AuthAnswer, DeskError> {
        let AuthCall { method, path, token, body } = call;
        let mut request = Request::new(body.map(|body| Body::from(body.to_string())).unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|_| DeskError::internal())?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(agent) = &sender.user_agent {
            headers.insert(USER_AGENT, agent.clone());
        }
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| DeskError::internal())?;
            headers.insert(AUTHORIZATION, value);
        }
        if let Some(resolved) = &sender.resolved {
            request.extensions_mut().insert(resolved.clone());
        }
        if let Some(device) = &sender.device {
            request.extensions_mut().insert(device.clone());
        }
        if let Some(peer) = &sender.peer {
            request.extensions_mut().insert(*peer);
        }
        let Ok(response) = self.0.clone().oneshot(request).await;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE).collect().await.map_err(|_| DeskError::internal())?.to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        AuthAnswer { status: head.status, headers: head.headers, body }.require_available()
    }
}
