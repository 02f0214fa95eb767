//! Migrations bring a database to the expected schemas or leave it unchanged.

mod auth;
mod basalt;
