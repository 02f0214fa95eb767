//! The state of one request.
//!
//! It holds the application, the time, randomness, the request data, the results of the guards, and the journal.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use chrono::{SubsecRound, TimeDelta};
use foundation::error::Result;
use foundation::time::Time;
use gotrue_rules::domain::oauth_server::OAuthClient;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::user::{Factor, User};
use http::HeaderName;
use http_edge::ClientPresence;
use http_edge::request::forwarded::{X_FORWARDED_HOST, X_FORWARDED_PROTO};
use platform::entropy::Entropy;
use platform::explanation::history::History;
use platform::journal::{Fact, FactCondition, Journal};
use platform::limits::{self, ClientRequest};
use platform::request_body::RequestBody;
use platform::request_info::RequestInfo;
use platform::store::{self, AdminChange, Connection};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::App;
use crate::http::reply::Reply;
use crate::ports::hashing::JobLimits;

/// The context of one request.
#[derive(Debug)]
pub struct RequestContext {
    /// The application at the start of the request; a reload does not change it.
    pub app: Arc<App>,
    /// The start of the request, in microseconds as the database stores them.
    ///
    /// Row timestamps come from [`RequestContext::next_timestamp`].
    pub now: Time,
    /// The request's own stream of randomness.
    pub entropy: Entropy,
    /// The request without its body.
    pub request: RequestInfo,
    /// The body, read on first use.
    pub body: RequestBody,
    /// The results of the guards; boxed, because the context is moved from step to step of a request.
    ///
    /// Guards store them; a handler takes its own as parameters.
    pub(crate) guard_results: Box<GuardResults>,
    /// The deadline and the client of the request, for its hashing of passwords.
    pub hashing_limits: JobLimits,
    /// The steps of the request so far.
    pub journal: Arc<Journal>,
    /// Headers that are added to the response, also to an error response.
    pub response_headers: Arc<ResponseHeaders>,
    /// The tracing span of the request.
    pub span: tracing::Span,
    /// The number of timestamps given out.
    timestamps: AtomicU32,
}

/// Results of the guards. A handler has those of its parameters.
#[derive(Debug, Default)]
pub struct GuardResults {
    /// The signed-in user.
    pub caller: Option<Arc<Caller>>,
    /// The signed-in user of a request that only reads.
    pub read_only_caller: Option<Arc<ReadOnlyCaller>>,
    /// The administrator.
    pub admin: Option<Arc<Admin>>,
    /// The user named in an administrator's path.
    pub user: Option<Arc<User>>,
    /// The factor named in the path, of the signed-in user.
    pub caller_factor: Option<Arc<CallerFactor>>,
    /// The factor named in an administrator's path, of the user named there.
    pub user_factor: Option<Arc<UserFactor>>,
    /// The SSO identity provider named in an administrator's path.
    pub sso_provider: Option<Arc<SsoProvider>>,
    /// The OAuth client named in an administrator's path.
    pub client: Option<Arc<OAuthClient>>,
    /// The OAuth client that authenticated itself.
    pub authenticated_client: Option<Arc<AuthenticatedClient>>,
    /// The change that an administrator makes, if there is a replica that must have it before it is read.
    pub change: Option<AdminChange>,
}

/// A signed-in user.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The user of the claim `sub`.
    pub user: User,
    /// The session of the claim `session_id`; `None` for a token without one.
    pub session: Option<Session>,
    /// The verified claims.
    pub claims: Arc<Map<String, Value>>,
}

/// A signed-in user as responses show it.
#[derive(Debug, Clone)]
pub struct ReadOnlyCaller {
    /// The user of the claim `sub`, without the members that no response shows.
    ///
    /// Password, tokens, `email_change_confirm_status`, `is_super_admin` and `is_sso_user` are not loaded.
    pub user: User,
    /// The verified claims.
    pub claims: Arc<Map<String, Value>>,
}

/// An authenticated administrator.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The claim `role`, which is the actor's name in the audit log.
    pub role: String,
    /// The verified claims.
    pub claims: Arc<Map<String, Value>>,
}

/// The factor of the [`Caller`] that the path names.
#[derive(Debug)]
pub struct CallerFactor(pub Factor);

