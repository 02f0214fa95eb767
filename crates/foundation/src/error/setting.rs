//! The setting that alone causes an error.

use super::code::ErrorCode;

/// Returns the setting that alone causes an error code, and its value then.
pub fn setting_of_code(code: ErrorCode) -> Option<SettingCause> {
    let (variable, value) = match code {
        ErrorCode::SignupDisabled => ("GOTRUE_DISABLE_SIGNUP", Some("true")),
        ErrorCode::EmailProviderDisabled => ("GOTRUE_EXTERNAL_EMAIL_ENABLED", Some("false")),
        ErrorCode::PhoneProviderDisabled => ("GOTRUE_EXTERNAL_PHONE_ENABLED", Some("false")),
        ErrorCode::AnonymousProviderDisabled => ("GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", Some("false")),
        ErrorCode::ManualLinkingDisabled => ("GOTRUE_SECURITY_MANUAL_LINKING_ENABLED", Some("false")),
        ErrorCode::MfaTotpEnrollNotEnabled => ("GOTRUE_MFA_TOTP_ENROLL_ENABLED", Some("false")),
        ErrorCode::MfaTotpVerifyNotEnabled => ("GOTRUE_MFA_TOTP_VERIFY_ENABLED", Some("false")),
        ErrorCode::MfaPhoneEnrollNotEnabled => ("GOTRUE_MFA_PHONE_ENROLL_ENABLED", Some("false")),
        ErrorCode::MfaPhoneVerifyNotEnabled => ("GOTRUE_MFA_PHONE_VERIFY_ENABLED", Some("false")),
        ErrorCode::MfaWebAuthnEnrollNotEnabled => ("GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", Some("false")),
        ErrorCode::MfaWebAuthnVerifyNotEnabled => ("GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED", Some("false")),
        ErrorCode::PasskeyDisabled => ("GOTRUE_PASSKEY_ENABLED", Some("false")),
        ErrorCode::SamlProviderDisabled => ("GOTRUE_SAML_ENABLED", Some("false")),
        ErrorCode::OAuthDynamicClientRegistrationDisabled => {
            ("GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION", Some("false"))
        }
        ErrorCode::CaptchaFailed => ("GOTRUE_SECURITY_CAPTCHA_ENABLED", Some("true")),
        ErrorCode::EmailNotConfirmed => ("GOTRUE_MAILER_AUTOCONFIRM", Some("false")),
        ErrorCode::PhoneNotConfirmed => ("GOTRUE_SMS_AUTOCONFIRM", Some("false")),
        ErrorCode::RefreshTokenAlreadyUsed => ("GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", None),
        ErrorCode::TooManyEnrolledMfaFactors => ("GOTRUE_MFA_MAX_ENROLLED_FACTORS", None),
        ErrorCode::OverCustomProviderQuota => ("GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS", None),
        ErrorCode::NotAdmin => ("GOTRUE_JWT_ADMIN_ROLES", None),
        ErrorCode::RequestTimeout => ("GOTRUE_API_MAX_REQUEST_DURATION", None),
        ErrorCode::FlowStateExpired => ("GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", None),
        ErrorCode::EmailAddressNotAuthorized => ("GOTRUE_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES", None),
        _ => return None,
    };
    Some(SettingCause { variable, value })
}

/// A setting that causes an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingCause {
    pub variable: &'static str,
    /// Its value; `None` if several values cause the error.
    pub value: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_features_name_their_setting() {
        let cause = setting_of_code(ErrorCode::SignupDisabled);
        assert_eq!(cause, Some(SettingCause { variable: "GOTRUE_DISABLE_SIGNUP", value: Some("true") }));
        assert_eq!(setting_of_code(ErrorCode::InvalidCredentials), None);
    }
}
