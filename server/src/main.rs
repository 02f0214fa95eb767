//! Basalt.
fn main() {}
