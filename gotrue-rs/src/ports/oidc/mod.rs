//! Issuers of other services: where they say their addresses and keys are, and whether an ID token is theirs. Their
//! documents and keys are kept; nobody can make us ask for them more often than [`kept`] allows.

mod discovery;
mod kept;
mod sources;

use std::sync::Arc;
use std::time::Duration;

use gotrue_rules::domain::external::id_token::{BadToken, Expected, IdToken, is_hash_of};
use gotrue_rules::domain::external::issuers;
use gotrue_rules::domain::external::jws::{Compact, Malformed};
use gotrue_rules::domain::external::keys::{KeySet, NoKeySet, Verdict};
use gotrue_rules::domain::policy::ExternalPolicy;
use reqwest::{Method, Request, Url};

pub use discovery::Discovery;

use crate::ports::clock::SharedClock;
use crate::ports::http_client::{Answer, HttpClient, HttpError, Limits, Trust};
use kept::Held;
use sources::{Known, Sources};

/// What one document or one set of keys may cost.
const LIMITS: Limits = Limits { bytes: 1024 * 1024, time: Duration::from_secs(10) };
/// So much of what an issuer answers in the place of a document is quoted, in bytes.
const LONGEST_QUOTE: usize = 1000;

/// Where an issuer is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The issuer, as its tokens name it.
    pub issuer: String,
    /// Where its document is, if not at its usual place below the issuer.
    pub document: Option<String>,
    /// Who chose its address.
    pub trust: Trust,
}

/// What is checked of a token beside signature, times and issuer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checks<'a> {
    /// Our ids there, one of which it must be for; absent: the caller looks itself ([`IdToken::is_for`]).
    pub clients: Option<&'a [String]>,
    /// The access token that came with it: it must be the one of `at_hash`, if the token has that. Absent: not looked at.
    pub access_token: Option<&'a str>,
}

