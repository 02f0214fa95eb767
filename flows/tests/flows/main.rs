//! Tests of recording, format and comparison without a server.

mod comparison;
mod files;
mod mutation;
mod privacy;
mod proxy;
mod recording;
mod recordings;
mod replaying;
mod support;
mod updating;
