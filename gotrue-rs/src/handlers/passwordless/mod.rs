//! Sign-in without a password, by a token in an e-mail or SMS.

pub mod magic_link;
pub mod otp;
pub mod recover;
pub mod resend;
