//! Policy for captcha, linking, reauthentication and encryption at rest.

use std::time::Duration;

use foundation::encryption::Encryption;
use foundation::secret::Secret;

/// Captcha, linking, reauthentication, encryption at rest. Everything is off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecurityPolicy {
    /// The captcha of the public routes; absent: none. Default absent.
    pub captcha: Option<CaptchaPolicy>,
    /// Users can link and unlink identities. Default false.
    pub manual_linking_enabled: bool,
    /// Users are linked only by verified addresses. Default false.
    ///
    /// An address that neither the provider nor a confirmation verifies does not link. Verifying the address of an
    /// unconfirmed user takes it over without its sessions, factors, passkeys and number, which another party may have
    /// set.
    pub is_linking_strict: bool,
    /// A password change requires a recent session or a reauthentication code. Default false.
    pub update_password_require_reauthentication: bool,
    /// A password change requires the current password. Default false.
    pub update_password_require_current_password: bool,
    /// `Sb-Forwarded-For` contains the client address. Default false.
    pub sb_forwarded_for_enabled: bool,
    /// Requests for messages do equal work for known and unknown contacts, against timing attacks.
    /// Default false.
    ///
    /// Responses about addresses and codes end at a time step, too. Requires the schema `basalt`.
    pub is_equal_work_enabled: bool,
    /// A sign-in by password tells only after the right one that the user is banned. Default false: at once.
    pub is_ban_confidential: bool,
    /// Encryption of secrets in the database.
    pub encryption: Encryption,
}

/// The captcha of the public routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptchaPolicy {
    /// The verification service. Default hCaptcha.
    pub provider: CaptchaProvider,
    /// The shared secret, trimmed.
    pub secret: Secret,
    /// Time limit of a verification. Default 10 s.
    pub timeout: Duration,
}

/// The captcha verification service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptchaProvider {
    /// hCaptcha.
    #[default]
    Hcaptcha,
    /// Cloudflare Turnstile.
    Turnstile,
}
