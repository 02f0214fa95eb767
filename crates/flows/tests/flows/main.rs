//! Tests of recording, format and comparison without a server.

mod comparison;
mod content;
mod files;
mod forwarding;
mod mutation;
mod numbers;
mod privacy;
mod proxied;
mod proxy;
mod recording;
mod recordings;
mod replaying;
mod support;
mod updating;
