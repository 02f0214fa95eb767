//! The rules of the auth API and its JSON shapes: values in, values out. No I/O, no clock, no randomness.

pub mod domain;
pub mod wire;
