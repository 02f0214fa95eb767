//! Where a test's hooks are called: a server on this machine that keeps every call and answers as it is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures::future::BoxFuture;
use gotrue_rules::domain::policy::{Hook, HookTarget};
use gotrue_rules::domain::secret::Secret;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A server for hooks.
#[derive(Clone)]
pub struct Receiver(Arc<Inner>);

struct Inner {
    address: String,
    answers: Mutex<HashMap<String, Answerer>>,
    calls: Mutex<Vec<Call>>,
    count: watch::Sender<usize>,
}

type Answerer = Arc<dyn Fn(Call) -> BoxFuture<'static, Response> + Send + Sync>;

/// A call that came.
#[derive(Debug, Clone)]
pub struct Call {
    /// The path of the address.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
}

impl Call {
    /// A header's text, empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("hooks are sent JSON")
    }
}

impl Receiver {
    /// Answers `{}` to everything until it is told otherwise.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let count = watch::Sender::new(0);
        let inner = Inner { address, answers: Mutex::default(), calls: Mutex::default(), count };
        let receiver = Self(Arc::new(inner));
        let router = axum::Router::new().fallback(receive).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    /// Its address, without a path.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// A hook that is called here, signed with these secrets.
    pub fn hook(&self, path: &str, secrets: &[&str]) -> Hook {
        let url = format!("{}{path}", self.0.address);
        let secrets = secrets.iter().copied().map(Secret::new).collect();
        Hook { uri: url.clone(), target: HookTarget::Http { url }, secrets }
    }

    /// From now on calls to that path are answered with this JSON.
    pub fn answer(&self, path: &str, body: Value) {
        self.respond(path, move |_| said(200, &body));
    }

    /// From now on calls to that path are answered like this.
    pub fn respond(&self, path: &str, with: impl Fn(Call) -> Response + Send + Sync + 'static) {
        self.respond_after(path, move |call| {
            let response = with(call);
            Box::pin(async { response })
        });
    }

    /// The same, once the future completes.
    pub fn respond_after(
        &self,
        path: &str,
        with: impl Fn(Call) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) {
        locked(&self.0.answers).insert(path.to_owned(), Arc::new(with));
    }

    /// All calls so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        locked(&self.0.calls).clone()
    }

    /// The calls to that path so far, as JSON.
    pub fn bodies(&self, path: &str) -> Vec<Value> {
        self.calls().iter().filter(|call| call.path == path).map(Call::json).collect()
    }

    /// Completes when so many calls have come.
    pub async fn called(&self, times: usize) {
        let mut count = self.0.count.subscribe();
        count.wait_for(|count| *count >= times).await.expect("the receiver lives as long as the test");
    }
}

/// An answer with JSON.
pub fn said(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).expect("the test names a status");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn receive(State(receiver): State<Receiver>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let call = Call { path: uri.path().to_owned(), headers, body };
    let answerer = locked(&receiver.0.answers).get(&call.path).cloned();
    locked(&receiver.0.calls).push(call.clone());
    receiver.0.count.send_modify(|count| *count += 1);
    match answerer {
        Some(answerer) => answerer(call).await,
        None => said(200, &json!({})),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
