//! The application: policy and ports shared by all requests.
//!
//! An [`App`] is immutable: a configuration reload builds a new one that takes over long-lived state.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::redirect::{AllowList, RedirectPatternError};
use gotrue_rules::wire::discovery::DiscoveryJson;
use gotrue_rules::wire::go_json;
use gotrue_rules::wire::settings::SettingsJson;
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::explanation::Explanations;
use platform::http_client::HttpClient;
use platform::journal::{FaultInjector, Journal};
use platform::limits::{RateLimits, SharedLimits};
use platform::mail::SharedMailer;
use platform::mail::inbox::Inbox;
use platform::mail::outbox::Outbox;
use platform::saml_keys::SamlKeyError;
use platform::store::{Pool, Replica};
use tokio::sync::Notify;
use url::Url;

use crate::ports::captcha::CaptchaVerifier;
use crate::ports::hashing::HashingPool;
use crate::ports::hooks::Hooks;
use crate::ports::keys::{KeyError, KeyRing, KeySettings};
use crate::ports::mail::addresses::AddressChecker;
use crate::ports::mail::template::MailTemplates;
use crate::ports::oidc::Oidc;
use crate::ports::pwned::{self, PwnedPasswords};
use crate::ports::saml::SamlServiceProvider;
use crate::ports::sms::SmsDelivery;

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    /// The operator's configuration.
    pub policy: Policy,
    /// The database connection pool.
    pub pool: Pool,
    /// The replica for reads that may be stale; `None` if there is none.
    pub replica: Option<Arc<Replica>>,
    pub clock: SharedClock,
    /// The source of randomness; each request forks its own stream.
    pub entropy: Entropy,
    /// The password hashing pool, which has its own threads.
    pub hashing: Arc<HashingPool>,
    /// The look-up of leaked passwords.
    pub pwned: Arc<PwnedPasswords>,
    /// The signing and verification keys of access tokens.
    pub keys: KeyRing,
    /// The SAML service provider; `None` while SAML is disabled.
    pub saml: Option<SamlServiceProvider>,
    /// The e-mail templates.
    pub email_templates: MailTemplates,
    /// The checks of recipient addresses before an e-mail is sent.
    pub address_checks: AddressChecker,
    /// How e-mails are delivered.
    pub delivery: EmailDelivery,
    /// The SMS sender and the SMS templates.
    pub sms: SmsDelivery,
    /// The host part of `Message-ID` headers: the host of the external URL.
    pub mail_host: String,
    /// Response bodies that are the same for every request.
    pub static_responses: StaticResponses,
    /// The allow-list of redirect targets.
    pub redirect_allow_list: AllowList,
    /// The rate limit counters.
    pub limits: Arc<RateLimits>,
    /// The rate limit counters that several processes share, if the settings name a store.
    pub shared_limits: Option<Arc<SharedLimits>>,
    /// The operator's hooks.
    pub hooks: Hooks,
    /// The HTTP client for outbound requests.
    pub http: Arc<HttpClient>,
    /// The OIDC issuers and the verification of their ID tokens.
    pub oidc: Arc<Oidc>,
    /// The captcha provider; `None` while captchas are disabled.
    pub captcha: Option<CaptchaVerifier>,
    /// The signal that starts the background deletion of expired rows.
    pub cleanup_signal: Arc<CleanupSignal>,
    /// Journals recorded for tests; nothing is recorded otherwise.
    pub journals: Journals,
    /// Explanations of refusals, and events; kept in development only.
    pub explanations: Explanations,
}

/// Wakes the deletion of expired rows and holds its position.
#[derive(Debug, Default)]
pub struct CleanupSignal {
    written: Notify,
    kind_counter: AtomicUsize,
    /// The page of the audit entries that is read next.
    audit_page: AtomicI64,
    /// When the audit entries are read from the first page again, in seconds since 1970.
    next_audit_round: AtomicI64,
}

impl CleanupSignal {
    /// Signals a write without waiting for its effect. Several signals before the next run count as one.
    pub fn notify(&self) {
        self.written.notify_one();
    }

    /// Waits until a write was signalled since the last call.
    pub async fn notified(&self) {
        self.written.notified().await;
    }

    /// The index of the next kind of rows, increasing without bound.
    pub fn kind_index(&self) -> usize {
        self.kind_counter.load(Ordering::Relaxed)
    }

    /// The page of the audit entries to read next; `None` before the next round is due.
    pub fn audit_page(&self, now: i64) -> Option<i64> {
        (self.next_audit_round.load(Ordering::Relaxed) <= now).then(|| self.audit_page.load(Ordering::Relaxed))
    }

    /// Records the page to read next; after the last one, the time of the next round.
    pub fn record_audit_page(&self, next: Option<i64>, next_round: i64) {
        self.audit_page.store(next.unwrap_or_default(), Ordering::Relaxed);
        if next.is_none() {
            self.next_audit_round.store(next_round, Ordering::Relaxed);
        }
    }

