//! OpenID Connect issuers: discovery, key sets and verification of ID tokens.
//!
//! Documents and keys are cached; [`cache`] limits the rate of fetches that callers can trigger.

mod cache;
mod discovery;
mod error;
mod issuer;
mod sources;

use std::sync::Arc;
use std::time::Duration;

use gotrue_rules::domain::external::id_token::{
    ExternalIdToken, IdTokenError, IdTokenExpectations, is_access_token_hash,
};
use gotrue_rules::domain::external::issuers;
use gotrue_rules::domain::external::jws::CompactJws;
use gotrue_rules::domain::external::keys::{KeySet, SignatureOutcome};
use gotrue_rules::domain::policy::ExternalPolicy;
use platform::clock::SharedClock;
use platform::http_client::{HttpClient, HttpResponse, ResponseLimits, UrlTrust};
use reqwest::{Method, Request, Url};

pub use discovery::Discovery;
pub use error::OidcError;
pub use issuer::IssuerSource;

use cache::CachedValue;
use error::MAX_BYTES;
use sources::{IssuerCache, IssuerCaches};

/// The limits of a document or key set.
const LIMITS: ResponseLimits = ResponseLimits { bytes: MAX_BYTES, time: Duration::from_secs(10) };
/// The maximum number of quoted bytes of an unexpected response.
const LONGEST_QUOTE: usize = 1000;

/// The checks of a token besides signature, times and issuer.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenChecks<'a> {
    /// The client ids, one of which must be in the audience.
    ///
    /// `None` if the caller checks it ([`has_audience`](gotrue_rules::domain::external::id_token::ExternalIdToken::has_audience)).
    pub clients: Option<&'a [String]>,
    /// The access token issued with it, compared to `at_hash` if the token has one. `None` skips the check.
    pub access_token: Option<&'a str>,
}

/// Issuers with their cached documents and keys.
#[derive(Debug)]
pub struct Oidc {
    http: Arc<HttpClient>,
    clock: SharedClock,
    /// The cache lifetime of documents and keys.
    cache_ttl: Duration,
    is_strict: bool,
    /// The operator's own Azure tenant, whose e-mail claims are trusted.
    own_tenant: Option<String>,
    sources: IssuerCaches,
}

impl Oidc {
    /// Creates a client for the policy without sending a request.
    pub fn new(policy: &ExternalPolicy, http: &Arc<HttpClient>, clock: &SharedClock) -> Self {
        let azure = policy.provider("azure").map(|azure| azure.url.as_str()).unwrap_or_default();
        Self {
            http: http.clone(),
            clock: clock.clone(),
            cache_ttl: policy.discovery_cache_ttl,
            is_strict: policy.is_id_token_validation_strict,
            own_tenant: issuers::azure_tenant_of_base(azure).map(str::to_owned),
            sources: IssuerCaches::default(),
        }
    }

    /// Returns the issuer's metadata, fetched at most once in [`ExternalPolicy::discovery_cache_ttl`].
    ///
    /// If it cannot be fetched again, the last document stays valid for a day.
    pub async fn discover(&self, source: &IssuerSource) -> Result<Arc<Discovery>, OidcError> {
        Ok(self.document(&self.sources.get_or_insert(source), source).await?.value)
    }

    /// Fetches the issuer's metadata without the cache, to validate a new issuer.
    pub async fn discover_uncached(&self, source: &IssuerSource) -> Result<Discovery, OidcError> {
        let answer = self.fetch(&source.document_url(), source.trust).await?;
        Discovery::parse(&answer, source)
    }

    /// Evicts the issuer's cached document and keys.
    pub fn evict(&self, source: &IssuerSource) {
        self.sources.evict(source);
    }

    /// Verifies an ID token and returns its claims. An unknown key triggers one fetch of the key set.
    pub async fn verify(
        &self,
        source: &IssuerSource,
        id_token: &str,
        checks: &TokenChecks<'_>,
    ) -> Result<ExternalIdToken, OidcError> {
        let token = CompactJws::parse(id_token)?;
        let known = self.sources.get_or_insert(source);
        let document = self.document(&known, source).await?.value;
        if !document.algorithms.contains(&token.algorithm) {
            return Err(OidcError::Algorithm);
        }
        self.check_signature(&known, &document.jwks_uri, source.trust, &token).await?;
        let algorithm = token.algorithm;
        let expected =
            IdTokenExpectations { issuer: &source.issuer, now: self.clock.now(), requires_issued_at: self.is_strict };
        let mut read = ExternalIdToken::from_verified_jws(token, &expected)?;
        if let Some(clients) = checks.clients
            && !read.has_audience(clients.iter().map(String::as_str))
        {
            return Err(IdTokenError::Audience(read.audience).into());
        }
        if let Some(access_token) = checks.access_token
            && !read.access_token_hash.is_empty()
            && !is_access_token_hash(algorithm, access_token, &read.access_token_hash)
        {
            return Err(IdTokenError::AccessTokenHash.into());
        }
        let tenant = issuers::azure_tenant(&read.issuer);
        read.requires_email_verified_claim =
            self.is_strict && (tenant.is_none() || tenant != self.own_tenant.as_deref());
        Ok(read)
    }

    /// Verifies the token's signature with the issuer's keys.
    ///
    /// If no known key fits, the key set is fetched again: a key may have been added or replaced under the same id.
    async fn check_signature(
        &self,
        known: &IssuerCache,
        address: &str,
        trust: UrlTrust,
        token: &CompactJws<'_>,
    ) -> Result<(), OidcError> {
        let fetch = || async move { Ok(KeySet::parse(&self.fetch(address, trust).await?)?) };
        let young = |held: &CachedValue<KeySet>| held.age(self.clock.now()) < self.cache_ttl;
        let mut keys = known.keys.get(&self.clock, young, fetch).await?;
        if keys.value.verify(token) != SignatureOutcome::Valid {
            let round = keys.round;
            keys = known.keys.get(&self.clock, |held| held.round > round, fetch).await?;
        }
        match keys.value.verify(token) {
            SignatureOutcome::Valid => Ok(()),
            SignatureOutcome::Invalid => Err(OidcError::Signature),
            SignatureOutcome::UnknownKey => Err(OidcError::UnknownKey),
        }
    }

    async fn document(&self, known: &IssuerCache, source: &IssuerSource) -> Result<CachedValue<Discovery>, OidcError> {
        let young = |held: &CachedValue<Discovery>| held.age(self.clock.now()) < self.cache_ttl;
        known.document.get(&self.clock, young, || self.discover_uncached(source)).await
    }

    /// Fetches a URL with the client that its origin requires.
    async fn fetch(&self, address: &str, trust: UrlTrust) -> Result<Vec<u8>, OidcError> {
        let url = Url::parse(address).map_err(|error| OidcError::Address(format!("{address:?}: {error}")))?;
        let answer = self.http.send(trust, "openid-issuer", Request::new(Method::GET, url), LIMITS).await;
        let HttpResponse { status, body, is_truncated: truncated, .. } =
            answer.map_err(|error| OidcError::Transport(Arc::new(error)))?;
        if status != 200 {
            return Err(OidcError::Status { status, body: quote_body(&body) });
        }
        if truncated {
            return Err(OidcError::TooLong(address.to_owned()));
        }
        Ok(body)
    }
}

fn quote_body(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(LONGEST_QUOTE)]).into_owned()
}
