//! Multi-factor authentication: factor types, enrollment, challenges and codes.

pub mod enrollment;
pub mod key_uri;
pub mod recovery_codes;
pub mod totp;
pub mod verification;

use foundation::error::{Error, ErrorCode, Result};

use super::policy::MfaPolicy;
use super::session::Session;
use super::user::Factor;

/// By what a second factor is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorType {
    /// Time-based one-time passwords (RFC 6238).
    Totp,
    /// Codes by SMS.
    Phone,
    /// A WebAuthn credential.
    WebAuthn,
    /// Recovery codes, which have endpoints of their own.
    RecoveryCode,
}

impl FactorType {
    /// The types that `POST /factors` enrolls.
    pub const ALL: [Self; 3] = [Self::Totp, Self::Phone, Self::WebAuthn];

    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "phone",
            Self::WebAuthn => "webauthn",
            Self::RecoveryCode => "recovery_code",
        }
    }

    /// Parses a type of [`Self::ALL`]; 400 `validation_failed` for any other.
    pub fn parse(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(unknown_type)
    }

    /// The word for the type in the claim `amr`.
    pub fn amr_method(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "mfa/phone",
            Self::WebAuthn => "mfa/webauthn",
            Self::RecoveryCode => "mfa/recovery_code",
        }
    }

    /// Whether an enrolled factor of the type can be verified.
    pub fn is_usable(self, policy: &MfaPolicy) -> bool {
        match self {
            Self::Totp => policy.totp_verify_enabled,
            Self::Phone => policy.phone.verify_enabled,
            Self::WebAuthn => policy.webauthn_verify_enabled,
            Self::RecoveryCode => policy.recovery_codes.verify_enabled,
        }
    }

    /// Requires that enrollment is enabled for the type: 422.
    pub fn require_enrollment_enabled(self, policy: &MfaPolicy) -> Result<()> {
        let (is_on, code, message) = match self {
            Self::Totp => {
                (policy.totp_enroll_enabled, ErrorCode::MfaTotpEnrollNotEnabled, "MFA enroll is disabled for TOTP")
            }
            Self::Phone => {
                (policy.phone.enroll_enabled, ErrorCode::MfaPhoneEnrollNotEnabled, "MFA enroll is disabled for Phone")
            }
            Self::WebAuthn => (
                policy.webauthn_enroll_enabled,
                ErrorCode::MfaWebAuthnEnrollNotEnabled,
                "MFA enroll is disabled for WebAuthn",
            ),
            Self::RecoveryCode => (
                policy.recovery_codes.enroll_enabled,
                ErrorCode::MfaRecoveryCodesEnrollNotEnabled,
                "MFA enroll is disabled for recovery codes",
            ),
        };
        if is_on { Ok(()) } else { Err(Error::new(code, message)) }
    }

    /// Requires that verification is enabled for the type: 422.
    /// For WebAuthn the reference uses different codes for challenge and verification.
    pub fn require_verification_enabled(self, policy: &MfaPolicy, step: FactorStep) -> Result<()> {
        let (is_on, code, message) = match (self, step) {
            (Self::Totp, _) => (
                policy.totp_verify_enabled,
                ErrorCode::MfaTotpVerifyNotEnabled,
                "MFA verification is disabled for TOTP",
            ),
            (Self::Phone, _) => (
                policy.phone.verify_enabled,
                ErrorCode::MfaPhoneVerifyNotEnabled,
                "MFA verification is disabled for Phone",
            ),
            (Self::WebAuthn, FactorStep::Challenge) => (
                policy.webauthn_verify_enabled,
                ErrorCode::MfaWebAuthnVerifyNotEnabled,
                "MFA verification is disabled for WebAuthn",
            ),
            (Self::WebAuthn, FactorStep::Verify) => (
                policy.webauthn_verify_enabled,
                ErrorCode::MfaWebAuthnEnrollNotEnabled,
                "MFA verification is disabled for WebAuthn",
            ),
            (Self::RecoveryCode, _) => (
                policy.recovery_codes.verify_enabled,
                ErrorCode::MfaRecoveryCodesVerifyNotEnabled,
                "MFA verification is disabled for recovery codes",
            ),
        };
        if is_on { Ok(()) } else { Err(Error::new(code, message)) }
    }
}

/// The requests that use a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorStep {
    /// A challenge is created.
    Challenge,
    /// A challenge is verified.
    Verify,
}

