//! A database is brought to the schemas this server works with, or left exactly as it was.

mod auth;
mod basalt;
