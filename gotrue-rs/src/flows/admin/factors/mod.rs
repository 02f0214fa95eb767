//! Second factors of an account as the administrator sees, changes and removes them.

pub mod delete;
pub mod list;
pub mod update;
