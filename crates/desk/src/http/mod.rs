//! Requests and responses of the API: bodies, errors, headers, origin.

pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod headers;
pub(crate) mod origin;
pub(crate) mod path;
pub(crate) mod query;
pub mod respond;
