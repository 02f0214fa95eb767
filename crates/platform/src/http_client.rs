//! Outgoing HTTP: clients for configured URLs, with and without redirects, and one for untrusted URLs.
//!
//! Untrusted URLs must be public, even after a redirect. Size and duration of every response are bounded.

pub mod faults;
pub mod guard;
mod proxy;
mod roots;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Request, Url};
use telemetry::catalog::{OUTBOUND_DURATION, OUTBOUND_REQUESTS};
use telemetry::metrics::OTHER;
use telemetry::{trace_context, tracer};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use self::faults::{OutboundEffect, OutboundFault, OutboundFaultInjector};
pub use self::roots::TrustedRoots;
use crate::clock::{Clock, SystemClock};

/// Proxies and trusted roots of outgoing requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundOptions {
    /// The proxy for `https` URLs; `None` for a direct connection.
    pub https_proxy: Option<Secret>,
    /// The proxy for `http` URLs; `None` for a direct connection.
    pub http_proxy: Option<Secret>,
    /// Hosts reached without a proxy, comma-separated.
    ///
    /// Names (with their subdomains), addresses, networks, or `*`.
    pub no_proxy: String,
    /// Trusted roots that replace the system's.
    pub trusted_roots: Option<TrustedRoots>,
}

/// The origin of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlTrust {
    /// Configured by the operator: any host is allowed.
    Operator,
    /// From a request, a token or a stored provider: only public hosts are allowed.
    Untrusted,
}

/// The limits of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseLimits {
    /// The maximum number of body bytes; the rest is not read.
    pub bytes: usize,
    /// The maximum time from the first connection attempt to the last byte.
    pub time: Duration,
}

/// A response with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, truncated at the limit.
    pub body: Vec<u8>,
    /// Whether the body was truncated.
    pub is_truncated: bool,
}

/// Why there is no response. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The URL is not allowed.
    #[error(transparent)]
    Forbidden(#[from] guard::ForbiddenUrl),
    /// The client could not be built, with what to do.
    #[error("outgoing requests are not possible: {0}")]
    Client(String),
    /// No response, or not in time.
    #[error("no answer: {0}")]
    Transport(#[from] reqwest::Error),
    /// A test environment refuses the connection.
    #[error("no answer: the connection was refused by an injected fault")]
    InjectedRefusal,
    /// A test environment gives no response in time.
    #[error("no answer: an injected fault exceeded the time limit")]
    InjectedTimeout,
}

impl HttpError {
    /// Whether the response did not arrive in time.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Transport(cause) => cause.is_timeout(),
            Self::InjectedTimeout => true,
            Self::Forbidden(_) | Self::Client(_) | Self::InjectedRefusal => false,
        }
    }
}

/// All clients; clones share them.
///
/// They are built on first use, because loading the system's roots would delay the start.
#[derive(Debug, Clone)]
pub struct HttpClient {
    clients: Arc<LazyClients>,
    faults: Option<Arc<dyn OutboundFaultInjector>>,
}

/// A client that is built on first use, or why it cannot be built.
type LazyClient = OnceLock<Result<Client, String>>;

#[derive(Debug)]
struct LazyClients {
    outbound: OutboundOptions,
    trusted: LazyClient,
    without_redirects: LazyClient,
    untrusted: LazyClient,
}

impl HttpClient {
    /// Creates the clients' configuration. Nothing is read or connected yet.
    pub fn new(outbound: OutboundOptions) -> Self {
        let [trusted, without_redirects, untrusted] = [const { OnceLock::new() }; 3];
        let clients = LazyClients { outbound, trusted, without_redirects, untrusted };
        Self { clients: Arc::new(clients), faults: None }
    }

    /// Whether the clients are configured by these options.
    pub fn has_options(&self, outbound: &OutboundOptions) -> bool {
        self.clients.outbound == *outbound
    }

    /// Injects faults into calls; for test environments.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn OutboundFaultInjector>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    /// Returns the fault of a call to this service that is made in another way.
    ///
    /// An example is a database function.
    pub fn find_fault(&self, service: &str) -> Option<OutboundFault> {
        self.faults.as_ref().and_then(|faults| faults.fault_of(service))
    }

