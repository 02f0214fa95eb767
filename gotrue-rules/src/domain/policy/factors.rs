//! Second factors, security keys, passkeys.

use std::time::Duration;

use super::sms::DEFAULT_TEMPLATE;

/// Second factors.
#[derive(Debug, Clone, PartialEq)]
pub struct MfaPolicy {
    /// Most factors an account may have, verified or not. Default 10.
    pub max_enrolled_factors: usize,
    /// Most verified ones. Default 10.
    pub max_verified_factors: usize,
    /// Life of a challenge; never below 5 min. Default 5 min.
    pub challenge_expiry: Duration,
    /// An unverified factor older than this no longer stands in the way of a new one; never below 5 min. Default 5 min.
    pub factor_expiry: Duration,
    /// Codes of an app may be set up. Default true.
    pub totp_enroll_enabled: bool,
    /// Codes of an app are accepted. Default true.
    pub totp_verify_enabled: bool,
    /// Codes by phone.
    pub phone: PhoneFactorPolicy,
    /// Security keys may be set up. Default false.
    pub webauthn_enroll_enabled: bool,
    /// Security keys are accepted. Default false.
    pub webauthn_verify_enabled: bool,
    /// A code of an app counts once, also in the half minute in which it would still be good. Default false.
    pub totp_replay_refused: bool,
    /// A factor that was never verified needs a session that has shown another one, if the account has one verified.
    /// Default false.
    pub first_verification_needs_aal2: bool,
    /// Linking and unlinking identities needs a session that has shown a second factor, if the account has one. Default
    /// false.
    pub linking_needs_aal2: bool,
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
            totp_replay_refused: false,
            first_verification_needs_aal2: false,
            linking_needs_aal2: false,
        }
    }
}

/// Codes by phone as a second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhoneFactorPolicy {
    /// They may be set up. Default false.
    pub enroll_enabled: bool,
    /// They are accepted. Default false.
    pub verify_enabled: bool,
    /// Digits of a code, 6–10. Default 6.
    pub otp_length: usize,
    /// Shortest time between two messages. Default 1 min.
    pub max_frequency: Duration,
    /// The text (a Go text template over `.Code`). Default `Your code is {{ .Code }}`.
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

/// The relying party of security keys and passkeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAuthnPolicy {
    /// Who we are to an authenticator; absent when the operator did not say all of it. Default absent.
    pub relying_party: Option<RelyingParty>,
    /// Life of a challenge. Default 5 min.
    pub challenge_expiry: Duration,
    /// A signature counter that does not grow is refused: there may be a copy of the key. Default false.
    pub counter_must_grow: bool,
}

impl Default for WebAuthnPolicy {
    fn default() -> Self {
        Self { relying_party: None, challenge_expiry: Duration::from_mins(5), counter_must_grow: false }
    }
}

/// Who we are to an authenticator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// A host name: the site's own or a parent of it.
    pub id: String,
    /// The name shown.
    pub display_name: String,
    /// Origins of the pages that may ask, at least one.
    pub origins: Vec<String>,
}

/// Passkeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyPolicy {
    /// They may be registered and used. Default false.
    pub enabled: bool,
    /// Most of them an account may have. Default 10.
    pub max_per_user: usize,
    /// The authenticator must make sure who uses it: whoever holds it would come in otherwise. Default false.
    pub user_verification_required: bool,
}

impl Default for PasskeyPolicy {
    fn default() -> Self {
        Self { enabled: false, max_per_user: 10, user_verification_required: false }
    }
}
