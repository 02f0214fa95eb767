//! What the operator decided, in the words of the rules: one plain structure per concern, checked when the server
//! starts, read by every flow as `cx.app.policy`. `Default` is the reference's default, and no field says where its
//! value came from.

mod accounts;
mod external;
mod factors;
mod hardened;
mod hooks;
mod limits;
mod mail;
mod oauth;
mod operation;
mod security;
mod site;
mod sms;

pub use accounts::{BloomFilter, HibpPolicy, PasswordHash, PasswordPolicy, RefreshPolicy, SessionPolicy, SignUpPolicy};
pub use external::{ExternalPolicy, ExternalProvider, PROVIDERS};
pub use factors::{MfaPolicy, PasskeyPolicy, PhoneFactorPolicy, RelyingParty, WebAuthnPolicy};
pub use hooks::{Hook, HookKind, HookTarget, HooksPolicy};
pub use limits::{Bucket, LimitKey, LimitsPolicy, Quota, TargetLimits};
pub use mail::{AddressCheck, LinkPaths, MailKind, MailPolicy, TemplateFetch};
pub use oauth::{CustomOAuthPolicy, OAuthServerPolicy, RequestSignature, SamlPolicy, Web3ChainPolicy, Web3Policy};
pub use operation::{ExperimentalPolicy, IndexWorkerPolicy, OperationPolicy};
pub use security::{Captcha, CaptchaProvider, Encryption, SecurityPolicy};
pub use site::{ApiPolicy, JwtPolicy, MetadataLimits, SitePolicy};
pub use sms::{SmsPolicy, SmsProvider};

/// Everything the operator decided about the behaviour of the auth API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Where the site and this server are seen from outside, and where a redirect may lead.
    pub site: SitePolicy,
    /// What holds for every request.
    pub api: ApiPolicy,
    /// The claims of access tokens and who is an administrator.
    pub jwt: JwtPolicy,
    /// Who may become a user, and by which means.
    pub sign_up: SignUpPolicy,
    /// Messages by e-mail.
    pub mail: MailPolicy,
    /// Messages by phone.
    pub sms: SmsPolicy,
    /// What a password must be and how it is kept.
    pub password: PasswordPolicy,
    /// How long sessions last.
    pub sessions: SessionPolicy,
    /// How refresh tokens are rotated.
    pub refresh: RefreshPolicy,
    /// Captcha, linking, re-authentication, encryption at rest.
    pub security: SecurityPolicy,
    /// Rate limits and sending quotas.
    pub limits: LimitsPolicy,
    /// Second factors.
    pub mfa: MfaPolicy,
    /// The relying party of security keys and passkeys.
    pub webauthn: WebAuthnPolicy,
    /// Passkeys.
    pub passkeys: PasskeyPolicy,
    /// SAML single sign-on.
    pub saml: SamlPolicy,
    /// This server as an OAuth 2.1 provider.
    pub oauth_server: OAuthServerPolicy,
    /// Providers that an administrator adds at run time.
    pub custom_oauth: CustomOAuthPolicy,
    /// Sign-in with a wallet.
    pub web3: Web3Policy,
    /// Sign-in with other services.
    pub external: ExternalPolicy,
    /// What is called at certain moments.
    pub hooks: HooksPolicy,
    /// Audit rows, clean-up, background indexes.
    pub operation: OperationPolicy,
    /// Behaviour the reference marks as experimental.
    pub experimental: ExperimentalPolicy,
}
