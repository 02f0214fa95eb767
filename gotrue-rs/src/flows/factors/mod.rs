//! Second factors: one file per operation, and one per factor type.

pub mod challenge;
pub mod enroll;
mod phone;
mod totp;
pub mod unenroll;
pub mod verify;
mod webauthn;
