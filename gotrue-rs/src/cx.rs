//! What every request carries: the application as it was when the request came, one moment of time, its own stream of
//! entropy, the request's facts, what the guards found, and the journal.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{SubsecRound, TimeDelta};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::oauth_server::Client;
use gotrue_rules::domain::policy::LimitKey;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::user::{Account, Factor, Time};
use http::HeaderName;
use serde_json::{Map, Value};

use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::reply::Reply;
use crate::http::request_info::RequestInfo;
use crate::journal::Journal;
use crate::ports::entropy::Entropy;
use crate::ports::limits;
use crate::store::{self, Connection};

/// The context of one request.
#[derive(Debug)]
pub struct Cx {
    /// The application as it was when the request came.
    pub app: Arc<App>,
    /// When the request came, in the microseconds that the database keeps. Rows written for it are stamped with [`Cx::stamp`].
    pub now: Time,
    /// The request's own randomness.
    pub entropy: Entropy,
    /// The request apart from its body.
    pub request: RequestInfo,
    /// The body, read when first needed.
    pub body: RequestBody,
    /// What the guards found.
    pub found: Found,
    /// What the request did so far.
    pub journal: Arc<Journal>,
    /// Headers that the answer carries, also when it is a refusal.
    pub marks: Arc<Marks>,
    /// How many rows have been stamped.
    stamped: AtomicU32,
}

/// What guards leave for the handler.
#[derive(Debug, Default)]
pub struct Found {
    /// Who asks, once the guard `Caller` has been passed.
    pub caller: Option<Caller>,
    /// The administrator, once the guard `Admin` has been passed.
    pub admin: Option<Admin>,
    /// The account that the path names, once the guard `Account` has been passed.
    pub account: Option<Account>,
    /// The factor that the path names, once the guard `Factor` has been passed.
    pub factor: Option<Factor>,
    /// The company's identity provider that the path names, once the guard `SsoProvider` has been passed.
    pub sso_provider: Option<SsoProvider>,
    /// The OAuth client that the path names, once the guard `OAuthApp` has been passed, or that has proved itself, once
    /// the guard `Client` has.
    pub client: Option<Client>,
}

/// A signed-in account.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account of the token's `sub`.
    pub account: Account,
    /// The session of its `session_id`; none for a token without one.
    pub session: Option<Session>,
    /// The verified claims.
    pub claims: Map<String, Value>,
}

/// Somebody with an administrator's role.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The role in the token: the actor's name in the audit log.
    pub role: String,
    /// The verified claims.
    pub claims: Map<String, Value>,
}

/// Headers that an answer carries, also when it is a refusal.
#[derive(Debug, Default)]
pub struct Marks(Mutex<Vec<(HeaderName, String)>>);

impl Marks {
    /// The reply with these headers.
    pub fn on(&self, reply: Reply) -> Reply {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().fold(reply, |reply, (name, value)| reply.with_header(name.clone(), value))
    }
}

impl Caller {
    /// Whether the token is that of an OAuth client, which the account allowed something.
    pub fn is_a_clients(&self) -> bool {
        let of_session = self.session.as_ref().and_then(|session| session.oauth_client_id);
        of_session.is_some() || self.claims.get("client_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
    }
}

impl Cx {
    /// The context of a request that has just come.
    pub fn new(app: Arc<App>, request: RequestInfo, body: RequestBody) -> Self {
        let now = app.clock.now().trunc_subsecs(6);
        let entropy = app.entropy.fork();
        let journal = app.journals.open();
        Self {
            app,
            now,
            entropy,
            request,
            body,
            found: Found::default(),
            journal,
            marks: Arc::default(),
            stamped: AtomicU32::new(0),
        }
    }

    /// Statements that stand alone.
    pub fn db(&self) -> Connection {
        Connection::pooled(self.app.pool.clone(), self.journal.clone())
    }

    /// An open transaction; dropped it rolls back.
    pub async fn begin(&self) -> store::Result<Connection> {
        Connection::begin(&self.app.pool, self.journal.clone()).await
    }

    /// An open transaction within which somebody else will be waited for: one of few, so that others find a connection.
    pub async fn begin_to_wait(&self) -> store::Result<Connection> {
        Connection::begin_to_wait(&self.app.pool, self.journal.clone()).await
    }

    /// The moment of the next row of this request: a microsecond after the one before, so that "newest first" is the
    /// order in which rows were stamped.
    pub fn stamp(&self) -> Time {
        self.now + TimeDelta::microseconds(i64::from(self.stamped.fetch_add(1, Ordering::Relaxed)))
    }

