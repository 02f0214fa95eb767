//! Policies for second factors, WebAuthn and passkeys.

use std::time::Duration;

use super::accounts::Argon2Cost;
use super::sms::DEFAULT_TEMPLATE;

/// Second factors.
#[derive(Debug, Clone, PartialEq)]
pub struct MfaPolicy {
    /// Maximum number of factors per user, verified or not. Default 10.
    pub max_enrolled_factors: usize,
    /// Maximum number of verified factors per user. Default 10.
    pub max_verified_factors: usize,
    /// Lifetime of a challenge; never below 5 min. Default 5 min.
    pub challenge_expiry: Duration,
    /// Age after which an unverified factor does not block a new one; never below 5 min. Default 5 min.
    pub factor_expiry: Duration,
    /// TOTP enrollment is allowed. Default true.
    pub totp_enroll_enabled: bool,
    /// TOTP codes are accepted. Default true.
    pub totp_verify_enabled: bool,
    pub phone: PhoneFactorPolicy,
    /// WebAuthn enrollment is allowed. Default false.
    pub webauthn_enroll_enabled: bool,
    /// WebAuthn factors are accepted. Default false.
    pub webauthn_verify_enabled: bool,
    pub recovery_codes: RecoveryCodesPolicy,
    /// A TOTP code is accepted only once within its validity. Default false.
    pub is_totp_replay_rejected: bool,
    /// The first verification of a factor requires `aal2` if the user has a verified factor. Default false.
    pub first_verification_requires_aal2: bool,
    /// Linking and unlinking identities requires `aal2` if the user has a verified factor. Default false.
    pub linking_requires_aal2: bool,
}

impl Default for MfaPolicy {
    fn default() -> Self {
        Self {
            max_enrolled_factors: 10,
            max_verified_factors: 10,
            challenge_expiry: Duration::from_mins(5),
            factor_expiry: Duration::from_mins(5),
            totp_enroll_enabled: true,
            totp_verify_enabled: true,
            phone: PhoneFactorPolicy::default(),
            webauthn_enroll_enabled: false,
            webauthn_verify_enabled: false,
            recovery_codes: RecoveryCodesPolicy::default(),
            is_totp_replay_rejected: false,
            first_verification_requires_aal2: false,
            linking_requires_aal2: false,
        }
    }
}

/// Single-use codes for users who lost their other second factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryCodesPolicy {
    /// Codes can be generated. Default false.
    pub enroll_enabled: bool,
    /// Codes are accepted. Default false.
    pub verify_enabled: bool,
    /// Number of codes of a user, 4–16. Default 10.
    pub count: usize,
    /// Number of characters of a code, 13–32. Default 16, which is 80 bits.
    pub code_length: usize,
    /// The cost of the argon2id hash that is stored of a code.
    pub hash_cost: Argon2Cost,
    /// Wrong codes in a row that lock verification, 3–15. Default 5.
    pub max_verify_attempts: u32,
    /// How long verification is locked, 1 min to 24 h. Default 15 min.
    pub lockout_duration: Duration,
}

impl RecoveryCodesPolicy {
    /// Whether requests may use the tables of recovery codes.
    pub fn is_enabled(&self) -> bool {
        self.enroll_enabled || self.verify_enabled
    }
}

impl Default for RecoveryCodesPolicy {
    fn default() -> Self {
        Self {
            enroll_enabled: false,
            verify_enabled: false,
            count: 10,
            code_length: 16,
            hash_cost: Argon2Cost::default(),
            max_verify_attempts: 5,
            lockout_duration: Duration::from_mins(15),
        }
    }
}

/// Phone codes as a second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhoneFactorPolicy {
    /// Enrollment is allowed. Default false.
    pub enroll_enabled: bool,
    /// Codes are accepted. Default false.
    pub verify_enabled: bool,
    /// Number of digits of a code, 6–10. Default 6.
    pub otp_length: usize,
    /// Minimum interval between two messages. Default 1 min.
    pub max_frequency: Duration,
    /// The message (a Go text template over `.Code`). Default `Your code is {{ .Code }}`.
    pub template: String,
}

impl Default for PhoneFactorPolicy {
    fn default() -> Self {
        Self {
            enroll_enabled: false,
            verify_enabled: false,
            otp_length: 6,
            max_frequency: Duration::from_mins(1),
            template: DEFAULT_TEMPLATE.to_owned(),
        }
    }
}

/// The WebAuthn relying party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAuthnPolicy {
    /// The relying party; absent if it is not fully configured. Default absent.
    pub relying_party: Option<RelyingParty>,
    /// Lifetime of a challenge. Default 5 min.
    pub challenge_expiry: Duration,
    /// A signature counter that does not increase is rejected, as a sign of a cloned key. Default false.
    pub counter_must_increase: bool,
}

impl Default for WebAuthnPolicy {
    fn default() -> Self {
        Self { relying_party: None, challenge_expiry: Duration::from_mins(5), counter_must_increase: false }
    }
}

/// The relying party of WebAuthn ceremonies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The RP id, a host name: the site's own or a parent domain.
    pub id: String,
    pub display_name: String,
    /// Allowed origins, at least one.
    pub origins: Vec<String>,
}

/// Sign-in with passkeys, without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyPolicy {
    /// Passkeys can be registered and used. Default false.
    pub enabled: bool,
    /// Maximum number of passkeys per user. Default 10.
    pub max_per_user: usize,
    /// User verification is required: otherwise possession of the authenticator is sufficient.
    /// Default false.
    pub requires_user_verification: bool,
}

impl Default for PasskeyPolicy {
    fn default() -> Self {
        Self { enabled: false, max_per_user: 10, requires_user_verification: false }
    }
}
