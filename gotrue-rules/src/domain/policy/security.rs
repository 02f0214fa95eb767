//! Captcha, linking, re-authentication, encryption at rest.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::secret::{Secret, SecretKey};

/// Captcha, linking, re-authentication, encryption at rest. Everything is off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecurityPolicy {
    /// The captcha that guards the open routes; absent: none. Default absent.
    pub captcha: Option<Captcha>,
    /// A user may link and unlink identities. Default false.
    pub manual_linking_enabled: bool,
    /// Accounts are joined only by addresses that were proved: an address that neither the provider nor its owner's
    /// confirmation stands for joins nothing, and who proves the address of an unconfirmed account gets it without what
    /// anybody else had put into it (sessions, factors, passkeys, number). Default false.
    pub strict_linking: bool,
    /// A password change needs a fresh session or a mailed code. Default false.
    pub update_password_require_reauthentication: bool,
    /// A password change needs the old password. Default false.
    pub update_password_require_current_password: bool,
    /// `Sb-Forwarded-For` names the caller's address. Default false.
    pub sb_forwarded_for_enabled: bool,
    /// Requests for a message do the same work whether or not the address or number has an account, so that their
    /// duration does not tell; needs the schema `basalt`. Default false.
    pub equal_work: bool,
    /// Encryption of secrets in the database.
    pub encryption: Encryption,
}

/// The captcha that guards the open routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captcha {
    /// Who verifies. Default hCaptcha.
    pub provider: CaptchaProvider,
    /// The secret shared with them, without white space around it.
    pub secret: Secret,
    /// Time limit of a verification. Default 10 s.
    pub timeout: Duration,
}

/// Who verifies a captcha.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptchaProvider {
    /// hCaptcha.
    #[default]
    Hcaptcha,
    /// Cloudflare Turnstile.
    Turnstile,
}

/// Encryption of secrets in the database. Off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encryption {
    /// Id of the key that new secrets are encrypted with, one of `keys`; absent: they are stored in the clear.
    pub encrypt_with: Option<String>,
    /// Keys by id: what was encrypted with one of them can be read.
    pub keys: BTreeMap<String, SecretKey>,
}

impl Encryption {
    /// The key that new secrets are encrypted with, and its id.
    pub fn encrypting(&self) -> Option<(&str, &SecretKey)> {
        let id = self.encrypt_with.as_deref()?;
        self.keys.get(id).map(|key| (id, key))
    }
}
