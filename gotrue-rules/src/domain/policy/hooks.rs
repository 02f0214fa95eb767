//! What is called at certain moments.

use crate::domain::secret::Secret;

/// The hooks; absent: off. All are off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HooksPolicy {
    /// Sends a phone message in the place of a provider.
    pub send_sms: Option<Hook>,
    /// Sends a mail in the place of the mail server.
    pub send_email: Option<Hook>,
    /// Changes the claims of every access token.
    pub custom_access_token: Option<Hook>,
    /// Judges an attempt with a second factor.
    pub mfa_verification_attempt: Option<Hook>,
    /// Judges an attempt with a password.
    pub password_verification_attempt: Option<Hook>,
    /// May refuse a new account.
    pub before_user_created: Option<Hook>,
    /// Hears of a new account.
    pub after_user_created: Option<Hook>,
    /// Whether the access token hook is shown `aud` as a list until the process has signed its first token, and as a
    /// text from then on. A quirk of the reference; without it, it is a text always.
    pub first_audience_is_list: bool,
}

impl HooksPolicy {
    /// The hook of this kind, if it is on.
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

/// The moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// In the place of an SMS provider.
    SendSms,
    /// In the place of the mail server.
    SendEmail,
    /// At every access token.
    CustomAccessToken,
    /// When a second factor is tried.
    MfaVerificationAttempt,
    /// When a password is tried.
    PasswordVerificationAttempt,
    /// Before an account is stored.
    BeforeUserCreated,
    /// After an account is stored.
    AfterUserCreated,
}

impl HookKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::SendSms,
        Self::SendEmail,
        Self::CustomAccessToken,
        Self::MfaVerificationAttempt,
        Self::PasswordVerificationAttempt,
        Self::BeforeUserCreated,
        Self::AfterUserCreated,
    ];

    /// `metadata.name` of the payload.
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

/// A hook that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The address as the operator wrote it; empty if there is none.
    pub uri: String,
    /// What is called.
    pub target: HookTarget,
    /// Secrets the call is signed with, each `v1,whsec_<base64>` or `v1a,whpk_…:whsk_…`; may be none.
    pub secrets: Vec<Secret>,
}

/// What a hook calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookTarget {
    /// A web address, `https` (or `http` to this machine).
    Http {
        /// The address as given.
        url: String,
    },
    /// A function of the database; both names match `[A-Za-z_][A-Za-z0-9_]{0,62}`.
    PgFunction {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
    /// The hook is on and has no address: every call of it fails.
    Missing,
}