    /// Returns the client for configured URLs: hooks, templates, providers, captcha services.
    pub fn get_trusted_client(&self) -> Result<&Client, HttpError> {
        self.get_or_build(&self.clients.trusted, |builder| builder)
    }

    /// Sends a request to a configured URL. `service` names the called service in traces.
    pub async fn send_trusted(
        &self,
        service: &str,
        request: Request,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        self.execute(self.get_trusted_client()?, service, request, limits).await
    }

    /// Returns the client for configured URLs whose redirects are responses like any other.
    ///
    /// It is for requests that only the configured host may get: a redirect would send them, or an empty GET, elsewhere.
    pub fn get_client_without_redirects(&self) -> Result<&Client, HttpError> {
        self.get_or_build(&self.clients.without_redirects, |builder| builder.redirect(Policy::none()))
    }

    /// Sends a request to a configured URL and follows no redirect.
    pub async fn send_without_redirects(
        &self,
        service: &str,
        request: Request,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        self.execute(self.get_client_without_redirects()?, service, request, limits).await
    }

    /// Sends a request with the client that the URL's origin requires.
    pub async fn send(
        &self,
        trust: UrlTrust,
        service: &str,
        request: Request,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        match trust {
            UrlTrust::Operator => self.send_trusted(service, request, limits).await,
            UrlTrust::Untrusted => self.send_untrusted(service, request, limits).await,
        }
    }

    /// Sends a GET to a configured URL.
    pub async fn get_trusted(
        &self,
        service: &str,
        url: &str,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        let client = self.get_trusted_client()?;
        self.execute(client, service, client.get(url).build()?, limits).await
    }

    /// Sends a request to an untrusted URL: only public hosts, http or https, at most three redirects.
    ///
    /// The host is resolved once and the checked address is the one connected to; behind a proxy, the proxy resolves.
    pub async fn send_untrusted(
        &self,
        service: &str,
        request: Request,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        guard::check_url(request.url())?;
        let client = self.get_or_build(&self.clients.untrusted, |builder| {
            builder.dns_resolver(Arc::new(guard::PublicResolver)).redirect(guard::redirect_policy())
        })?;
        self.execute(client, service, request, limits).await
    }

    /// Whether a request to this URL uses a proxy, which resolves its name.
    pub fn uses_proxy(&self, url: &Url) -> Result<bool, HttpError> {
        Ok(self.parse_proxy_rules().map_err(HttpError::Client)?.find_proxy(url).is_some())
    }

    /// Sends a request in a span, which holds neither path nor query, headers or body.
    async fn execute(
        &self,
        client: &Client,
        service: &str,
        mut request: Request,
        limits: ResponseLimits,
    ) -> Result<HttpResponse, HttpError> {
        let started = Instant::now();
        if let Some(fault) = self.find_fault(service)
            && let Some(outcome) = apply_fault(fault, limits).await
        {
            count_call(service, outcome.as_ref().ok(), started.elapsed());
            return outcome;
        }
        let call = trace_context::current().map(|trace| (tracer::new_span_id(), trace));
        if let Some((id, trace)) = &call {
            trace.with_span(id.unwrap_or(trace.span_id)).insert_headers(request.headers_mut());
        }
        let span = tracing::info_span!(
            "outbound_call",
            peer.service = service,
            http.request.method = request.method().as_str(),
            server.address = request.url().host_str(),
            server.port = request.url().port_or_known_default(),
            http.response.status_code = Empty,
            error.type = Empty,
            span_id = call.and_then(|(id, _)| id),
        );
        let outcome = exchange(client, request, limits).instrument(span.clone()).await;
        record_outcome(&span, outcome.as_ref());
        count_call(service, outcome.as_ref().ok(), started.elapsed());
        Ok(outcome?)
    }

