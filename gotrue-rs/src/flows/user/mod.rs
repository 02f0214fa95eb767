//! The signed-in account as it sees and changes itself.

pub mod get;
pub mod grants;
pub mod identities;
pub mod reauthenticate;
pub mod update;
