//! The application: what the operator decided and the ports to the outside. It never changes: settings that are read
//! again make another one, which keeps what has to last.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::redirect::{AllowList, BadPattern};
use gotrue_rules::wire::discovery::DiscoveryJson;
use gotrue_rules::wire::settings::SettingsJson;
use tokio::sync::Notify;
use url::Url;

use crate::journal::{Faults, Journal};
use crate::ports::captcha::Verifier;
use crate::ports::clock::SharedClock;
use crate::ports::entropy::Entropy;
use crate::ports::hashing::HashingPool;
use crate::ports::hooks::Hooks;
use crate::ports::http_client::HttpClient;
use crate::ports::keys::{KeyError, KeyRing, KeySettings};
use crate::ports::limits::Limits;
use crate::ports::mail::SharedMailer;
use crate::ports::mail::addresses::Addresses;
use crate::ports::mail::outbox::Outbox;
use crate::ports::mail::template::Templates;
use crate::ports::oidc::Oidc;
use crate::ports::pwned::{self, PwnedPasswords};
use crate::ports::saml::{SamlIdentity, SamlKeyError};
use crate::ports::sms::Texts;
use crate::store::Pool;

/// Everything a request needs that is not the request's own.
#[derive(Debug)]
pub struct App {
    /// What the operator decided.
    pub policy: Policy,
    /// The database.
    pub pool: Pool,
    /// The time.
    pub clock: SharedClock,
    /// Randomness; each request forks its own stream.
    pub entropy: Entropy,
    /// Password hashing on threads of its own.
    pub hashing: Arc<HashingPool>,
    /// The list of leaked passwords.
    pub pwned: Arc<PwnedPasswords>,
    /// The keys of access tokens.
    pub keys: KeyRing,
    /// Ourselves as a SAML service provider; none while SAML is off.
    pub saml: Option<SamlIdentity>,
    /// What mails say.
    pub letters: Templates,
    /// What is checked of an address before it is written to.
    pub addresses: Addresses,
    /// Who takes mails, and when.
    pub delivery: Delivery,
    /// Who takes messages to phones, and what they say.
    pub texts: Texts,
    /// The host in the ids of mails: that of the server's own URL.
    pub mail_host: String,
    /// Answers that are the same for every request.
    pub prepared: Prepared,
    /// Where browsers may be sent back to.
    pub redirects: AllowList,
    /// How often who has asked for what.
    pub limits: Arc<Limits>,
    /// What is called at certain moments.
    pub hooks: Hooks,
    /// Requests to the outside: providers and what they publish.
    pub http: Arc<HttpClient>,
    /// Issuers of other services, and their ID tokens.
    pub oidc: Arc<Oidc>,
    /// Who verifies captchas, where they are asked for.
    pub captcha: Option<Verifier>,
    /// Told of every write, so that old rows go in the background.
    pub cleanup: Arc<Cleanup>,
    /// Journals kept for tests; keeps nothing unless asked.
    pub journals: Journals,
}

/// What the clean-up of old rows hears of, and how far it has come.
#[derive(Debug, Default)]
pub struct Cleanup {
    written: Notify,
    turn: AtomicUsize,
}

impl Cleanup {
    /// Tells that something was written. Nobody waits for what comes of it, and many writes are told of as one.
    pub fn tell(&self) {
        self.written.notify_one();
    }

    /// Completes once something was written since the last time.
    pub async fn wrote(&self) {
        self.written.notified().await;
    }

    /// Which kind of rows is next, counted up without an end.
    pub fn turn(&self) -> usize {
        self.turn.load(Ordering::Relaxed)
    }

    /// Goes on to the next kind.
    pub fn next_kind(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }
}

/// The outside, as the server or a test chooses it.
#[derive(Debug)]
pub struct Ports {
    /// The database.
    pub pool: Pool,
    /// The time.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: Entropy,
    /// Password hashing.
    pub hashing: Arc<HashingPool>,
    /// Who takes mails, and when.
    pub delivery: Delivery,
    /// Requests to the outside.
    pub http: Arc<HttpClient>,
}

/// Answers that are the same for every request, as JSON.
#[derive(Debug)]
pub struct Prepared {
    /// The body of `GET /settings`.
    pub settings: String,
    /// The body of the discovery documents.
    pub discovery: String,
}

impl Prepared {
    fn of(policy: &Policy) -> Result<Self, BuildError> {
        Ok(Self {
            settings: serde_json::to_string(&SettingsJson::from(policy))?,
            discovery: serde_json::to_string(&DiscoveryJson::from(policy))?,
        })
    }
}

/// Who takes mails, and when: within the request, or a table that a worker empties.
#[derive(Clone)]
pub enum Delivery {
    /// The request waits until a mail server has taken the mail.
    AtOnce(SharedMailer),
    /// The mail is a row of the write that asks for it.
    Outbox(Arc<Outbox>),
}