    fn parse_proxy_rules(&self) -> Result<proxy::ProxyRules, String> {
        let OutboundOptions { https_proxy, http_proxy, no_proxy, .. } = &self.clients.outbound;
        proxy::ProxyRules::parse(https_proxy.as_ref(), http_proxy.as_ref(), no_proxy)
    }

    /// Returns a client; its first use builds it.
    fn get_or_build<'a>(
        &self,
        client: &'a LazyClient,
        finish: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<&'a Client, HttpError> {
        let built = client.get_or_init(|| self.build_client(finish));
        built.as_ref().map_err(|reason| HttpError::Client(reason.clone()))
    }

    fn build_client(&self, finish: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
        let rules = self.parse_proxy_rules()?;
        let builder = || {
            let rules = rules.clone();
            let builder = Client::builder().no_proxy().connect_timeout(Duration::from_secs(10));
            finish(builder.proxy(reqwest::Proxy::custom(move |url| rules.find_proxy(url).cloned())))
        };
        if let Some(roots) = &self.clients.outbound.trusted_roots {
            let unreadable = |error: &dyn std::fmt::Display| format!("the trusted roots cannot be read: {error}");
            let pem = roots.read().map_err(|error| unreadable(&error))?;
            let roots = Certificate::from_pem_bundle(&pem).map_err(|error| unreadable(&error))?;
            return builder().tls_certs_only(roots).build().map_err(|error| error.to_string());
        }
        builder().build().or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "no trusted roots on this system, https requests will fail (install ca-certificates)");
            builder().tls_certs_only([]).build().map_err(|error| error.to_string())
        })
    }
}

/// Applies an injected fault; `None` if the call is made.
async fn apply_fault(fault: OutboundFault, limits: ResponseLimits) -> Option<Result<HttpResponse, HttpError>> {
    // A stopped clock of the application does not stop the call.
    SystemClock.sleep(fault.delay).await;
    match fault.effect {
        OutboundEffect::Continue => None,
        OutboundEffect::Refuse => Some(Err(HttpError::InjectedRefusal)),
        OutboundEffect::TimeOut => {
            SystemClock.sleep(limits.time).await;
            Some(Err(HttpError::InjectedTimeout))
        }
        OutboundEffect::Respond { status, headers, mut body } => {
            let is_truncated = body.len() > limits.bytes;
            body.truncate(limits.bytes);
            Some(Ok(HttpResponse { status, headers, body, is_truncated }))
        }
    }
}

/// Counts a call by the class of its status; without a response it has failed.
fn count_call(service: &str, response: Option<&HttpResponse>, duration: Duration) {
    // Providers that administrators store have any name.
    let service = if service.starts_with("custom:") { "custom" } else { service };
    let outcome = match response.map(|response| response.status) {
        None => "failed",
        Some(200..=299) => "2xx",
        Some(300..=399) => "3xx",
        Some(400..=499) => "4xx",
        Some(500..=599) => "5xx",
        Some(_) => OTHER,
    };
    OUTBOUND_REQUESTS.increment(&[service, outcome]);
    OUTBOUND_DURATION.record(&[service], duration);
}

fn record_outcome(span: &Span, outcome: Result<&HttpResponse, &reqwest::Error>) {
    match outcome {
        Ok(answer) => span.record("http.response.status_code", answer.status),
        Err(error) if error.is_timeout() => span.record("error.type", "timeout"),
        Err(error) if error.is_connect() => span.record("error.type", "connect"),
        Err(error) if error.is_redirect() => span.record("error.type", "redirect"),
        Err(error) if error.is_body() || error.is_decode() => span.record("error.type", "body"),
        Err(_) => span.record("error.type", "request"),
    };
}

async fn exchange(client: &Client, mut request: Request, limits: ResponseLimits) -> reqwest::Result<HttpResponse> {
    *request.timeout_mut() = Some(limits.time);
    let mut response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut answer = HttpResponse { status, headers, body: Vec::new(), is_truncated: false };
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        let room = limits.bytes - answer.body.len();
        answer.is_truncated = chunk.len() > room;
        answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if answer.is_truncated {
            break;
        }
    }
    Ok(answer)
}
