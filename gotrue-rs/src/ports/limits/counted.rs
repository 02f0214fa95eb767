//! What is counted, and by which setting.

use gotrue_rules::domain::policy::{Bucket, LimitsPolicy};

/// What is limited by who asks. Each counts for itself, also where two share a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limited {
    /// `/verify`, GET and POST.
    Verify,
    /// `/token`, every known grant but `web3`.
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
    /// `/signup` without.
    AnonymousUsers,
    /// `/sso`.
    Sso,
    /// `/sso/saml/acs`.
    SamlAssertion,
    /// `/passkeys/authentication/options`.
    Passkey,
    /// `/oauth/clients/register`.
    OAuthClientRegister,
    /// A challenge of a factor.
    FactorChallenge,
    /// The verification of a factor.
    FactorVerify,
}

impl Limited {
    /// The setting that holds for it.
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

    /// What there were too many of, in words.
    pub fn words(self) -> &'static str {
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

/// What a bucket counts; its key says of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Requests, of who sends them.
    Requests(Limited),
    /// Wrong passwords for an account.
    WrongPasswords,
    /// Those of one network for it.
    WrongPasswordsFromOne,
    /// Wrong codes for an address, number or account.
    WrongCodes,
    /// Those of one network for it.
    WrongCodesFromOne,
    /// Messages asked for an address or number.
    Messages,
    /// The gap between two of them.
    MessageGap,
}

impl From<Limited> for Counted {
    fn from(limited: Limited) -> Self {
        Self::Requests(limited)
    }
}
