//! What must hold for the whole crate.

mod layers;
mod sizes;
mod source;
mod statement_counts;
mod statements;
