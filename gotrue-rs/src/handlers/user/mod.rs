//! `/user`: the signed-in user.

pub mod get;
pub mod grants;
pub mod identities;
pub mod reauthenticate;
pub mod update;
