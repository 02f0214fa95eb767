//! Settings on their way to a [`Config`]: what is already in place, and the parts that only make sense together.

use std::collections::BTreeMap;
use std::time::Duration;

use gotrue_rules::domain::policy::{BloomFilter, Policy};
use gotrue_rules::domain::secret::Secret;

use super::problem::{Notice, Problem};
use super::{Config, Listen, Smtp, Texts};

/// Settings on their way.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Everything but the policy.
    pub config: Config,
    /// The policy.
    pub policy: Policy,
    /// What was wrong so far.
    pub problems: Vec<Problem>,
    /// The captcha, on or off.
    pub captcha: CaptchaDraft,
    /// Encryption at rest.
    pub encryption: EncryptionDraft,
    /// Hooks by their key, on or off.
    pub hooks: BTreeMap<&'static str, HookDraft>,
    /// The mail server, used where it has a host.
    pub smtp: Smtp,
    /// What the SMS providers need, by name.
    pub sms: BTreeMap<&'static str, String>,
    /// The relying party: id, name, origins.
    pub relying_party: (String, String, Vec<String>),
    /// The filter of leaked passwords, and whether it is on.
    pub bloom: (bool, BloomFilter),
    /// The word for the hash of new passwords, and the cost of bcrypt.
    pub password_hash: String,
    /// Providers with a linking pool of their own, each by its name.
    pub own_linking_domains: Vec<String>,
    /// The life of a relay state was given below zero.
    pub saml_period_negative: bool,
    /// Metrics: whether they are on, how they leave, where they are served.
    pub metrics: (bool, String, Listen),
}

/// The captcha, on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptchaDraft {
    /// On.
    pub enabled: bool,
    /// Who verifies.
    pub provider: String,
    /// The shared secret.
    pub secret: Secret,
    /// Time limit.
    pub timeout: Duration,
}

/// Encryption at rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionDraft {
    /// New secrets are encrypted.
    pub encrypt: bool,
    /// With the key of this id.
    pub key_id: String,
    /// And of this value.
    pub key: Secret,
    /// All keys by id, base64url.
    pub keys: BTreeMap<String, Secret>,
}

/// A hook, on or off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookDraft {
    /// On.
    pub enabled: bool,
    /// What is called.
    pub uri: String,
    /// What calls are signed with.
    pub secrets: Vec<Secret>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            config: Config::default(),
            policy: Policy::default(),
            problems: Vec::new(),
            captcha: CaptchaDraft {
                enabled: false,
                provider: "hcaptcha".to_owned(),
                secret: Secret::default(),
                timeout: Duration::from_secs(10),
            },
            encryption: EncryptionDraft::default(),
            hooks: BTreeMap::new(),
            smtp: no_smtp(),
            sms: BTreeMap::new(),
            relying_party: (String::new(), String::new(), Vec::new()),
            bloom: (false, BloomFilter::default()),
            password_hash: "bcrypt".to_owned(),
            own_linking_domains: Vec::new(),
            saml_period_negative: false,
            metrics: (false, "opentelemetry".to_owned(), Listen { host: "0.0.0.0".to_owned(), port: 9100 }),
        }
    }
}

fn no_smtp() -> Smtp {
    Smtp {
        host: String::new(),
        port: 587,
        user: String::new(),
        pass: Secret::default(),
        admin_email: String::new(),
        sender_name: String::new(),
        headers: Vec::new(),
        logging_enabled: false,
    }
}

impl Draft {
    /// A problem with a variable. The complaint is a sentence without its subject and full stop.
    pub fn problem(&mut self, name: &str, complaint: impl Into<String>, example: &str) {
        self.problems.push(Problem { name: name.to_owned(), complaint: complaint.into(), example: example.to_owned() });
    }

    /// A warning about a variable.
    pub fn warn(&mut self, name: &str, text: impl Into<String>) {
        self.config.notices.push(Notice::warning(name, text));
    }

    /// A variable that is accepted and has no effect.
    pub fn unused(&mut self, name: &str, why: &str) {
        self.warn(name, format!("has no effect: {why}"));
    }

    /// The settings of a built-in provider.
    pub fn provider(&mut self, name: &str) -> &mut gotrue_rules::domain::policy::ExternalProvider {
        self.policy.external.providers.entry(name.to_owned()).or_default()
    }

    /// The parts of a hook.
    pub fn hook(&mut self, key: &'static str) -> &mut HookDraft {
        self.hooks.entry(key).or_default()
    }
}

/// A JSON object whose members are lists of texts, in its order.
pub fn header_lists(text: &str) -> Option<Vec<(String, Vec<String>)>> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    object.into_iter().map(|(name, values)| Some((name, serde_json::from_value(values).ok()?))).collect()
}

/// A map whose values are secrets.
pub fn secrets(texts: Texts) -> BTreeMap<String, Secret> {
    texts.into_iter().map(|(name, text)| (name, Secret::new(text))).collect()
}
