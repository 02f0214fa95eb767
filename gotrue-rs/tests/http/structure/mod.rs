//! What must hold for the whole crate.

mod layers;
mod sizes;
mod source;
mod statements;
