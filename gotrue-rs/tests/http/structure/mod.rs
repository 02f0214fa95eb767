//! What must hold for the whole crate.

mod statements;
