//! A local HTTP server for hooks that keeps every call and returns configured responses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use foundation::secret::Secret;
use futures::future::BoxFuture;
use gotrue_rules::domain::policy::{Hook, HookTarget};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A server for hooks.
#[derive(Clone)]
pub struct HookServer(Arc<Inner>);

struct Inner {
    address: String,
    answers: Mutex<HashMap<String, Answerer>>,
    calls: Mutex<Vec<HookCall>>,
    count: watch::Sender<usize>,
}

type Answerer = Arc<dyn Fn(HookCall) -> BoxFuture<'static, Response> + Send + Sync>;

/// A received hook call.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// The path of the URL.
    pub path: String,
    pub headers: HeaderMap,
    /// The body as received.
    pub body: Bytes,
}

impl HookCall {
    /// The text of a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("hooks are sent JSON")
    }
}

impl HookServer {
    /// Starts a server that answers `{}` on every path.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let count = watch::Sender::new(0);
        let inner = Inner { address, answers: Mutex::default(), calls: Mutex::default(), count };
        let receiver = Self(Arc::new(inner));
        let router = axum::Router::new().fallback(handle_call).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    /// The base URL without a path.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// A hook with this path and these secrets.
    pub fn hook(&self, path: &str, secrets: &[&str]) -> Hook {
        let url = format!("{}{path}", self.0.address);
        let secrets = secrets.iter().copied().map(Secret::new).collect();
        Hook { uri: url.clone(), target: HookTarget::Http { url }, secrets }
    }

    /// Answers calls of that path with this JSON.
    pub fn answer(&self, path: &str, body: Value) {
        self.respond(path, move |_| json_response(200, &body));
    }

    /// Answers calls of that path with a function.
    pub fn respond(&self, path: &str, with: impl Fn(HookCall) -> Response + Send + Sync + 'static) {
        self.respond_after(path, move |call| {
            let response = with(call);
            Box::pin(async { response })
        });
    }

    /// Answers calls of that path with an asynchronous function.
    pub fn respond_after(
        &self,
        path: &str,
        with: impl Fn(HookCall) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) {
        lock(&self.0.answers).insert(path.to_owned(), Arc::new(with));
    }

    /// All calls so far, oldest first.
    pub fn calls(&self) -> Vec<HookCall> {
        lock(&self.0.calls).clone()
    }

    /// The calls to that path so far, as JSON.
    pub fn bodies(&self, path: &str) -> Vec<Value> {
        self.calls().iter().filter(|call| call.path == path).map(HookCall::json).collect()
    }

    /// Completes once the given number of calls was received.
    pub async fn wait_for_calls(&self, times: usize) {
        let mut count = self.0.count.subscribe();
        count.wait_for(|count| *count >= times).await.expect("the receiver lives as long as the test");
    }
}

/// A response with a JSON body.
pub fn json_response(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).expect("the test names a status");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn handle_call(State(receiver): State<HookServer>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let call = HookCall { path: uri.path().to_owned(), headers, body };
    let answerer = lock(&receiver.0.answers).get(&call.path).cloned();
    lock(&receiver.0.calls).push(call.clone());
    receiver.0.count.send_modify(|count| *count += 1);
    match answerer {
        Some(answerer) => answerer(call).await,
        None => json_response(200, &json!({})),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
