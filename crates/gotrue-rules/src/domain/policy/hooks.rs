//! Policy for hooks.

use foundation::secret::Secret;

/// The configured hooks; absent: disabled. All are disabled by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HooksPolicy {
    /// Sends an SMS instead of the SMS provider.
    pub send_sms: Option<Hook>,
    /// Sends an e-mail instead of the SMTP server.
    pub send_email: Option<Hook>,
    /// Customizes the claims of every access token.
    pub custom_access_token: Option<Hook>,
    /// Decides about a second-factor attempt.
    pub mfa_verification_attempt: Option<Hook>,
    /// Decides about a password attempt.
    pub password_verification_attempt: Option<Hook>,
    /// Can reject a new user.
    pub before_user_created: Option<Hook>,
    /// Is notified of a new user.
    pub after_user_created: Option<Hook>,
    /// The access token hook gets `aud` as a list until the process has signed its first token.
    ///
    /// It is a text afterwards. This is a GoTrue quirk; without it `aud` is always a text.
    pub is_first_audience_list: bool,
}

impl HooksPolicy {
    /// Returns the hook of this kind, if it is enabled.
    pub fn get(&self, kind: HookKind) -> Option<&Hook> {
        match kind {
            HookKind::SendSms => self.send_sms.as_ref(),
            HookKind::SendEmail => self.send_email.as_ref(),
            HookKind::CustomAccessToken => self.custom_access_token.as_ref(),
            HookKind::MfaVerificationAttempt => self.mfa_verification_attempt.as_ref(),
            HookKind::PasswordVerificationAttempt => self.password_verification_attempt.as_ref(),
            HookKind::BeforeUserCreated => self.before_user_created.as_ref(),
            HookKind::AfterUserCreated => self.after_user_created.as_ref(),
        }
    }
}

/// When a hook is called, and what it replaces or decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// Instead of the SMS provider.
    SendSms,
    /// Instead of the SMTP server.
    SendEmail,
    /// For every access token.
    CustomAccessToken,
    /// For a second-factor attempt.
    MfaVerificationAttempt,
    PasswordVerificationAttempt,
    /// Before a user is stored.
    BeforeUserCreated,
    /// After a user is stored.
    AfterUserCreated,
}

impl HookKind {
    pub const ALL: [Self; 7] = [
        Self::SendSms,
        Self::SendEmail,
        Self::CustomAccessToken,
        Self::MfaVerificationAttempt,
        Self::PasswordVerificationAttempt,
        Self::BeforeUserCreated,
        Self::AfterUserCreated,
    ];

    /// Returns the variable of the hook's URI.
    pub fn uri_setting(self) -> &'static str {
        match self {
            Self::SendSms => "GOTRUE_HOOK_SEND_SMS_URI",
            Self::SendEmail => "GOTRUE_HOOK_SEND_EMAIL_URI",
            Self::CustomAccessToken => "GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI",
            Self::MfaVerificationAttempt => "GOTRUE_HOOK_MFA_VERIFICATION_ATTEMPT_URI",
            Self::PasswordVerificationAttempt => "GOTRUE_HOOK_PASSWORD_VERIFICATION_ATTEMPT_URI",
            Self::BeforeUserCreated => "GOTRUE_HOOK_BEFORE_USER_CREATED_URI",
            Self::AfterUserCreated => "GOTRUE_HOOK_AFTER_USER_CREATED_URI",
        }
    }

    /// Returns `metadata.name` of the payload.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SendSms => "send-sms",
            Self::SendEmail => "send-email",
            Self::CustomAccessToken => "customize-access-token",
            Self::MfaVerificationAttempt => "mfa-verification",
            Self::PasswordVerificationAttempt => "password-verification",
            Self::BeforeUserCreated => "before-user-created",
            Self::AfterUserCreated => "after-user-created",
        }
    }
}

/// A configured hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The configured URI; empty if there is none.
    pub uri: String,
    /// The parsed target.
    pub target: HookTarget,
    /// Signing secrets, each `v1,whsec_<base64>` or `v1a,whpk_…:whsk_…`; may be empty.
    pub secrets: Vec<Secret>,
}

/// Where a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookTarget {
    /// A URL, `https` (or `http` to the local machine).
    Http {
        /// The URL as configured.
        url: String,
    },
    /// A database function; both names match `[A-Za-z_][A-Za-z0-9_]{0,62}`.
    PgFunction {
        schema: String,
        /// The function name.
        name: String,
    },
    /// The hook is enabled without a URI: every call fails.
    Missing,
}
