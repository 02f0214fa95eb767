//! Decision rules and JSON shapes of the auth API: pure functions without I/O, clock or randomness.

pub mod domain;
pub mod wire;
