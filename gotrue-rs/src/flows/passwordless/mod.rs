//! Ways in without a password: a mailed or texted secret.

pub mod magic_link;
pub mod otp;
pub mod recover;
pub mod resend;
