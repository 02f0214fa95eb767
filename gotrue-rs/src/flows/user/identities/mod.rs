//! The identities of the signed-in account: linked and unlinked by hand.

pub mod authorize;
pub mod unlink;
