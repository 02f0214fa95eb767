//! One structure per request body. They say how a body is read, not whether it makes sense: that is `domain/`.

mod admin_user;
mod captcha;
mod custom_provider;
mod factors;
mod id_token;
mod invitation;
mod magic_link;
mod otp;
mod passkey;
mod recover;
mod resend;
mod sign_up;
mod sso;
mod token;
mod user_update;
mod verify;

pub use admin_user::{AdminDeletion, AdminUser};
pub use captcha::Captcha;
pub use custom_provider::CustomProviderBody;
pub use factors::{AdminFactor, ChallengeFactor, EnrollFactor, VerifyFactor, WebAuthnAnswer};
pub use id_token::IdTokenGrant;
pub use invitation::{GenerateLink, Invitation};
pub use magic_link::MagicLink;
pub use otp::Otp;
pub use passkey::{PasskeyUpdate, PasskeyVerification};
pub use recover::Recover;
pub use resend::Resend;
pub use sign_up::SignUp;
pub use sso::{AdminSsoProvider, SingleSignOn};
pub use token::{PasswordGrant, PkceGrant, RefreshTokenGrant, Web3Grant};
pub use user_update::UserUpdate;
pub use verify::Verify;

use super::go_json::{Error, Object};

/// The two members that start a PKCE flow; empty texts if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeChallenge {
    /// `code_challenge`.
    pub challenge: String,
    /// `code_challenge_method`.
    pub method: String,
}

impl CodeChallenge {
    fn of(body: &Object) -> Result<Self, Error> {
        Ok(Self { challenge: body.string("code_challenge")?, method: body.string("code_challenge_method")? })
    }
}