/// Why an issuer cannot be asked, or a token is refused. [`std::fmt::Display`] of a document that was not found is what
/// the outside may read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OidcError {
    /// The address cannot be called.
    #[error("oidc: {0}")]
    Address(String),
    /// It was asked too often of late, and never answered.
    #[error("oidc: the issuer was asked too often without an answer")]
    Tired,
    /// Nobody answered, or not in time.
    #[error("oidc: {0}")]
    Silent(Arc<HttpError>),
    /// What is there is too long.
    #[error("oidc: what is at {0:?} is longer than {bytes} bytes", bytes = LIMITS.bytes)]
    TooLong(String),
    /// Something else was answered.
    #[error("{status} {}: {body}", reason(*status))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// What was answered is no discovery document.
    #[error("oidc: failed to decode provider discovery object: {0}")]
    NoDocument(String),
    /// The document is another issuer's.
    #[error("oidc: issuer did not match the issuer returned by provider, expected {expected:?} got {got:?}")]
    OtherIssuer {
        /// Whose document was wanted.
        expected: String,
        /// Whose it says it is.
        got: String,
    },
    /// What was answered is no set of keys.
    #[error("oidc: {0}")]
    NoKeys(#[from] NoKeySet),
    /// The token has not the form of one.
    #[error("malformed token: {0}")]
    Malformed(#[from] Malformed),
    /// The issuer does not sign like that.
    #[error("the issuer does not sign with this algorithm")]
    Algorithm,
    /// The issuer has no such key.
    #[error("the issuer has no such key")]
    UnknownKey,
    /// It is not the issuer's signature.
    #[error("the signature is not the issuer's")]
    Signature,
    /// A claim does not hold.
    #[error(transparent)]
    Token(#[from] BadToken),
}

/// Issuers, with what is known of them.
#[derive(Debug)]
pub struct Oidc {
    http: Arc<HttpClient>,
    clock: SharedClock,
    /// How long documents and keys are good.
    life: Duration,
    is_strict: bool,
    /// The tenant of Azure whose people's addresses are the operator's own affair.
    own_tenant: Option<String>,
    sources: Sources,
}

impl Oidc {
    /// As the policy says; no request is made yet.
    pub fn new(policy: &ExternalPolicy, http: &Arc<HttpClient>, clock: &SharedClock) -> Self {
        let azure = policy.provider("azure").map(|azure| azure.url.as_str()).unwrap_or_default();
        Self {
            http: http.clone(),
            clock: clock.clone(),
            life: policy.discovery_cache_ttl,
            is_strict: policy.strict_id_tokens,
            own_tenant: issuers::azure_tenant_of_base(azure).map(str::to_owned),
            sources: Sources::default(),
        }
    }

    /// What the issuer says of itself, asked for at most once in [`ExternalPolicy::discovery_cache_ttl`]. While it
    /// cannot be asked again, the last answer stands for a day.
    pub async fn discover(&self, source: &Source) -> Result<Arc<Discovery>, OidcError> {
        Ok(self.document(&self.sources.known(source), source).await?.value)
    }

    /// What the issuer says of itself at this moment: for whoever writes an issuer down.
    pub async fn look_up(&self, source: &Source) -> Result<Discovery, OidcError> {
        let answer = self.get(&source.address(), source.trust).await?;
        Discovery::read(&answer, source)
    }

    /// Forgets what the issuer said: it is asked again when next needed.
    pub fn forget(&self, source: &Source) {
        self.sources.forget(source);
    }

    /// The claims of an ID token that is the issuer's and in its time. A key that is not known is asked for once.
    pub async fn verify(&self, source: &Source, id_token: &str, checks: &Checks<'_>) -> Result<IdToken, OidcError> {
        let token = Compact::parse(id_token)?;
        let known = self.sources.known(source);
        let document = self.document(&known, source).await?.value;
        if !document.algorithms.contains(&token.algorithm) {
            return Err(OidcError::Algorithm);
        }
        self.check_signature(&known, &document.jwks_uri, source.trust, &token).await?;
        let algorithm = token.algorithm;
        let expected = Expected { issuer: &source.issuer, now: self.clock.now(), issued_at: self.is_strict };
        let mut read = IdToken::accept(token, &expected)?;
        if let Some(clients) = checks.clients
            && !read.is_for(clients.iter().map(String::as_str))
        {
            return Err(BadToken::Audience(read.audience).into());
        }
        if let Some(access_token) = checks.access_token
            && !read.access_token_hash.is_empty()
            && !is_hash_of(algorithm, access_token, &read.access_token_hash)
        {
            return Err(BadToken::AccessToken.into());
        }
        let tenant = issuers::azure_tenant(&read.issuer);
        read.assumes_nothing = self.is_strict && (tenant.is_none() || tenant != self.own_tenant.as_deref());
        Ok(read)
    }

    /// Whether the token is signed with a key of the issuer's. Only where none of the known ones fits are they asked
    /// for again: a key may have been added, or taken the place of one of the same name.
    async fn check_signature(
        &self,
        known: &Known,
        address: &str,
        trust: Trust,
        token: &Compact<'_>,
    ) -> Result<(), OidcError> {
        let fetch = || async move { Ok(KeySet::parse(&self.get(address, trust).await?)?) };
        let young = |held: &Held<KeySet>| held.age(self.clock.now()) < self.life;
        let mut keys = known.keys.get(&self.clock, young, fetch).await?;
        if keys.value.verify(token) != Verdict::Signed {
            let round = keys.round;
            keys = known.keys.get(&self.clock, |held| held.round > round, fetch).await?;
        }
        match keys.value.verify(token) {
            Verdict::Signed => Ok(()),
            Verdict::NotSigned => Err(OidcError::Signature),
            Verdict::UnknownKey => Err(OidcError::UnknownKey),
        }
    }

    async fn document(&self, known: &Known, source: &Source) -> Result<Held<Discovery>, OidcError> {
        let young = |held: &Held<Discovery>| held.age(self.clock.now()) < self.life;
        known.document.get(&self.clock, young, || self.look_up(source)).await
    }

    /// The body of what is at an address, by the door that fits who wrote it down.
    async fn get(&self, address: &str, trust: Trust) -> Result<Vec<u8>, OidcError> {
        let url = Url::parse(address).map_err(|error| OidcError::Address(format!("{address:?}: {error}")))?;
        let answer = self.http.send(trust, Request::new(Method::GET, url), LIMITS).await;
        let Answer { status, body, truncated, .. } = answer.map_err(|error| OidcError::Silent(Arc::new(error)))?;
        if status != 200 {
            return Err(OidcError::Status { status, body: beginning(&body) });
        }
        if truncated {
            return Err(OidcError::TooLong(address.to_owned()));
        }
        Ok(body)
    }
}

impl Source {
    /// A built-in issuer, or one that the operator wrote down.
    pub fn of_operator(issuer: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), document: None, trust: Trust::Operator }
    }

    /// Where its document is.
    fn address(&self) -> String {
        let usual = || {
            let base = self.issuer.strip_suffix('/').unwrap_or(&self.issuer);
            format!("{base}/.well-known/openid-configuration")
        };
        self.document.clone().filter(|document| !document.is_empty()).unwrap_or_else(usual)
    }
}

fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(LONGEST_QUOTE)]).into_owned()
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default()
}
