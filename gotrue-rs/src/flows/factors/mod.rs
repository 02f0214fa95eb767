//! Second factors: a file per verb, which knows the kinds there are, and a file per kind, which knows its own way.

pub mod challenge;
pub mod enroll;
mod phone;
mod totp;
pub mod unenroll;
pub mod verify;
mod webauthn;
