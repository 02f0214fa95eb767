//! Values, errors and encodings that every crate may use. Nothing here does I/O or reads a clock.

pub mod csv;
pub mod database_url;
pub mod email;
pub mod encryption;
pub mod error;
pub mod error_chain;
pub mod explanation;
pub mod html;
pub mod language;
pub mod limit_store;
pub mod limits;
pub mod limits_policy;
pub mod mail_brand;
pub mod percent_escapes;
pub mod secret;
pub mod time;
