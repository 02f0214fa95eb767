//! What stands before every function, as in front of Supabase's edge functions: CORS on every answer, names, methods, keys and
//! tokens, the limits of body and time, panics, and errors as `{"code":…,"message":…}`. It knows no function.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rs::journal::{Journal, Step};
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use http::{Method, StatusCode, request};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::caller::{Caller, Refused, Verifier};
use crate::function::{Answer, Function, FunctionError, Invocation};
use crate::peer::{Peer, TrustedProxies};

mod cors;
mod reply;

/// The methods that edge functions take; `HEAD` is not among them.
const METHODS: [Method; 6] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// What one call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body in bytes. Default 1 MiB.
    pub body: usize,
    /// The longest time from the head of the request to the answer. Default 10 s.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 1024 * 1024, time: Duration::from_secs(10) }
    }
}

/// The functions that can be called, and what the gateway needs to let a call through.
pub struct Functions {
    registry: BTreeMap<&'static str, Entry>,
    verifier: Arc<dyn Verifier>,
    clock: SharedClock,
    entropy: Entropy,
    proxies: TrustedProxies,
    limits: Limits,
}

struct Entry {
    function: Box<dyn Function>,
    verify_jwt: bool,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions").field("names", &self.names().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Functions {
    /// A gateway to no function yet, that trusts no proxy.
    pub fn new(verifier: Arc<dyn Verifier>, clock: SharedClock, entropy: Entropy) -> Self {
        let (registry, proxies, limits) = Default::default();
        Self { registry, verifier, clock, entropy, proxies, limits }
    }

    /// Adds a function under its name; `verify_jwt` as `[functions.NAME]` of `config.toml` has it: only callers with a token
    /// or key.
    #[must_use]
    pub fn with(mut self, function: impl Function, verify_jwt: bool) -> Self {
        self.registry.insert(function.name(), Entry { function: Box::new(function), verify_jwt });
        self
    }

    /// Believes `X-Forwarded-For` of these proxies.
    #[must_use]
    pub fn trusting(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Gives every call these limits.
    #[must_use]
    pub fn limited(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The names that can be called.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.registry.keys().copied()
    }
}

/// Where the functions are.
const MOUNT: &str = "/functions/v1";

/// Answers `/functions/v1/{name}` and everything below it; to be merged into the server's router. The connection's address is
/// taken from axum's `ConnectInfo<SocketAddr>`, an `Arc<Journal>` from the request's extensions; the answer carries the journal
/// that was used.
pub fn router(functions: Functions) -> Router {
    let answered = [MOUNT, "/functions/v1/", "/functions/v1/{*rest}"];
    let router = answered.into_iter().fold(Router::new(), |router, path| router.route(path, any(answer)));
    router.with_state(Arc::new(functions))
}

async fn answer(State(functions): State<Arc<Functions>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let journal = head.extensions.remove::<Arc<Journal>>().unwrap_or_default();
    if head.method == Method::OPTIONS {
        return cors::preflight(&head.headers);
    }
    let (name, _) = split(head.uri.path());
    let called = functions.registry.get_key_value(name);
    let outcome = match called {
        None => Err(FunctionError::new(StatusCode::NOT_FOUND, "NOT_FOUND", "Requested function was not found")),
        Some((_, entry)) => functions.call(entry, head, body, &journal).await,
    };
    let name = called.map_or("", |(name, _)| name);
    let mut response = reply::response(name, outcome);
    cors::allow(response.headers_mut());
    response.extensions_mut().insert(journal);
    response
}

/// The function's name and what follows it. Nothing is decoded: names need no escaping.
fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix(MOUNT).and_then(|path| path.strip_prefix('/')).unwrap_or_default();
    path.split_at(path.find('/').unwrap_or(path.len()))
}

impl Functions {
    /// Lets the call through to its function, for as long as it may take.
    async fn call(
        &self,
        entry: &Entry,
        head: request::Parts,
        body: Body,
        journal: &Arc<Journal>,
    ) -> Result<Answer, FunctionError> {
        if !METHODS.contains(&head.method) {
            return Err(FunctionError::method_not_allowed("GET, POST, PUT, PATCH, DELETE, OPTIONS"));
        }
        let now = self.clock.now();
        let caller =
            self.verifier.verify(&head.headers, now).and_then(|caller| entry.admit(caller)).map_err(refused)?;
        journal.note(Step::Guard("caller"));
        let work = async {
            let body = self.read(body).await?;
            let invocation = self.invocation(head, body, caller, (now, journal));
            entry.function.call(&invocation).await
        };
        let guarded = AssertUnwindSafe(work).catch_unwind();
        match select(std::pin::pin!(guarded), self.clock.sleep(self.limits.time)).await {
            Either::Left((Ok(outcome), _)) => outcome,
            Either::Left((Err(panic), _)) => Err(FunctionError::failed("running it", said(&*panic))),
            Either::Right(_) => Err(FunctionError::new(
                StatusCode::GATEWAY_TIMEOUT,
                "IDLE_TIMEOUT",
                "The function did not answer in time. Try again in a moment",
            )),
        }
    }

    async fn read(&self, body: Body) -> Result<Bytes, FunctionError> {
        match Limited::new(body, self.limits.body).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(FunctionError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "PAYLOAD_TOO_LARGE",
                format!("The body is too large: at most {} bytes are read", self.limits.body),
            )),
            Err(_) => Err(FunctionError::bad_request("INCOMPLETE_BODY", "The body did not arrive whole")),
        }
    }

    fn invocation(
        &self,
        head: request::Parts,
        body: Bytes,
        caller: Caller,
        (now, journal): (chrono::DateTime<chrono::Utc>, &Arc<Journal>),
    ) -> Invocation {
        let connection = head.extensions.get::<ConnectInfo<SocketAddr>>();
        let address = |ConnectInfo(address): &ConnectInfo<SocketAddr>| self.proxies.peer(address.ip(), &head.headers);
        Invocation {
            peer: connection.map_or_else(Peer::unknown, address),
            method: head.method,
            path: split(head.uri.path()).1.to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: head.headers,
            body,
            caller,
            now,
            entropy: self.entropy.fork(),
            journal: Arc::clone(journal),
        }
    }
}

impl Entry {
    fn admit(&self, caller: Caller) -> Result<Caller, Refused> {
        if self.verify_jwt && caller == Caller::Nobody { Err(Refused::Missing) } else { Ok(caller) }
    }
}

fn refused(refused: Refused) -> FunctionError {
    FunctionError::new(StatusCode::UNAUTHORIZED, refused.code(), refused.message())
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a text"))
}
