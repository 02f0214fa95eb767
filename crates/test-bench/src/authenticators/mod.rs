//! Authenticators of test users: one-time passwords and passkeys.

mod passkey;
mod totp;

pub use self::passkey::answer_options as passkeys;
pub use self::passkey::answer_options_of;
pub use self::totp::generate_totp as totp;
