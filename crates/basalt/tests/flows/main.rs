//! Tests of `basalt record` and `basalt replay` with the binary.

mod application;
mod content;
mod project;
mod record;
mod replay;
mod support;
