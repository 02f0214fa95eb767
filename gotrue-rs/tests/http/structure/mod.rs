//! What must hold for the whole crate.

mod compatibility;
mod concurrency;
mod errors;
mod layers;
mod plans;
mod round_trips;
mod sizes;
pub mod source;
mod statement_counts;
mod statements;
