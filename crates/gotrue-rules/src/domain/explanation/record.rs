//! The record of one decision: what was decided, by which inputs, and what changes the decision.
//!
//! Records are logged, and shown in development.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::error::ErrorCode;

/// The effect of a decision on the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionEffect {
    /// The request was refused.
    Refused,
    /// The request went on with another value than the requested one.
    Adjusted,
}

/// A decision about a request with its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionRecord {
    /// A stable name: `redirect_not_listed`.
    pub name: &'static str,
    pub effect: DecisionEffect,
    /// Why, in one sentence without secrets and addresses.
    pub reason: Cow<'static, str>,
    /// The setting that decided, by its variable: `GOTRUE_URI_ALLOW_LIST`.
    pub setting: Option<Cow<'static, str>>,
    /// The value that decided, for the log: never a secret or the address of a user.
    pub value: Option<String>,
    /// Further inputs, for development only.
    pub inputs: Vec<(&'static str, Value)>,
    /// What changes the decision; `None` for the resolution of the error code.
    pub remedy: Option<Cow<'static, str>>,
}

impl DecisionRecord {
    /// Records that the request was refused.
    pub fn refused(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, DecisionEffect::Refused, reason.into())
    }

    /// Records that the request went on with another value than the requested one.
    pub fn adjusted(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, DecisionEffect::Adjusted, reason.into())
    }

    fn new(name: &'static str, effect: DecisionEffect, reason: Cow<'static, str>) -> Self {
        Self { name, effect, reason, setting: None, value: None, inputs: Vec::new(), remedy: None }
    }

    /// Adds the setting that decided.
    #[must_use]
    pub fn with_setting(self, variable: impl Into<Cow<'static, str>>) -> Self {
        Self { setting: Some(variable.into()), ..self }
    }

    /// Adds the value that decided; never a secret or the address of a user.
    #[must_use]
    pub fn with_value(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Adds an input that only development shows.
    #[must_use]
    pub fn with_input(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.inputs.push((name, value.into()));
        self
    }

    /// Adds what changes the decision.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

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
    fn record_keeps_its_parts() {
        let record = DecisionRecord::refused("rate_limit", "too many requests")
            .with_setting("GOTRUE_RATE_LIMIT_OTP")
            .with_value("30")
            .with_input("remaining", 0)
            .with_remedy("wait");
        assert_eq!((record.name, record.effect), ("rate_limit", DecisionEffect::Refused));
        assert_eq!(record.setting.as_deref(), Some("GOTRUE_RATE_LIMIT_OTP"));
        assert_eq!(record.value.as_deref(), Some("30"));
        assert_eq!(record.inputs, [("remaining", Value::from(0))]);
        assert_eq!(record.remedy.as_deref(), Some("wait"));
    }

    #[test]
    fn disabled_features_name_their_setting() {
        let cause = setting_of_code(ErrorCode::SignupDisabled);
        assert_eq!(cause, Some(SettingCause { variable: "GOTRUE_DISABLE_SIGNUP", value: Some("true") }));
        assert_eq!(setting_of_code(ErrorCode::InvalidCredentials), None);
    }
}