impl Delivery {
    /// Whether mails wait in a table until they are sent.
    pub fn is_outbox(&self) -> bool {
        matches!(self, Self::Outbox(_))
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AtOnce(_) => "AtOnce",
            Self::Outbox(_) => "Outbox",
        })
    }
}

/// Why an application cannot be built from what the operator decided.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The keys of access tokens cannot be used.
    #[error("GOTRUE_JWT_KEYS: {0}")]
    Keys(#[from] KeyError),
    /// A key of SAML cannot be used.
    #[error("GOTRUE_SAML_PRIVATE_KEY: {0}")]
    Saml(#[from] SamlKeyError),
    /// A pattern of the redirect allow-list cannot be used.
    #[error("GOTRUE_URI_ALLOW_LIST: {0}")]
    Redirects(#[from] BadPattern),
    /// An answer cannot be written as JSON.
    #[error("preparing an answer: {0}")]
    Json(#[from] serde_json::Error),
}

impl App {
    /// Prepares everything that requests will need.
    pub fn build(policy: Policy, keys: KeySettings<'_>, ports: Ports) -> Result<Self, BuildError> {
        let host = Url::parse(&policy.site.external_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        Ok(Self {
            keys: KeyRing::build(keys)?,
            saml: SamlIdentity::build(&policy.saml, &policy.site.external_url)?,
            prepared: Prepared::of(&policy)?,
            redirects: AllowList::compile(&policy.site.site_url, &policy.site.redirect_allow_list)?
                .strict(policy.site.strict_redirects),
            addresses: Addresses::new(&policy.mail.address_check, &ports.http),
            letters: Templates::new(&policy.mail, &policy.site, &ports.http),
            pwned: Arc::new(PwnedPasswords::at(pwned::SERVICE, &policy.password.hibp, ports.http.clone())),
            delivery: ports.delivery,
            texts: Texts::new(&policy, &ports.http),
            mail_host: host.unwrap_or_else(|| "localhost".to_owned()),
            hooks: Hooks::new(&policy.hooks, &ports.http, &ports.clock),
            captcha: policy.security.captcha.as_ref().map(|captcha| Verifier::new(captcha, ports.http.clone())),
            oidc: Arc::new(Oidc::new(&policy.external, &ports.http, &ports.clock)),
            http: ports.http,
            policy,
            limits: Arc::new(Limits::new(ports.clock.now())),
            pool: ports.pool,
            clock: ports.clock,
            entropy: ports.entropy,
            hashing: ports.hashing,
            cleanup: Arc::default(),
            journals: Journals::default(),
        })
    }

    /// The application under other settings. Database, clock, hashing threads and counters are kept, and so is what was
    /// fetched from elsewhere where its settings are the same. Requests under way keep the application they came to. The
    /// error leaves everything as it was.
    pub fn renewed(
        &self,
        policy: Policy,
        keys: KeySettings<'_>,
        delivery: Delivery,
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
        let same_way = Arc::ptr_eq(&self.http, &new.http);
        let kept = |same: bool| same && same_way;
        self.limits.follow(&self.policy.limits, &new.policy.limits);
        Ok(Self {
            letters: new.letters.keeping(&self.letters),
            pwned: if kept(self.policy.password.hibp == new.policy.password.hibp) {
                self.pwned.clone()
            } else {
                new.pwned
            },
            oidc: if kept(self.policy.external == new.policy.external) { self.oidc.clone() } else { new.oidc },
            limits: Arc::clone(&self.limits),
            cleanup: Arc::clone(&self.cleanup),
            journals: self.journals.clone(),
            ..new
        })
    }

    /// The same application, keeping the journal of every request, which these faults may strike: for tests.
    #[must_use]
    pub fn keeping_journals(self, faults: Arc<dyn Faults>) -> Self {
        Self { journals: Journals(Some(Arc::new(Kept { faults, journals: Mutex::default() }))), ..self }
    }
}

/// The journals of requests, kept only where a test asks for them.
#[derive(Debug, Clone, Default)]
pub struct Journals(Option<Arc<Kept>>);

#[derive(Debug)]
struct Kept {
    faults: Arc<dyn Faults>,
    journals: Mutex<Vec<Arc<Journal>>>,
}

impl Journals {
    /// The journal of a request that begins.
    pub fn open(&self) -> Arc<Journal> {
        let Some(kept) = &self.0 else { return Arc::default() };
        let journal = Arc::new(Journal::with_faults(Arc::clone(&kept.faults)));
        kept.journals.lock().unwrap_or_else(PoisonError::into_inner).push(journal.clone());
        journal
    }

    /// All journals kept, in the order in which the requests came.
    pub fn all(&self) -> Vec<Arc<Journal>> {
        let Some(kept) = &self.0 else { return Vec::new() };
        kept.journals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The journal of the latest request.
    pub fn latest(&self) -> Option<Arc<Journal>> {
        self.all().pop()
    }
}
