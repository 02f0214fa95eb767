//! Authenticators of test users: one-time passwords.

mod totp;

pub use self::totp::generate_totp as totp;
