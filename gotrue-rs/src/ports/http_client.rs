//! Outgoing HTTP. Two doors: addresses the operator wrote down, and addresses that came from somebody else, which must
//! be public ones, also after a redirect. Size and time of every answer are bounded.

pub mod guard;
mod proxy;

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gotrue_rules::domain::secret::Secret;
use reqwest::header::HeaderMap;
use reqwest::{Certificate, Client, ClientBuilder, Method, Request, Url};

/// How outgoing requests leave this machine.
#[derive(Debug, Clone, Default)]
pub struct Outbound {
    /// Proxy for `https` addresses; absent: none.
    pub https_proxy: Option<Secret>,
    /// Proxy for `http` addresses; absent: none.
    pub http_proxy: Option<Secret>,
    /// Hosts reached without a proxy, between commas: names with their sub-domains, addresses, networks, `*`.
    pub no_proxy: String,
    /// Trusted roots as PEM in the place of the system's; absent: those.
    pub trusted_roots: Option<Vec<u8>>,
}

/// Who chose an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The operator wrote it down: it may be anywhere.
    Operator,
    /// Somebody else did, or a token or a stored provider names it: it must be public.
    Stranger,
}

/// What one answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the body; the rest is not read.
    pub bytes: usize,
    /// Longest time from the first try to connect to the last byte.
    pub time: Duration,
}

/// An answer, its body read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, cut off at the limit.
    pub body: Vec<u8>,
    /// Whether it was cut off.
    pub truncated: bool,
}

/// Why there is no answer. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// An address that must not be called.
    #[error(transparent)]
    Forbidden(#[from] guard::Forbidden),
    /// The client could not be built, with what to do.
    #[error("outgoing requests are not possible: {0}")]
    Client(String),
    /// Nobody answered, or not in time.
    #[error("no answer: {0}")]
    Transport(#[from] reqwest::Error),
}

/// Both doors. Clients are built when first used, because reading the system's roots takes time that a start lacks.
#[derive(Debug)]
pub struct HttpClient {
    outbound: Outbound,
    open: OnceLock<Result<Client, String>>,
    guarded: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// Nothing is read or connected yet.
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound, open: OnceLock::new(), guarded: OnceLock::new() }
    }

    /// The client for addresses the operator wrote down: hooks, templates, providers, captcha services.
    pub fn operators(&self) -> Result<&Client, HttpError> {
        let built = self.open.get_or_init(|| self.build(|builder| builder));
        built.as_ref().map_err(|reason| HttpError::Client(reason.clone()))
    }

    /// Sends a request to an address the operator wrote down.
    pub async fn call(&self, request: Request, limits: Limits) -> Result<Answer, HttpError> {
        run(self.operators()?, request, limits).await
    }

    /// Sends a request through the door that the trust in its address opens.
    pub async fn send(&self, trust: Trust, request: Request, limits: Limits) -> Result<Answer, HttpError> {
        match trust {
            Trust::Operator => self.call(request, limits).await,
            Trust::Stranger => self.call_stranger(request, limits).await,
        }
    }

    /// GET of an address the operator wrote down.
    pub async fn get(&self, url: &str, limits: Limits) -> Result<Answer, HttpError> {
        let client = self.operators()?;
        run(client, client.get(url).build()?, limits).await
    }

    /// GET of an address that somebody else chose: only public hosts, by http or https, at most three redirects. The
    /// host is resolved once and what was checked is what is connected to; behind a proxy the proxy resolves.
    pub async fn get_from_stranger(&self, url: &Url, limits: Limits) -> Result<Answer, HttpError> {
        self.call_stranger(Request::new(Method::GET, url.clone()), limits).await
    }

    /// Sends a request to an address that somebody else chose, with the same precautions.
    pub async fn call_stranger(&self, request: Request, limits: Limits) -> Result<Answer, HttpError> {
        guard::check(request.url())?;
        let build =
            || self.build(|builder| builder.dns_resolver(Arc::new(guard::PublicOnly)).redirect(guard::redirects()));
        let client = self.guarded.get_or_init(build).as_ref().map_err(|reason| HttpError::Client(reason.clone()))?;
        run(client, request, limits).await
    }

    /// Whether a request to this address goes by a proxy, which resolves its name.
    pub fn takes_proxy(&self, url: &Url) -> Result<bool, HttpError> {
        Ok(self.rules().map_err(HttpError::Client)?.proxy_of(url).is_some())
    }

    fn rules(&self) -> Result<proxy::Rules, String> {
        let Outbound { https_proxy, http_proxy, no_proxy, .. } = &self.outbound;
        proxy::Rules::read(https_proxy.as_ref(), http_proxy.as_ref(), no_proxy)
    }

    fn build(&self, finish: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
        let rules = self.rules()?;
        let builder = || {
            let rules = rules.clone();
            let builder = Client::builder().no_proxy().connect_timeout(Duration::from_secs(10));
            finish(builder.proxy(reqwest::Proxy::custom(move |url| rules.proxy_of(url).cloned())))
        };
        if let Some(pem) = &self.outbound.trusted_roots {
            let roots = Certificate::from_pem_bundle(pem)
                .map_err(|error| format!("the trusted roots cannot be read: {error}"))?;
            return builder().tls_certs_only(roots).build().map_err(|error| error.to_string());
        }
        builder().build().or_else(|error| {
            tracing::warn!(%error, "the system has no trusted roots (package ca-certificates): no https address can be called");
            builder().tls_certs_only([]).build().map_err(|error| error.to_string())
        })
    }
}

/// The roots in a PEM file and in the files of folders between colons; absent when neither is named.
pub fn read_roots(file: Option<&Path>, folders: Option<&str>) -> io::Result<Option<Vec<u8>>> {
    if file.is_none() && folders.is_none() {
        return Ok(None);
    }
    let mut all = file.map(std::fs::read).transpose()?.unwrap_or_default();
    for folder in folders.unwrap_or_default().split(':').filter(|folder| !folder.is_empty()) {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                all.push(b'\n');
                all.extend(std::fs::read(path)?);
            }
        }
    }
    Ok(Some(all))
}

async fn run(client: &Client, mut request: Request, limits: Limits) -> Result<Answer, HttpError> {
    *request.timeout_mut() = Some(limits.time);
    let mut response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut answer = Answer { status, headers, body: Vec::new(), truncated: false };
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        let room = limits.bytes - answer.body.len();
        answer.truncated = chunk.len() > room;
        answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if answer.truncated {
            break;
        }
    }
    Ok(answer)
}
