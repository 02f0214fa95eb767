//! The functions gateway, equivalent to that of Supabase's edge functions.
//! It handles CORS, routing by name, methods, authentication, limits of body size and time, panics, and errors as
//! `{"code":…,"message":…}`. It is independent of the individual functions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Either, select};
use http::{Method, StatusCode, request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use http_edge::request::{ClientAddress, REQUEST_ID, ResolvedRequest, TrustedProxies, cors};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::explanation::{Explanations, insert_link};
use platform::journal::{Journal, Step};
use telemetry::trace_context;
use telemetry::tracer::RequestTrace;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::caller::{AuthenticationError, Caller, User, Verifier};
use crate::function::{Answer, Function, FunctionError, Invocation};
use explain::CallSummary;
use paths::{MOUNT, ROUTE, split_path};

mod explain;
mod http_response;
mod paths;

/// The methods that edge functions accept; `HEAD` is not among them.
const METHODS: [Method; 6] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Maximum body size in bytes.
    /// Default 1 MiB.
    pub body: usize,
    /// Maximum time from the head of the request to the response.
    /// Default 10 s.
    pub time: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { body: 1024 * 1024, time: Duration::from_secs(10) }
    }
}

/// The registered functions and the dependencies of the gateway.
pub struct Functions {
    registry: BTreeMap<&'static str, RegisteredFunction>,
    verifier: Arc<dyn Verifier>,
    clock: SharedClock,
    entropy: Entropy,
    proxies: TrustedProxies,
    limits: CallLimits,
    explanations: Explanations,
    check_standing: Option<CheckStanding>,
}

/// Returns whether the user of a verified token, with the id of its session, may still act.
///
/// `None` if the database does not answer.
pub type CheckStanding = Arc<dyn Fn(User, Arc<Journal>) -> BoxFuture<'static, Option<bool>> + Send + Sync>;

struct RegisteredFunction {
    function: Box<dyn Function>,
    verify_jwt: bool,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions").field("names", &self.names().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Functions {
    /// Creates a gateway without functions and without trusted proxies.
    pub fn new(verifier: Arc<dyn Verifier>, clock: SharedClock, entropy: Entropy) -> Self {
        let (registry, proxies, limits, explanations) = Default::default();
        Self { registry, verifier, clock, entropy, proxies, limits, explanations, check_standing: None }
    }

    /// Refuses tokens of ended sessions and of deleted or banned users. Without it a token is valid until it expires.
    #[must_use]
    pub fn with_standing_check(mut self, check: CheckStanding) -> Self {
        self.check_standing = Some(check);
        self
    }

    /// Registers a function under its name.
    /// `verify_jwt` is that of `[functions.NAME]` in `config.toml`: whether a token or key is required.
    #[must_use]
    pub fn with_function(mut self, function: impl Function, verify_jwt: bool) -> Self {
        self.registry.insert(function.name(), RegisteredFunction { function: Box::new(function), verify_jwt });
        self
    }

    /// Trusts `X-Forwarded-For` of these proxies.
    #[must_use]
    pub fn with_trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Explains refused calls in this way.
    #[must_use]
    pub fn with_explanations(mut self, explanations: Explanations) -> Self {
        self.explanations = explanations;
        self
    }

    /// Sets the limits of every call.
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the names of the registered functions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.registry.keys().copied()
    }
}

/// Builds the router for `/functions/v1/{name}` and everything below it.
/// The client's address is taken from the request's extension [`ResolvedRequest`], else from axum's
/// `ConnectInfo<SocketAddr>`; an `Arc<Journal>` from its extensions. The response carries the journal that was used.
pub fn router(functions: Functions) -> Router {
    let answered = [MOUNT, "/functions/v1/", "/functions/v1/{*rest}"];
    let router = answered.into_iter().fold(Router::new(), |router, path| router.route(path, any(handle_request)));
    router.with_state(Arc::new(functions))
}

async fn handle_request(State(functions): State<Arc<Functions>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let explanations = &functions.explanations;
    let journal = head.extensions.remove::<Arc<Journal>>().unwrap_or_else(|| explanations.start_journal());
    if head.method == Method::OPTIONS {
        let response = cors::FUNCTIONS.preflight_response(&head.headers);
        return explain::explain_preflight(explanations, &head, functions.clock.now(), response);
    }
    let summary = CallSummary::new(&head, functions.clock.now());
    let (name, _) = split_path(head.uri.path());
    let called = functions.registry.get_key_value(name);
    let name = called.map_or("", |(name, _)| name);
    let request_trace = RequestTrace::start(&head.headers);
    let span = request_span(&head, called.map(|(name, _)| *name), &request_trace);
    let answering = async {
        let trace = CallTrace { journal: &journal, span: &span };
        let outcome = match called {
            None => Err(FunctionError::new(StatusCode::NOT_FOUND, "NOT_FOUND", "Requested function was not found")),
            Some((_, entry)) => functions.call(entry, head, body, trace).await,
        };
        record_outcome(&span, &outcome);
        let finished_at = functions.clock.now();
        let link = explain::explain_call(explanations, functions.names(), &summary, &journal, &outcome, finished_at);
        let mut response = http_response::build_response(name, outcome);
        insert_link(response.headers_mut(), link);
        response
    };
    let response = {
        let answering = pin!(answering.instrument(span.clone()));
        match request_trace.context {
            Some(context) => trace_context::run_in(Arc::new(context), answering).await,
            None => answering.await,
        }
    };
    let mut response = cors::FUNCTIONS.apply(response);
    response.extensions_mut().insert(journal);
    response
}

