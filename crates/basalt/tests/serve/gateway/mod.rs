//! Forwarding to services of the operator: keys, paths, headers, streaming, failures, WebSockets.

mod access;
mod failures;
mod streaming;
mod translation;
pub(crate) mod upstream;
mod websocket;