/// The `amr` method of a factor of any stored type, also of one that this server does not know.
pub fn stored_amr_method(factor_type: &str) -> String {
    let known = FactorType::ALL.into_iter().chain([FactorType::RecoveryCode]);
    let known = known.into_iter().find(|kind| kind.as_str() == factor_type);
    known.map_or_else(|| format!("mfa/{factor_type}"), |kind| kind.amr_method().to_owned())
}

/// Requires AAL2 to unenroll a verified factor, and another endpoint for recovery codes: 422.
pub fn validate_removal(factor: &Factor, session: &Session) -> Result<()> {
    if factor.is_recovery_code() {
        let message = "Recovery codes cannot be unenrolled with this endpoint, use DELETE /factors/recovery-codes";
        return Err(Error::http(422, ErrorCode::ValidationFailed, message));
    }
    if factor.is_verified() && !session.is_elevated() {
        return Err(Error::http(422, ErrorCode::InsufficientAal, "AAL2 required to unenroll verified factor"));
    }
    Ok(())
}

/// 400: the type is none that can be enrolled, challenged and verified.
pub fn unknown_type() -> Error {
    Error::invalid("factor_type needs to be totp, phone, or webauthn")
}

/// 404: the factor does not exist or belongs to another user.
pub fn factor_not_found() -> Error {
    Error::new(ErrorCode::MfaFactorNotFound, "Factor not found")
}

#[cfg(test)]
mod tests {
    use super::super::policy::PhoneFactorPolicy;
    use super::super::session::Aal;
    use super::*;

    #[test]
    fn factor_types_are_parsed() {
        for kind in FactorType::ALL {
            assert_eq!(FactorType::parse(kind.as_str()).unwrap(), kind);
        }
        for word in ["", "TOTP", "sms"] {
            assert_eq!(FactorType::parse(word).unwrap_err().code().as_str(), "validation_failed", "{word}");
        }
    }

    #[test]
    fn disabled_types_have_their_own_error_codes() {
        let off = MfaPolicy { totp_enroll_enabled: false, totp_verify_enabled: false, ..MfaPolicy::default() };
        let enrollment =
            |kind: FactorType| kind.require_enrollment_enabled(&off).map_err(|error| error.code().as_str());
        assert_eq!(enrollment(FactorType::Totp), Err("mfa_totp_enroll_not_enabled"));
        assert_eq!(enrollment(FactorType::Phone), Err("mfa_phone_enroll_not_enabled"));
        assert_eq!(enrollment(FactorType::WebAuthn), Err("mfa_webauthn_enroll_not_enabled"));
        let verification = |kind: FactorType, step| {
            kind.require_verification_enabled(&off, step).map_err(|error| error.code().as_str())
        };
        for step in [FactorStep::Challenge, FactorStep::Verify] {
            assert_eq!(verification(FactorType::Totp, step), Err("mfa_totp_verify_not_enabled"));
            assert_eq!(verification(FactorType::Phone, step), Err("mfa_phone_verify_not_enabled"));
        }
        assert_eq!(verification(FactorType::WebAuthn, FactorStep::Challenge), Err("mfa_webauthn_verify_not_enabled"));
        assert_eq!(verification(FactorType::WebAuthn, FactorStep::Verify), Err("mfa_webauthn_enroll_not_enabled"));
    }

    #[test]
    fn enabled_types_are_accepted() {
        let phone = PhoneFactorPolicy { enroll_enabled: true, verify_enabled: true, ..PhoneFactorPolicy::default() };
        let on =
            MfaPolicy { phone, webauthn_enroll_enabled: true, webauthn_verify_enabled: true, ..MfaPolicy::default() };
        for kind in FactorType::ALL {
            kind.require_enrollment_enabled(&on).unwrap();
            kind.require_verification_enabled(&on, FactorStep::Challenge).unwrap();
            kind.require_verification_enabled(&on, FactorStep::Verify).unwrap();
        }
    }

    #[test]
    fn removing_verified_factor_requires_aal2() {
        let session = |aal| Session { aal, ..Session::default() };
        let factor = |status: &str| Factor { status: status.into(), ..Factor::default() };
        for (status, aal, goes) in [
            ("verified", Aal::Aal1, false),
            ("verified", Aal::Aal2, true),
            ("unverified", Aal::Aal1, true),
            ("unverified", Aal::Aal2, true),
        ] {
            assert_eq!(validate_removal(&factor(status), &session(aal)).is_ok(), goes, "{status} {aal:?}");
        }
    }
}