/// A factor of the user named in an administrator's path.
#[derive(Debug)]
pub struct UserFactor(pub Factor);

/// The OAuth client that sent its credentials; `None` if the request has none.
#[derive(Debug)]
pub struct AuthenticatedClient(pub Option<OAuthClient>);

/// Headers that are added to the response, also to an error response.
#[derive(Debug, Default)]
pub struct ResponseHeaders(Mutex<Vec<(HeaderName, String)>>);

impl ResponseHeaders {
    /// Adds these headers to the reply.
    pub fn apply_to(&self, reply: Reply) -> Reply {
        let headers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        headers.iter().fold(reply, |reply, (name, value)| reply.with_header(name.clone(), value))
    }
}

impl Caller {
    /// Whether the access token was issued to an OAuth client.
    pub fn is_oauth_client_token(&self) -> bool {
        is_oauth_client_token(&self.claims, self.session.as_ref().and_then(|session| session.oauth_client_id))
    }
}

impl RequestContext {
    /// Builds the context of a new request.
    pub fn new(app: Arc<App>, request: RequestInfo, body: RequestBody) -> Self {
        let now = app.clock.now().trunc_subsecs(6);
        let entropy = app.entropy.fork();
        let journal = app.start_journal();
        Self {
            app,
            now,
            entropy,
            request,
            body,
            guard_results: Box::default(),
            hashing_limits: JobLimits::default(),
            journal,
            response_headers: Arc::default(),
            span: tracing::Span::none(),
            timestamps: AtomicU32::new(0),
        }
    }

    /// Builds the context of an operation that no HTTP request started.
    ///
    /// Its journal is not kept, and has no injected faults.
    pub fn internal(app: Arc<App>) -> Self {
        let context = Self::new(app, RequestInfo::internal(), RequestBody::empty());
        Self { journal: Arc::default(), ..context }
    }

    /// Sets the end of the request and its client, for hashing of passwords.
    pub fn limit_hashing(&mut self, deadline: Option<Instant>, client: Option<ClientPresence>) {
        self.hashing_limits = JobLimits { deadline, client };
    }

    /// A connection whose statements run outside a transaction.
    pub fn db(&self) -> Connection {
        Connection::pooled(self.app.pool.clone(), self.journal.clone())
    }

    /// Runs a read that may be stale: on the replica if there is one that lags little, else on the primary.
    ///
    /// A read that fails because the replica is unusable is repeated on the primary. A list that follows a change by an
    /// administrator through this process has it. Never for decisions about sessions, nor for what a write depends on.
    pub async fn read_stale<T, F>(&self, read: impl Fn(Connection) -> F + Send) -> store::Result<T>
    where
        F: Future<Output = store::Result<T>> + Send,
    {
        if let Some(replica) = &self.app.replica
            && let Some(pool) = replica.find_current()
        {
            match read(Connection::pooled(pool.clone(), Arc::default())).await {
                Err(error) if error.is_unavailable() => {
                    replica.record_failure();
                    tracing::warn!(%error, "a read failed on the replica, it is repeated on the primary");
                }
                outcome => return outcome,
            }
        }
        read(self.db()).await
    }

    /// Begins a transaction, which rolls back when dropped.
    pub async fn begin(&self) -> store::Result<Connection> {
        Connection::begin(&self.app.pool, self.journal.clone()).await
    }

    /// Begins a transaction that waits for an external service.
    ///
    /// The number of such transactions is limited, so that other requests get a connection.
    pub async fn begin_external_wait(&self) -> store::Result<Connection> {
        Connection::begin_with_third_party(&self.app.pool, self.journal.clone()).await
    }

    /// Returns the timestamp of the next row: one microsecond after the previous one.
    ///
    /// Sorting rows by time returns them in the order in which they were written.
    pub fn next_timestamp(&self) -> Time {
        self.now + TimeDelta::microseconds(i64::from(self.timestamps.fetch_add(1, Ordering::Relaxed)))
    }

