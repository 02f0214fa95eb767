//! Sessions: the only place that mints tokens.

pub mod open;
