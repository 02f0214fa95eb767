//! Forwarding to services that the operator runs: keys, paths, headers, streaming, failures, WebSockets.

mod access;
mod failures;
mod streaming;
mod translation;
mod upstream;
mod websocket;
