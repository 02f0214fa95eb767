//! Configured behaviour of the auth API: one plain struct per concern.
//!
//! Values are validated at start-up and read as `cx.app.policy`. `Default` is GoTrue's default; the source of a value
//! is not recorded.

mod accounts;
mod external;
mod factors;
mod hardened;
pub mod hardening;
mod hooks;
mod mail;
mod oauth;
mod operation;
mod security;
mod site;
mod sms;

use foundation::limits_policy::LimitsPolicy;

pub use accounts::{
    Argon2Cost, BloomFilter, HibpPolicy, PasswordHash, PasswordPolicy, RefreshPolicy, SessionPolicy, SignUpPolicy,
};
pub use external::{ExternalPolicy, ExternalProviderSettings, PROVIDERS};
pub use factors::{MfaPolicy, PasskeyPolicy, PhoneFactorPolicy, RecoveryCodesPolicy, RelyingParty, WebAuthnPolicy};
pub use hooks::{Hook, HookKind, HookTarget, HooksPolicy};
pub use mail::{AddressCheck, LinkPaths, MailKind, MailPolicy, TemplateFetch};
pub use oauth::{CustomOAuthPolicy, OAuthServerPolicy, RequestSignature, SamlPolicy, Web3ChainPolicy, Web3Policy};
pub use operation::{ExperimentalPolicy, IndexWorkerPolicy, OperationPolicy, RetentionPolicy};
pub use security::{CaptchaPolicy, CaptchaProvider, SecurityPolicy};
pub use site::{ApiPolicy, JwtPolicy, MetadataLimits, SitePolicy};
pub use sms::{SmsPolicy, SmsProvider};

/// Configured behaviour of the auth API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Public URLs and allowed redirects.
    pub site: SitePolicy,
    /// Settings of all requests.
    pub api: ApiPolicy,
    /// Access token claims and administrator roles.
    pub jwt: JwtPolicy,
    /// Sign-up methods.
    pub sign_up: SignUpPolicy,
    /// E-mail messages.
    pub mail: MailPolicy,
    /// SMS messages.
    pub sms: SmsPolicy,
    /// Password rules and hashing.
    pub password: PasswordPolicy,
    /// Session lifetime and limits.
    pub sessions: SessionPolicy,
    /// Refresh token rotation.
    pub refresh: RefreshPolicy,
    /// Captcha, linking, reauthentication, encryption at rest.
    pub security: SecurityPolicy,
    /// Rate limits and sending quotas.
    pub limits: LimitsPolicy,
    /// Second factors.
    pub mfa: MfaPolicy,
    /// The WebAuthn relying party.
    pub webauthn: WebAuthnPolicy,
    pub passkeys: PasskeyPolicy,
    /// SAML single sign-on.
    pub saml: SamlPolicy,
    /// The OAuth 2.1 server.
    pub oauth_server: OAuthServerPolicy,
    /// Custom OAuth providers.
    pub custom_oauth: CustomOAuthPolicy,
    /// Sign-in with wallets.
    pub web3: Web3Policy,
    /// Sign-in with external providers.
    pub external: ExternalPolicy,
    pub hooks: HooksPolicy,
    /// Audit log, clean-up, background indexes.
    pub operation: OperationPolicy,
    /// Behaviour that GoTrue marks as experimental.
    pub experimental: ExperimentalPolicy,
}