    /// Puts a header on the answer, also when it is a refusal.
    pub fn mark(&self, name: HeaderName, value: &str) {
        self.marks.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, value.to_owned()));
    }

    /// All bytes of the body.
    pub async fn bytes(&self) -> Result<bytes::Bytes> {
        self.body.bytes().await
    }

    /// The beginning of the body, as much as any body may have, and whether there was more.
    pub async fn beginning(&self) -> Result<(bytes::Bytes, bool)> {
        self.body.beginning().await
    }

    /// The signed-in account; the route table puts the guard `Caller` before every handler that asks.
    pub fn caller(&self) -> Result<&Caller> {
        self.found.caller.as_ref().ok_or_else(|| unguarded("Caller"))
    }

    /// The administrator; the route table puts the guard `Admin` before every handler that asks.
    pub fn admin(&self) -> Result<&Admin> {
        self.found.admin.as_ref().ok_or_else(|| unguarded("Admin"))
    }

    /// The account that the path names; the route table puts the guard `Account` before every handler that asks.
    pub fn account(&self) -> Result<&Account> {
        self.found.account.as_ref().ok_or_else(|| unguarded("Account"))
    }

    /// The factor that the path names; the route table puts the guard `Factor` before every handler that asks.
    pub fn factor(&self) -> Result<&Factor> {
        self.found.factor.as_ref().ok_or_else(|| unguarded("Factor"))
    }

    /// The identity provider that the path names; the route table puts the guard `SsoProvider` before every handler that
    /// asks.
    pub fn sso_provider(&self) -> Result<&SsoProvider> {
        self.found.sso_provider.as_ref().ok_or_else(|| unguarded("SsoProvider"))
    }

    /// The OAuth client that the path names; the route table puts the guard `OAuthApp` before every handler that asks.
    pub fn client(&self) -> Result<&Client> {
        self.found.client.as_ref().ok_or_else(|| unguarded("OAuthApp"))
    }

    /// The audience in which accounts are looked up and made: `X-JWT-AUD`, else the verified token's own unless its
    /// role is an administrator's, else the configured one (`endpoints.md` §1.6).
    pub fn audience(&self) -> String {
        if let Some(asked) = self.request.header("x-jwt-aud").filter(|asked| !asked.is_empty()) {
            return asked.to_owned();
        }
        let claims = self.found.caller.as_ref().map(|caller| &caller.claims).filter(|claims| !self.is_admins(claims));
        claims.and_then(first_audience).unwrap_or_else(|| self.app.policy.jwt.aud.clone())
    }

    /// The server's own URL as links use it: the configured one, or that of a listed `X-Forwarded-Host`. The `Host`
    /// header is never used (`endpoints.md` §1.8).
    pub fn external_url(&self) -> String {
        let site = &self.app.policy.site;
        let asked = self.request.header("x-forwarded-host").unwrap_or_default();
        if asked.is_empty() || !site.mailer_external_hosts.iter().any(|host| host == asked) {
            return site.external_url.clone();
        }
        let by_http = asked == "localhost" && self.request.header("x-forwarded-proto") == Some("http");
        format!("{}://{asked}", if by_http { "http" } else { "https" })
    }

    /// The caller's address for audit, sessions and hooks. Where requests are counted by the header that the operator
    /// named, the reference's rule holds: `Sb-Forwarded-For` where that is on, else the first of `X-Forwarded-For`,
    /// even from an untrusted peer. Where they are counted by peer, only trusted proxies are believed.
    pub fn client_ip(&self) -> Option<IpAddr> {
        match &self.app.policy.limits.key {
            LimitKey::Header(_) => {
                let named = self.request.sb_forwarded_for();
                named.filter(|_| self.app.policy.security.sb_forwarded_for_enabled).or_else(|| self.request.client_ip())
            }
            LimitKey::Peer { trusted_proxies } => {
                limits::peer_address(&self.request.headers, self.request.peer, trusted_proxies)
            }
        }
    }

    /// The caller's address where there must be one: a challenge is kept with it, and answered from it.
    pub fn address(&self) -> IpAddr {
        self.client_ip().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// Whether verified claims hold an administrator's role.
    pub fn is_admins(&self, claims: &Map<String, Value>) -> bool {
        let role = claims.get("role").and_then(Value::as_str).unwrap_or_default();
        self.app.policy.jwt.admin_roles.iter().any(|admin| admin == role)
    }
}

/// The first audience of verified claims, if they name one.
pub fn first_audience(claims: &Map<String, Value>) -> Option<String> {
    let named = match claims.get("aud")? {
        Value::Array(all) => all.first()?.as_str()?,
        one => one.as_str()?,
    };
    Some(named.to_owned()).filter(|named| !named.is_empty())
}

fn unguarded(guard: &str) -> gotrue_rules::domain::error::Error {
    gotrue_rules::domain::error::Error::other(format!("the route lacks the guard {guard}"))
}
