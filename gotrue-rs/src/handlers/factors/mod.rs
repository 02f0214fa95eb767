//! Second factors: one file per operation, and one per factor type.

mod answered_challenge;
pub mod challenge;
pub mod enroll;
mod enrolled_factor;
mod issued_challenge;
mod phone;
pub mod recovery_codes;
mod totp;
pub mod unenroll;
pub mod verify;
mod webauthn;
