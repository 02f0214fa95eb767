//! `/user/identities`: manual linking and unlinking of identities.

pub mod authorize;
pub mod unlink;
