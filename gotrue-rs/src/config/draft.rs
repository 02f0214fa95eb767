//! Settings before validation: values already in place, and parts that are only valid together.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::secret::Secret;
use gotrue_rules::domain::policy::{BloomFilter, HookKind, Policy};

use super::configuration::{Config, ListenAddress, SmtpSettings};
use super::problem::{Notice, Problem};
use super::telemetry_settings::TelemetryDraft;

/// Strings by name.
pub(super) type Texts = BTreeMap<String, String>;

/// Settings before validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Everything except the policy.
    pub config: Config,
    pub policy: Policy,
    /// The problems so far.
    pub problems: Vec<Problem>,
    /// The captcha settings.
    pub captcha: CaptchaDraft,
    /// Encryption at rest.
    pub encryption: EncryptionDraft,
    /// Hooks by key, disabled ones included.
    pub hooks: BTreeMap<&'static str, HookDraft>,
    /// The mail server, used if it has a host.
    pub smtp: SmtpSettings,
    /// Settings of the SMS providers by name.
    pub sms: BTreeMap<&'static str, String>,
    /// The relying party: id, name, origins.
    pub relying_party: (String, String, Vec<String>),
    /// Whether the Bloom filter of leaked passwords is enabled, and its size.
    pub bloom: (bool, BloomFilter),
    /// The configured algorithm for new password hashes.
    pub password_hash: String,
    /// Providers with their own linking domain, named like the provider.
    pub own_linking_domains: Vec<String>,
    /// Whether the validity period of relay states is negative.
    pub is_saml_period_negative: bool,
    /// The metrics: enabled, exporter, address.
    pub metrics: (bool, String, ListenAddress),
    /// The port of the metrics endpoint, if set. It is validated only if the endpoint is served.
    pub metrics_port: Option<String>,
    /// The export of traces and metrics.
    pub telemetry: TelemetryDraft,
}

/// The captcha settings, enabled or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptchaDraft {
    /// Whether captchas are required.
    pub enabled: bool,
    /// The name of the provider.
    pub provider: String,
    /// The shared secret.
    pub secret: Secret,
    /// The time limit of a verification.
    pub timeout: Duration,
}

/// Encryption at rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionDraft {
    /// Whether new secrets are encrypted.
    pub encrypt: bool,
    /// The id of the encrypting key.
    pub key_id: String,
    /// The encrypting key.
    pub key: Secret,
    /// All keys by id, base64url.
    pub keys: BTreeMap<String, Secret>,
}

/// A hook, enabled or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookDraft {
    /// Whether the hook is called.
    pub enabled: bool,
    /// The URI of the hook.
    pub uri: String,
    /// The secrets that sign the calls.
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
            is_saml_period_negative: false,
            metrics_port: None,
            metrics: (false, "opentelemetry".to_owned(), ListenAddress { host: "0.0.0.0".to_owned(), port: 9100 }),
            telemetry: TelemetryDraft::default(),
        }
    }
}

fn no_smtp() -> SmtpSettings {
    SmtpSettings {
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
    /// Adds a problem with a variable. The complaint is a sentence without subject and full stop.
    pub fn problem(&mut self, name: &str, complaint: impl Into<String>, example: &str) {
        self.problems.push(Problem { name: name.to_owned(), complaint: complaint.into(), example: example.to_owned() });
    }

    /// Adds a warning about a variable.
    pub fn warn(&mut self, name: &str, text: impl Into<String>) {
        self.config.notices.push(Notice::warning(name, text));
    }

    /// Adds a warning about a variable that is accepted without effect.
    pub fn unused(&mut self, name: &str, why: &str) {
        self.warn(name, format!("has no effect: {why}"));
    }

    /// Returns the settings of a built-in provider.
    pub fn provider(&mut self, name: &str) -> &mut gotrue_rules::domain::policy::ExternalProviderSettings {
        self.policy.external.providers.entry(name.to_owned()).or_default()
    }

    /// Returns the settings of a hook.
    pub fn hook(&mut self, key: &'static str) -> &mut HookDraft {
        self.hooks.entry(key).or_default()
    }
}

/// Parses a JSON object of arrays of strings, preserving its order; each `null` is empty.
pub(super) fn parse_header_lists(text: &str) -> Option<Vec<(String, Vec<String>)>> {
    let object: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(text).ok()?;
    let parse_values = |values| {
        let values: Option<Vec<Option<String>>> = serde_json::from_value(values).ok()?;
        Some(values.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect())
    };
    object.unwrap_or_default().into_iter().map(|(name, values)| Some((name, parse_values(values)?))).collect()
}

/// Converts the values of a map to secrets.
pub(super) fn secrets(texts: Texts) -> BTreeMap<String, Secret> {
    texts.into_iter().map(|(name, text)| (name, Secret::new(text))).collect()
}

/// The name of a hook in its variables, in lower case.
pub fn hook_key(kind: HookKind) -> &'static str {
    match kind {
        HookKind::SendSms => "send_sms",
        HookKind::SendEmail => "send_email",
        HookKind::CustomAccessToken => "custom_access_token",
        HookKind::MfaVerificationAttempt => "mfa_verification_attempt",
        HookKind::PasswordVerificationAttempt => "password_verification_attempt",
        HookKind::BeforeUserCreated => "before_user_created",
        HookKind::AfterUserCreated => "after_user_created",
    }
}
