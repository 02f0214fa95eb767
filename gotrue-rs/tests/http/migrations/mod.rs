//! Migrations bring a database to the expected schemas or leave it unchanged.

mod auth;
mod basalt;
pub(crate) mod newer;
mod newer_schema;
