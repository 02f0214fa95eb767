//! Messages by e-mail.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::domain::mail_address::is_listed;

/// The mails there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MailKind {
    /// An administrator's invitation.
    Invite,
    /// Confirmation of a new account's address.
    Confirmation,
    /// The way to a new password.
    Recovery,
    /// Sign-in without a password.
    MagicLink,
    /// Confirmation of a new address.
    EmailChange,
    /// The code asked for before a sensitive change.
    Reauthentication,
    /// The password was changed.
    PasswordChanged,
    /// The address was changed; goes to the old one.
    EmailChanged,
    /// The phone number was changed.
    PhoneChanged,
    /// A way to sign in was added.
    IdentityLinked,
    /// A way to sign in was removed.
    IdentityUnlinked,
    /// A second factor was added.
    MfaFactorEnrolled,
    /// A second factor was removed.
    MfaFactorUnenrolled,
}

impl MailKind {
    /// All kinds, the ones that carry a code first.
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

    /// The name of the kind where its subject and template are set: `magic_link`, `password_changed_notification`.
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

    /// Whether the mail only tells of something done, without a code or link.
    pub fn is_notification(self) -> bool {
        self >= Self::PasswordChanged
    }
}

/// What is mailed, when and how.
#[derive(Debug, Clone, PartialEq)]
pub struct MailPolicy {
    /// A new address counts as confirmed at once. Default false.
    pub autoconfirm: bool,
    /// An account may sign in by password before its address is confirmed. Default false.
    pub allow_unverified_sign_ins: bool,
    /// A change of address is confirmed at the old and at the new one. Default true.
    pub secure_email_change: bool,
    /// Life of a mailed code or link. Default 24 h.
    pub otp_exp: Duration,
    /// Digits of a mailed code, 6–10. Default 6.
    pub otp_length: usize,
    /// Shortest time between two mails of one kind to one account. Default 1 min.
    pub max_frequency: Duration,
    /// The paths of mailed links.
    pub paths: LinkPaths,
    /// Subjects that replace the built-in ones (Go templates). Default none.
    pub subjects: BTreeMap<MailKind, String>,
    /// Where bodies that replace the built-in ones are fetched: a URL, or a path below the site URL. Default none.
    pub templates: BTreeMap<MailKind, String>,
    /// Notifications that are sent. Default none.
    pub notifications: BTreeSet<MailKind>,
    /// Addresses that may be written to, compared in lower case and without `+label`; empty: all. Default empty.
    pub authorized_addresses: Vec<String>,
    /// What is checked of an address before it is written to.
    pub address_check: AddressCheck,
    /// How templates are fetched and kept.
    pub template_fetch: TemplateFetch,
    /// Mails have their words as plain text too, for readers that show no HTML. Default false.
    pub plain_text_part: bool,
    /// Mail is sent beside the request, and a failure is only logged. Default false.
    pub background_sending: bool,
}

impl MailPolicy {
    /// The operator's subject of this kind, if there is one.
    pub fn subject(&self, kind: MailKind) -> Option<&str> {
        self.subjects.get(&kind).map(String::as_str)
    }

    /// Where the operator's body of this kind is fetched, if there is one.
    pub fn template(&self, kind: MailKind) -> Option<&str> {
        self.templates.get(&kind).map(String::as_str)
    }

    /// Whether this address may be written to.
    pub fn may_write_to(&self, address: &str) -> bool {
        self.authorized_addresses.is_empty() || is_listed(address, &self.authorized_addresses)
    }

    /// Whether this notification is sent.
    pub fn notifies(&self, kind: MailKind) -> bool {
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
            plain_text_part: false,
            background_sending: false,
        }
    }
}

/// Where mailed links lead: resolved against the external URL, so that an absolute path replaces the base's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPaths {
    /// Of invitations. Default `/verify`.
    pub invite: String,
    /// Of confirmations. Default `/verify`.
    pub confirmation: String,
    /// Of recoveries and magic links. Default `/verify`.
    pub recovery: String,
    /// Of address changes. Default `/verify`.
    pub email_change: String,
}

impl Default for LinkPaths {
    fn default() -> Self {
        let verify = || "/verify".to_owned();
        Self { invite: verify(), confirmation: verify(), recovery: verify(), email_change: verify() }
    }
}

/// What is checked of an address before it is written to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressCheck {
    /// Well-known example addresses, and hosts that take no mail, are refused. Default false.
    pub extended: bool,
    /// A service that is asked about each address; empty: none. Default empty.
    pub service_url: String,
    /// Headers of the question, in the order given. Default none.
    pub service_headers: Vec<(String, Vec<String>)>,
    /// Mail servers that are not delivered to, without a dot at the end. Default none.
    pub blocked_mx: BTreeSet<String>,
}

/// How templates are fetched and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFetch {
    /// A body is cut off at this many bytes. Default 1 000 000.
    pub max_size: usize,
    /// How long a template is used before it is fetched again. Default 10 min.
    pub max_age: Duration,
    /// How long to wait after a failed fetch. Default 10 s.
    pub retry_interval: Duration,
    /// Templates are fetched again in the background. Default false.
    pub reloading_enabled: bool,
    /// After this long without a request the background fetching rests. Default 20 min.
    pub reloading_max_idle: Duration,
}

impl Default for TemplateFetch {
    fn default() -> Self {
        Self {
            max_size: 1_000_000,
            max_age: Duration::from_mins(10),
            retry_interval: Duration::from_secs(10),
            reloading_enabled: false,
            reloading_max_idle: Duration::from_mins(20),
        }
    }
}
