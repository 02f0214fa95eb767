//! Request bodies: one struct per body. Decoding only; `domain/` validates.

mod admin_user;
mod captcha;
mod custom_provider;
mod factors;
mod id_token;
mod invitation;
mod magic_link;
mod otp;
mod passkey;
mod pkce;
mod recover;
mod resend;
mod sign_up;
mod sso;
mod token;
mod user_update;
mod verify;

pub use admin_user::{AdminUserDeletion, AdminUserRequest};
pub use captcha::CaptchaToken;
pub use custom_provider::CustomProviderBody;
pub use factors::{
    AdminFactor, ChallengeFactor, EnrollFactor, GenerateRecoveryCodes, VerifyFactor, VerifyRecoveryCode,
    WebAuthnResponse,
};
pub use id_token::IdTokenGrant;
pub use invitation::{GenerateLinkRequest, InviteRequest};
pub use magic_link::MagicLinkRequest;
pub use otp::OtpRequest;
pub use passkey::{PasskeyUpdate, PasskeyVerification};
pub use pkce::PkceParameters;
pub use recover::RecoverRequest;
pub use resend::ResendRequest;
pub use sign_up::SignUpRequest;
pub use sso::{AdminSsoProvider, SsoRequest};
pub use token::{PasswordGrant, PkceGrant, RefreshTokenGrant, Web3Grant};
pub use user_update::UserUpdateRequest;
pub use verify::VerifyRequest;