    /// Moves on to the next kind of rows.
    pub fn advance(&self) {
        self.kind_counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// External dependencies, as the server or a test supplies them.
#[derive(Debug)]
pub struct Ports {
    /// The database connection pool.
    pub pool: Pool,
    pub clock: SharedClock,
    /// The source of randomness.
    pub entropy: Entropy,
    /// The password hashing pool.
    pub hashing: Arc<HashingPool>,
    /// How e-mails are delivered.
    pub delivery: EmailDelivery,
    /// The HTTP client for outbound requests.
    pub http: Arc<HttpClient>,
}

/// Response bodies that are the same for every request, as JSON.
#[derive(Debug)]
pub struct StaticResponses {
    /// The body of `GET /health`.
    pub health: &'static str,
    /// The body of `GET /settings`.
    pub settings: String,
    /// The body of the discovery documents.
    pub discovery: String,
}

/// The members of `GET /health`; the version is that of Supabase Auth whose behaviour this server has.
macro_rules! health_members {
    () => {
        r#""version":"v2.196.0","name":"GoTrue","description":"GoTrue is a user registration and authentication API""#
    };
}

/// The body of `GET /health`.
const HEALTH: &str = concat!("{", health_members!(), "}");

/// The same with the version of this server.
const HEALTH_WITH_OWN_VERSION: &str =
    concat!("{", health_members!(), r#","basalt_version":"v"#, env!("CARGO_PKG_VERSION"), "\"}");

impl StaticResponses {
    fn from_policy(policy: &Policy) -> Result<Self, BuildError> {
        Ok(Self {
            health: if policy.api.shows_own_version { HEALTH_WITH_OWN_VERSION } else { HEALTH },
            settings: go_json::to_string(&SettingsJson::from(policy))?,
            discovery: go_json::to_string(&DiscoveryJson::from(policy))?,
        })
    }
}

/// How e-mails are delivered: within the request, or by a worker that empties a table.
#[derive(Clone)]
pub enum EmailDelivery {
    /// The request waits until a mail server accepts the e-mail.
    Synchronous(SharedMailer),
    /// The e-mail is inserted as a row by the transaction that causes it.
    Outbox(Arc<Outbox>),
}

impl EmailDelivery {
    /// Whether e-mails are queued in a table until they are sent.
    pub fn is_outbox(&self) -> bool {
        matches!(self, Self::Outbox(_))
    }

    /// The inbox that keeps SMS messages while no sender is configured.
    fn sms_inbox(&self) -> Option<Inbox> {
        match self {
            Self::Outbox(outbox) => outbox.sms_inbox(),
            Self::Synchronous(_) => None,
        }
    }
}

impl std::fmt::Debug for EmailDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Synchronous(_) => "Synchronous",
            Self::Outbox(_) => "Outbox",
        })
    }
}