    /// Adds a header to the response, also to an error response.
    pub fn insert_response_header(&self, name: HeaderName, value: &str) {
        self.response_headers.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, value.to_owned()));
    }

    /// Records the authenticated user in the span of the request.
    pub fn record_user(&self, id: Uuid) {
        self.span.record("user.id", tracing::field::display(id));
        self.journal.trace(|trace| trace.user_id = Some(id));
    }

    /// Notes what the request does, if explanations or events are recorded.
    pub fn note(&self, condition: FactCondition, fact: impl FnOnce() -> Fact) {
        self.journal.trace(|trace| trace.note(fact(), condition));
    }

    /// What became of secrets and sessions; in development only.
    pub fn history(&self) -> Option<&History> {
        self.app.explanations.history()
    }

    /// Reads the whole body.
    pub async fn read_body(&self) -> Result<bytes::Bytes> {
        self.body.read_all().await
    }

    /// Reads the body up to its size limit; the flag tells whether it is longer.
    pub async fn read_body_prefix(&self) -> Result<(bytes::Bytes, bool)> {
        self.body.read_prefix().await
    }

    /// The audience in which users are looked up and created.
    ///
    /// It is `X-JWT-AUD`, else the audience of the verified token unless its role is an administrator's, else the
    /// configured one.
    pub fn audience(&self) -> String {
        if let Some(requested) = self.request.header("x-jwt-aud").filter(|audience| !audience.is_empty()) {
            return requested.to_owned();
        }
        let GuardResults { caller, read_only_caller, .. } = &*self.guard_results;
        let claims = caller.as_ref().map(|caller| &caller.claims);
        let claims = claims.or_else(|| read_only_caller.as_ref().map(|caller| &caller.claims));
        let claims = claims.filter(|claims| !self.has_admin_role(claims));
        claims.and_then(|claims| first_audience(claims)).unwrap_or_else(|| self.app.policy.jwt.aud.clone())
    }

    /// The server's external URL for links: the configured one, or an allowed `X-Forwarded-Host`.
    ///
    /// The `Host` header is never used.
    pub fn external_url(&self) -> String {
        let site = &self.app.policy.site;
        let host = self.request.header(X_FORWARDED_HOST.as_str()).unwrap_or_default();
        if host.is_empty() || !site.mailer_external_hosts.iter().any(|allowed| allowed == host) {
            return site.external_url.clone();
        }
        let is_plain_http = host == "localhost" && self.request.header(X_FORWARDED_PROTO.as_str()) == Some("http");
        format!("{}://{host}", if is_plain_http { "http" } else { "https" })
    }

    /// The client's address for audit entries, sessions and hooks.
    ///
    /// The policy of limits selects the headers that count, see [`limits::client_ip`].
    pub fn client_ip(&self) -> Option<IpAddr> {
        limits::client_ip(&self.app.policy.limits.key, self.client_request())
    }

    /// The data of the request that identifies its client.
    pub fn client_request(&self) -> ClientRequest<'_> {
        ClientRequest {
            headers: &self.request.headers,
            peer: self.request.peer,
            resolved: self.request.client,
            sb_forwarded_for: self.app.policy.security.sb_forwarded_for_enabled,
        }
    }

    /// The client's address, or `0.0.0.0` if it is unknown. A challenge is bound to this address.
    pub fn client_ip_or_unspecified(&self) -> IpAddr {
        self.client_ip().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// Whether verified claims hold an administrator's role.
    pub fn has_admin_role(&self, claims: &Map<String, Value>) -> bool {
        let role = claims.get("role").and_then(Value::as_str).unwrap_or_default();
        self.app.policy.jwt.admin_roles.iter().any(|admin| admin == role)
    }
}

/// Whether an access token was issued to an OAuth client.
///
/// `session_client` is the OAuth client of its session.
pub fn is_oauth_client_token(claims: &Map<String, Value>, session_client: Option<Uuid>) -> bool {
    session_client.is_some() || claims.get("client_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
}

/// The first audience of verified claims.
pub fn first_audience(claims: &Map<String, Value>) -> Option<String> {
    let named = match claims.get("aud")? {
        Value::Array(all) => all.first()?.as_str()?,
        one => one.as_str()?,
    };
    Some(named.to_owned()).filter(|named| !named.is_empty())
}
