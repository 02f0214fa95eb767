//! Requests and responses of the API: bodies, errors, headers, origin.

pub mod body;
pub mod error;
pub mod headers;
pub mod origin;
pub mod query;
pub mod respond;