/// Creates the span of a call; the empty fields are recorded once they are known.
fn request_span(head: &request::Parts, function: Option<&'static str>, trace: &RequestTrace) -> Span {
    tracing::info_span!(
        "request",
        http.request.method = head.method.as_str(),
        http.route = function.map(|_| ROUTE),
        function,
        request.id = head.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()),
        user.id = Empty,
        http.response.status_code = Empty,
        error.code = Empty,
        trace_id = trace.trace_id(),
        span_id = trace.span_id(),
        parent_span_id = trace.parent_id,
    )
}

/// The journal and the span of a call.
#[derive(Clone, Copy)]
struct CallTrace<'a> {
    journal: &'a Arc<Journal>,
    span: &'a Span,
}

/// Records the outcome of a call in its span.
fn record_outcome(span: &Span, outcome: &Result<Answer, FunctionError>) {
    let status = match outcome {
        Ok(answer) => answer.status,
        Err(error) => {
            span.record("error.code", error.code);
            error.status
        }
    };
    span.record("http.response.status_code", status.as_u16());
}

impl Functions {
    /// Authenticates the call and runs the function within the time limit.
    async fn call(
        &self,
        entry: &RegisteredFunction,
        head: request::Parts,
        body: Body,
        trace: CallTrace<'_>,
    ) -> Result<Answer, FunctionError> {
        let CallTrace { journal, span } = trace;
        if !METHODS.contains(&head.method) {
            return Err(FunctionError::method_not_allowed("GET, POST, PUT, PATCH, DELETE, OPTIONS"));
        }
        let now = self.clock.now();
        let caller = self
            .verifier
            .verify(&head.headers, now)
            .and_then(|caller| entry.authorize(caller))
            .map_err(authentication_error)?;
        journal.record(Step::Guard("caller"));
        if let Caller::User(user) = &caller {
            journal.trace(|trace| trace.user_id = Some(user.id));
            span.record("user.id", tracing::field::display(user.id));
            self.require_good_standing(user, journal).await?;
        }
        let work = async {
            let body = self.read_body(body).await?;
            let invocation = self.build_invocation(head, body, caller, RequestRecord { now, journal });
            entry.function.call(&invocation).await
        };
        let guarded = AssertUnwindSafe(work).catch_unwind();
        match select(std::pin::pin!(guarded), self.clock.timeout(self.limits.time)).await {
            Either::Left((Ok(outcome), _)) => outcome,
            Either::Left((Err(panic), _)) => {
                Err(FunctionError::internal("running it", format!("panicked: {}", http_edge::panic_message(&*panic))))
            }
            Either::Right(_) => Err(FunctionError::new(
                StatusCode::GATEWAY_TIMEOUT,
                "IDLE_TIMEOUT",
                "The function did not answer in time. Try again in a moment",
            )),
        }
    }

    async fn require_good_standing(&self, user: &User, journal: &Arc<Journal>) -> Result<(), FunctionError> {
        let Some(check) = &self.check_standing else { return Ok(()) };
        match check(user.clone(), Arc::clone(journal)).await {
            Some(true) => Ok(()),
            Some(false) => Err(authentication_error(AuthenticationError::Session)),
            None => Err(FunctionError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "DATABASE_UNAVAILABLE",
                "The database does not answer. Try again in a moment",
            )),
        }
    }

    async fn read_body(&self, body: Body) -> Result<Bytes, FunctionError> {
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

    fn build_invocation(
        &self,
        head: request::Parts,
        body: Bytes,
        caller: Caller,
        RequestRecord { now, journal }: RequestRecord<'_>,
    ) -> Invocation {
        Invocation {
            client: self.client_address(&head),
            method: head.method,
            path: split_path(head.uri.path()).1.to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: head.headers,
            body,
            caller,
            now,
            entropy: self.entropy.fork(),
            journal: Arc::clone(journal),
        }
    }

    /// Returns the client address that a router resolved, else the one of the connection.
    fn client_address(&self, head: &request::Parts) -> ClientAddress {
        let resolved = head.extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        let connection = head.extensions.get::<ConnectInfo<SocketAddr>>();
        resolved
            .or_else(|| connection.map(|peer| self.proxies.find_client(peer.0.ip(), &head.headers)))
            .unwrap_or_else(ClientAddress::unknown)
    }
}

/// When a request arrived, and the journal of its steps.
struct RequestRecord<'a> {
    now: chrono::DateTime<chrono::Utc>,
    journal: &'a Arc<Journal>,
}

impl RegisteredFunction {
    fn authorize(&self, caller: Caller) -> Result<Caller, AuthenticationError> {
        if self.verify_jwt && caller == Caller::Unauthenticated {
            Err(AuthenticationError::Missing)
        } else {
            Ok(caller)
        }
    }
}

fn authentication_error(refused: AuthenticationError) -> FunctionError {
    FunctionError::new(refused.status(), refused.code(), refused.message())
}
