//! Policy for e-mail messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foundation::mail_brand::MailBrand;

use crate::domain::mail_address::is_listed;

/// The kinds of e-mail messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MailKind {
    /// An administrator's invitation.
    Invite,
    /// Confirmation of a new user's address.
    Confirmation,
    /// Password recovery.
    Recovery,
    /// Sign-in by magic link.
    MagicLink,
    /// Confirmation of an email change.
    EmailChange,
    /// The code before a sensitive change.
    Reauthentication,
    /// The password was changed.
    PasswordChanged,
    /// The address was changed; sent to the old one.
    EmailChanged,
    /// The phone number was changed.
    PhoneChanged,
    /// An identity was linked.
    IdentityLinked,
    /// An identity was unlinked.
    IdentityUnlinked,
    /// A second factor was added.
    MfaFactorEnrolled,
    /// A second factor was removed.
    MfaFactorUnenrolled,
}

impl MailKind {
    /// All kinds, those with a code first.
    pub const ALL: [Self; 13] = [
        Self::Invite,
        Self::Confirmation,
        Self::Recovery,
        Self::MagicLink,
        Self::EmailChange,
        Self::Reauthentication,
        Self::PasswordChanged,
        Self::EmailChanged,
        Self::PhoneChanged,
        Self::IdentityLinked,
        Self::IdentityUnlinked,
        Self::MfaFactorEnrolled,
        Self::MfaFactorUnenrolled,
    ];

    /// Returns the configuration name of the kind: `magic_link`, `password_changed_notification`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invite => "invite",
            Self::Confirmation => "confirmation",
            Self::Recovery => "recovery",
            Self::MagicLink => "magic_link",
            Self::EmailChange => "email_change",
            Self::Reauthentication => "reauthentication",
            Self::PasswordChanged => "password_changed_notification",
            Self::EmailChanged => "email_changed_notification",
            Self::PhoneChanged => "phone_changed_notification",
            Self::IdentityLinked => "identity_linked_notification",
            Self::IdentityUnlinked => "identity_unlinked_notification",
            Self::MfaFactorEnrolled => "mfa_factor_enrolled_notification",
            Self::MfaFactorUnenrolled => "mfa_factor_unenrolled_notification",
        }
    }

    /// Whether the message is a notification without a code or link.
    pub fn is_notification(self) -> bool {
        self >= Self::PasswordChanged
    }
}

/// Policy for e-mail messages.
#[derive(Debug, Clone, PartialEq)]
pub struct MailPolicy {
    /// A new address is confirmed at once. Default false.
    pub autoconfirm: bool,
    /// Password sign-in is allowed before the address is confirmed. Default false.
    pub allow_unverified_sign_ins: bool,
    /// An email change is confirmed at the old and the new address. Default true.
    pub secure_email_change: bool,
    /// Lifetime of a code or link. Default 24 h.
    pub otp_exp: Duration,
    /// Number of digits of a code, 6–10. Default 6.
    pub otp_length: usize,
    /// Minimum interval between two messages of one kind to one user. Default 1 min.
    pub max_frequency: Duration,
    pub paths: LinkPaths,
    /// Custom subjects (Go templates). Default none.
    pub subjects: BTreeMap<MailKind, String>,
    /// Locations of custom bodies: a URL, or a path below the site URL. Default none.
    pub templates: BTreeMap<MailKind, String>,
    /// Enabled notifications. Default none.
    pub notifications: BTreeSet<MailKind>,
    /// Allowed recipients, compared in lower case and without `+tag`; empty: all. Default empty.
    pub authorized_addresses: Vec<String>,
    /// Validation of recipient addresses.
    pub address_check: AddressCheck,
    /// Fetching and caching of templates.
    pub template_fetch: TemplateFetch,
    /// Links carry a random part, so that they do not follow from an address and its code. Default false.
    pub are_links_unguessable: bool,
    /// Messages have a plain-text part. Default false.
    pub has_plain_text_part: bool,
    /// Messages are sent in the background, and failures are only logged. Default false.
    pub background_sending: bool,
    /// The look of the built-in messages, which are then localised. Default none: English, no brand.
    pub brand: Option<MailBrand>,
}

impl MailPolicy {
    /// Returns the custom subject of this kind, if there is one.
    pub fn subject(&self, kind: MailKind) -> Option<&str> {
        self.subjects.get(&kind).map(String::as_str)
    }

    /// Returns the location of the custom body of this kind, if there is one.
    pub fn template(&self, kind: MailKind) -> Option<&str> {
        self.templates.get(&kind).map(String::as_str)
    }

    /// Whether the address is an allowed recipient.
    pub fn is_recipient_allowed(&self, address: &str) -> bool {
        self.authorized_addresses.is_empty() || is_listed(address, &self.authorized_addresses)
    }

    /// Whether the notification is enabled.
    pub fn is_notification_enabled(&self, kind: MailKind) -> bool {
        self.notifications.contains(&kind)
    }
}

impl Default for MailPolicy {
    fn default() -> Self {
        Self {
            autoconfirm: false,
            allow_unverified_sign_ins: false,
            secure_email_change: true,
            otp_exp: Duration::from_hours(24),
            otp_length: 6,
            max_frequency: Duration::from_mins(1),
            paths: LinkPaths::default(),
            subjects: BTreeMap::new(),
            templates: BTreeMap::new(),
            notifications: BTreeSet::new(),
            authorized_addresses: Vec::new(),
            address_check: AddressCheck::default(),
            template_fetch: TemplateFetch::default(),
            are_links_unguessable: false,
            has_plain_text_part: false,
            background_sending: false,
            brand: None,
        }
    }
}

/// Paths of links, resolved against the external URL: an absolute path replaces its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPaths {
    /// Invitations. Default `/verify`.
    pub invite: String,
    /// Confirmations. Default `/verify`.
    pub confirmation: String,
    /// Recoveries and magic links. Default `/verify`.
    pub recovery: String,
    /// Email changes. Default `/verify`.
    pub email_change: String,
}

impl Default for LinkPaths {
    fn default() -> Self {
        let verify = || "/verify".to_owned();
        Self { invite: verify(), confirmation: verify(), recovery: verify(), email_change: verify() }
    }
}

/// Validation of recipient addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressCheck {
    /// Example addresses and undeliverable hosts are rejected. Default false.
    pub extended: bool,
    /// URL of an address validation service; empty: none. Default empty.
    pub service_url: String,
    /// Request headers of the service, in this order. Default none.
    pub service_headers: Vec<(String, Vec<String>)>,
    /// Blocked MX hosts, without a trailing dot. Default none.
    pub blocked_mx: BTreeSet<String>,
}

/// Fetching and caching of templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFetch {
    /// Maximum body size in bytes; the rest is cut off. Default 1 000 000.
    pub max_size: usize,
    /// Cache lifetime of a template. Default 10 min.
    pub max_age: Duration,
    /// Interval after a failed fetch. Default 10 s.
    pub retry_interval: Duration,
    /// Templates are reloaded in the background. Default false.
    pub reloading_enabled: bool,
    /// Idle time after which background reloading pauses. Default 20 min.
    pub reloading_max_idle: Duration,
    /// A text with a mistake that Go finds only when it renders it, such as an unknown variable, is not used.
    pub should_refuse_mistakes: bool,
}

impl Default for TemplateFetch {
    fn default() -> Self {
        Self {
            max_size: 1_000_000,
            max_age: Duration::from_mins(10),
            retry_interval: Duration::from_secs(10),
            reloading_enabled: false,
            reloading_max_idle: Duration::from_mins(20),
            should_refuse_mistakes: false,
        }
    }
}
