//! `/admin/users/{id}/factors`: second factors of a user.

pub mod delete;
pub mod list;
pub mod update;