/// Why an application cannot be built from the configuration.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A signing key is invalid.
    #[error("GOTRUE_JWT_KEYS: {0}")]
    Keys(#[from] KeyError),
    /// A SAML key is invalid.
    #[error("GOTRUE_SAML_PRIVATE_KEY: {0}")]
    Saml(#[from] SamlKeyError),
    /// A pattern of the redirect allow-list is invalid.
    #[error("GOTRUE_URI_ALLOW_LIST: {0}")]
    Redirects(#[from] RedirectPatternError),
    /// A static response cannot be serialized.
    #[error("static response not serializable: {0}")]
    Json(#[from] serde_json::Error),
}

impl App {
    /// Builds an application from the configuration and its dependencies.
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid signing key, SAML key or redirect pattern.
    pub fn build(policy: Policy, keys: KeySettings<'_>, ports: Ports) -> Result<Self, BuildError> {
        let host = Url::parse(&policy.site.external_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        Ok(Self {
            keys: KeyRing::build(keys)?
                .with_strict_signature_encoding(policy.jwt.is_signature_encoding_strict)
                .with_critical_header_rejected(policy.jwt.is_critical_header_rejected),
            saml: SamlServiceProvider::build(&policy.saml, &policy.site.external_url)?,
            static_responses: StaticResponses::from_policy(&policy)?,
            redirect_allow_list: AllowList::compile(&policy.site.site_url, &policy.site.redirect_allow_list)?
                .with_strict(policy.site.is_redirect_validation_strict),
            address_checks: AddressChecker::new(&policy.mail.address_check, &ports.http),
            email_templates: MailTemplates::new(&policy.mail, &policy.site, &ports.http),
            pwned: Arc::new(PwnedPasswords::new(pwned::SERVICE_URL, &policy.password.hibp, ports.http.clone())),
            sms: SmsDelivery::new(&policy, &ports.http, ports.delivery.sms_inbox()),
            delivery: ports.delivery,
            mail_host: host.unwrap_or_else(|| "localhost".to_owned()),
            hooks: Hooks::new(&policy.hooks, &ports.http, &ports.clock),
            captcha: policy.security.captcha.as_ref().map(|captcha| CaptchaVerifier::new(captcha, ports.http.clone())),
            oidc: Arc::new(Oidc::new(&policy.external, &ports.http, &ports.clock)),
            http: ports.http,
            policy,
            limits: Arc::new(RateLimits::new(ports.clock.now())),
            shared_limits: None,
            pool: ports.pool,
            replica: None,
            clock: ports.clock,
            entropy: ports.entropy,
            hashing: ports.hashing,
            cleanup_signal: Arc::default(),
            journals: Journals::default(),
            explanations: Explanations::default(),
        })
    }

    /// Builds an application with another configuration.
    ///
    /// The database, the clock, the hashing threads and the counters are kept, and cached external documents too where
    /// their settings are unchanged. Requests in progress keep the application that they started with.
    ///
    /// # Errors
    ///
    /// Fails as [`App::build`] does, and leaves this application unchanged.
    pub fn reload(
        &self,
        policy: Policy,
        keys: KeySettings<'_>,
        delivery: EmailDelivery,
        http: Arc<HttpClient>,
    ) -> Result<Self, BuildError> {
        let ports = Ports {
            pool: self.pool.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            hashing: Arc::clone(&self.hashing),
            delivery,
            http,
        };
        let new = Self::build(policy, keys, ports)?;
        let is_same_client = Arc::ptr_eq(&self.http, &new.http);
        let is_reusable = |is_unchanged: bool| is_unchanged && is_same_client;
        self.limits.apply_policy_change(&self.policy.limits, &new.policy.limits);
        Ok(Self {
            email_templates: new.email_templates.reuse_fetched(&self.email_templates),
            pwned: if is_reusable(self.policy.password.hibp == new.policy.password.hibp) {
                self.pwned.clone()
            } else {
                new.pwned
            },
            oidc: if is_reusable(self.policy.external == new.policy.external) { self.oidc.clone() } else { new.oidc },
            limits: Arc::clone(&self.limits),
            replica: self.replica.clone(),
            shared_limits: self.shared_limits.clone(),
            cleanup_signal: Arc::clone(&self.cleanup_signal),
            journals: self.journals.clone(),
            explanations: self.explanations.clone(),
            ..new
        })
    }

    /// Counts rate limits in a store that several processes share.
    #[must_use]
    pub fn with_shared_limits(self, shared_limits: Option<Arc<SharedLimits>>) -> Self {
        Self { shared_limits, ..self }
    }

    /// Logs refusals with these names of settings, and keeps explanations and events.
    #[must_use]
    pub fn with_explanations(self, explanations: Explanations) -> Self {
        Self { explanations, ..self }
    }

    /// Uses a replica for reads that may be stale.
    #[must_use]
    pub fn with_replica(self, replica: Option<Arc<Replica>>) -> Self {
        Self { replica, ..self }
    }

    /// Starts the journal of a request.
    pub fn start_journal(&self) -> Arc<Journal> {
        self.journals.start_journal(self.explanations.needs_trace())
    }

    /// Records the journal of every request, with these injected faults; for tests.
    #[must_use]
    pub fn recording_journals(self, faults: Arc<dyn FaultInjector>) -> Self {
        Self { journals: Journals { faults: Some(faults), recorded: Some(Arc::default()) }, ..self }
    }

    /// Injects faults into every request; for test environments.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn FaultInjector>) -> Self {
        Self { journals: Journals { faults: Some(faults), ..self.journals }, ..self }
    }
}

/// The journals of requests, recorded only in tests.
#[derive(Debug, Clone, Default)]
pub struct Journals {
    faults: Option<Arc<dyn FaultInjector>>,
    recorded: Option<Arc<Mutex<Vec<Arc<Journal>>>>>,
}

impl Journals {
    fn start_journal(&self, is_traced: bool) -> Arc<Journal> {
        let journal = match &self.faults {
            Some(faults) => Journal::with_faults(Arc::clone(faults)),
            None => Journal::default(),
        };
        let journal = Arc::new(if is_traced { journal.with_trace() } else { journal });
        if let Some(recorded) = &self.recorded {
            recorded.lock().unwrap_or_else(PoisonError::into_inner).push(journal.clone());
        }
        journal
    }

    /// All recorded journals, in the order in which the requests started.
    pub fn all(&self) -> Vec<Arc<Journal>> {
        let Some(recorded) = &self.recorded else { return Vec::new() };
        recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The journal of the most recent request.
    pub fn latest(&self) -> Option<Arc<Journal>> {
        self.all().pop()
    }
}
