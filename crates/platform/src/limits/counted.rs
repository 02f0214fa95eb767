//! The counted events and their settings.

use foundation::limits::Bucket;
use foundation::limits_policy::LimitsPolicy;

/// Routes limited per caller. Each has its own counter, even where two share a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitedRoute {
    /// `/verify`, GET and POST.
    Verify,
    /// `/token`, every known grant except `web3`.
    Token,
    /// `/token?grant_type=web3`.
    Web3,
    /// `/recover`.
    Recover,
    /// `/resend`.
    Resend,
    /// `/magiclink`.
    MagicLink,
    /// `/otp`.
    Otp,
    /// `PUT /user`.
    User,
    /// `/signup` with an address or number.
    SignUp,
    /// `/signup` without either.
    AnonymousUsers,
    /// `/sso`.
    Sso,
    /// `/sso/saml/acs`.
    SamlAssertion,
    /// `/passkeys/authentication/options`.
    Passkey,
    /// `/oauth/clients/register`.
    OAuthClientRegister,
    /// `POST /factors/{id}/challenge`.
    FactorChallenge,
    /// `POST /factors/{id}/verify`.
    FactorVerify,
}

impl LimitedRoute {
    /// Returns the configured bucket.
    pub fn bucket(self, policy: &LimitsPolicy) -> Bucket {
        match self {
            Self::Verify => policy.verify,
            Self::Token => policy.token_refresh,
            Self::Web3 => policy.web3,
            Self::Recover | Self::Resend | Self::MagicLink | Self::Otp | Self::User | Self::SignUp => policy.otp,
            Self::AnonymousUsers => policy.anonymous_users,
            Self::Sso => policy.sso,
            Self::SamlAssertion => policy.saml_assertion,
            Self::Passkey => policy.passkey,
            Self::OAuthClientRegister => policy.oauth_client_register,
            Self::FactorChallenge | Self::FactorVerify => policy.mfa_challenge_and_verify,
        }
    }

    /// Returns the variable that sets the limit.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Verify => "GOTRUE_RATE_LIMIT_VERIFY",
            Self::Token => "GOTRUE_RATE_LIMIT_TOKEN_REFRESH",
            Self::Web3 => "GOTRUE_RATE_LIMIT_WEB3",
            Self::Recover | Self::Resend | Self::MagicLink | Self::Otp | Self::User | Self::SignUp => {
                "GOTRUE_RATE_LIMIT_OTP"
            }
            Self::AnonymousUsers => "GOTRUE_RATE_LIMIT_ANONYMOUS_USERS",
            Self::Sso => "GOTRUE_RATE_LIMIT_SSO",
            Self::SamlAssertion => "GOTRUE_SAML_RATE_LIMIT_ASSERTION",
            Self::Passkey => "GOTRUE_RATE_LIMIT_PASSKEY",
            Self::OAuthClientRegister => "GOTRUE_RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER",
            Self::FactorChallenge | Self::FactorVerify => "GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY",
        }
    }

    /// Describes the limited requests for the log.
    pub fn description(self) -> &'static str {
        match self {
            Self::Verify => "verifications",
            Self::Token => "sign-ins and refreshes",
            Self::Web3 => "sign-ins by wallet",
            Self::Recover => "password recoveries",
            Self::Resend => "messages sent again",
            Self::MagicLink => "magic links",
            Self::Otp => "one-time codes",
            Self::User => "changes of accounts",
            Self::SignUp => "sign-ups",
            Self::AnonymousUsers => "anonymous sign-ups",
            Self::Sso => "single sign-ons",
            Self::SamlAssertion => "SAML assertions",
            Self::Passkey => "sign-ins by passkey",
            Self::OAuthClientRegister => "registrations of clients",
            Self::FactorChallenge => "challenges of factors",
            Self::FactorVerify => "verifications of factors",
        }
    }
}

/// The event that a bucket counts; its key identifies the caller or target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CountedEvent {
    /// Requests of a caller.
    Requests(LimitedRoute),
    /// Wrong passwords for a user.
    WrongPasswords,
    /// Wrong passwords for a user from one network.
    WrongPasswordsFromNetwork,
    /// Wrong codes for an address, number or user.
    WrongCodes,
    /// Wrong codes from one network.
    WrongCodesFromNetwork,
    /// Messages requested for an address or number.
    Messages,
    /// The minimum interval between two messages.
    MessageGap,
    /// Failed calls of another service, which a request from a network has caused.
    FailedCalls,
    /// Images that were transformed for a network.
    TransformedImages,
}

impl From<LimitedRoute> for CountedEvent {
    fn from(limited: LimitedRoute) -> Self {
        Self::Requests(limited)
    }
}
