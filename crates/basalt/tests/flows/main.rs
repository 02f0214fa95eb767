//! Tests of `basalt record` and `basalt replay` with the binary.

mod application;
mod record;
mod replay;
mod support;
