//! Second factors: which kinds there are, what one may be set up with, when a challenge is good, which code is right.

pub mod enrolment;
pub mod key_uri;
pub mod totp;
pub mod verification;

use super::error::{Error, Result};
use super::policy::MfaPolicy;
use super::session::{Aal, Session};
use super::user::Factor;

/// The kinds of factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorType {
    /// Codes that an app makes from a shared secret and the time.
    Totp,
    /// Codes by text message.
    Phone,
    /// A security key.
    WebAuthn,
}

impl FactorType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Totp, Self::Phone, Self::WebAuthn];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "phone",
            Self::WebAuthn => "webauthn",
        }
    }

    /// The kind that a word means; 400 `validation_failed` for any other word.
    pub fn parse(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| Error::invalid("factor_type needs to be totp, phone, or webauthn"))
    }

    /// How `amr` names it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "mfa/phone",
            Self::WebAuthn => "mfa/webauthn",
        }
    }

    /// Refuses a kind that may not be set up: 422.
    pub fn require_enrolment(self, policy: &MfaPolicy) -> Result<()> {
        let (is_on, code, message) = match self {
            Self::Totp => {
                (policy.totp_enroll_enabled, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP")
            }
            Self::Phone => {
                (policy.phone.enroll_enabled, "mfa_phone_enroll_not_enabled", "MFA enroll is disabled for Phone")
            }
            Self::WebAuthn => (
                policy.webauthn_enroll_enabled,
                "mfa_webauthn_enroll_not_enabled",
                "MFA enroll is disabled for WebAuthn",
            ),
        };
        if is_on { Ok(()) } else { Err(Error::unprocessable(code, message)) }
    }

    /// Refuses a kind that is not accepted: 422. Where a security key is to be verified the reference names another code
    /// than where a challenge is asked for.
    pub fn require_verification(self, policy: &MfaPolicy, step: Step) -> Result<()> {
        let (is_on, code, message) = match (self, step) {
            (Self::Totp, _) => {
                (policy.totp_verify_enabled, "mfa_totp_verify_not_enabled", "MFA verification is disabled for TOTP")
            }
            (Self::Phone, _) => {
                (policy.phone.verify_enabled, "mfa_phone_verify_not_enabled", "MFA verification is disabled for Phone")
            }
            (Self::WebAuthn, Step::Challenge) => (
                policy.webauthn_verify_enabled,
                "mfa_webauthn_verify_not_enabled",
                "MFA verification is disabled for WebAuthn",
            ),
            (Self::WebAuthn, Step::Verify) => (
                policy.webauthn_verify_enabled,
                "mfa_webauthn_enroll_not_enabled",
                "MFA verification is disabled for WebAuthn",
            ),
        };
        if is_on { Ok(()) } else { Err(Error::unprocessable(code, message)) }
    }
}

/// The two requests that use a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A challenge is asked for.
    Challenge,
    /// It is answered.
    Verify,
}

/// Refuses to take away a verified factor from a session that has not shown one: 422.
pub fn check_removal(factor: &Factor, session: &Session) -> Result<()> {
    if factor.is_verified() && session.aal < Aal::Aal2 {
        return Err(Error::unprocessable("insufficient_aal", "AAL2 required to unenroll verified factor"));
    }
    Ok(())
}

/// The one answer to a factor that does not exist or is somebody else's.
pub fn factor_not_found() -> Error {
    Error::not_found("mfa_factor_not_found", "Factor not found")
}

#[cfg(test)]
mod tests {
    use super::super::policy::PhoneFactorPolicy;
    use super::*;

    #[test]
    fn words_name_kinds() {
        for kind in FactorType::ALL {
            assert_eq!(FactorType::parse(kind.as_str()).unwrap(), kind);
        }
        for word in ["", "TOTP", "sms"] {
            assert_eq!(FactorType::parse(word).unwrap_err().code(), "validation_failed", "{word}");
        }
    }

    #[test]
    fn a_kind_that_is_off_says_so_in_a_code_of_its_own() {
        let off = MfaPolicy { totp_enroll_enabled: false, totp_verify_enabled: false, ..MfaPolicy::default() };
        let enrolment = |kind: FactorType| kind.require_enrolment(&off).map_err(|error| error.code());
        assert_eq!(enrolment(FactorType::Totp), Err("mfa_totp_enroll_not_enabled"));
        assert_eq!(enrolment(FactorType::Phone), Err("mfa_phone_enroll_not_enabled"));
        assert_eq!(enrolment(FactorType::WebAuthn), Err("mfa_webauthn_enroll_not_enabled"));
        let verification = |kind: FactorType, step| kind.require_verification(&off, step).map_err(|error| error.code());
        for step in [Step::Challenge, Step::Verify] {
            assert_eq!(verification(FactorType::Totp, step), Err("mfa_totp_verify_not_enabled"));
            assert_eq!(verification(FactorType::Phone, step), Err("mfa_phone_verify_not_enabled"));
        }
        assert_eq!(verification(FactorType::WebAuthn, Step::Challenge), Err("mfa_webauthn_verify_not_enabled"));
        assert_eq!(verification(FactorType::WebAuthn, Step::Verify), Err("mfa_webauthn_enroll_not_enabled"));
    }

    #[test]
    fn a_kind_that_is_on_passes() {
        let phone = PhoneFactorPolicy { enroll_enabled: true, verify_enabled: true, ..PhoneFactorPolicy::default() };
        let on =
            MfaPolicy { phone, webauthn_enroll_enabled: true, webauthn_verify_enabled: true, ..MfaPolicy::default() };
        for kind in FactorType::ALL {
            kind.require_enrolment(&on).unwrap();
            kind.require_verification(&on, Step::Challenge).unwrap();
            kind.require_verification(&on, Step::Verify).unwrap();
        }
    }

    #[test]
    fn only_a_verified_factor_needs_a_strong_session_to_go() {
        let session = |aal| Session { aal, ..Session::default() };
        let factor = |status: &str| Factor { status: status.into(), ..Factor::default() };
        for (status, aal, goes) in [
            ("verified", Aal::Aal1, false),
            ("verified", Aal::Aal2, true),
            ("unverified", Aal::Aal1, true),
            ("unverified", Aal::Aal2, true),
        ] {
            assert_eq!(check_removal(&factor(status), &session(aal)).is_ok(), goes, "{status} {aal:?}");
        }
    }
}
