//! Values and encodings that every crate may use. Nothing here knows a service, does I/O or reads a clock.

pub mod csv;
pub mod database_url;
pub mod error_chain;
pub mod html;
pub mod language;
pub mod limit_store;
pub mod limits;
pub mod mail_brand;
pub mod secret;
pub mod time;
