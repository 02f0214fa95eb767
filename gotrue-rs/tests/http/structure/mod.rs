//! Rules for the sources, the documentation and the statements of the whole repository.

mod asvs;
mod compatibility;
mod concurrency;
mod cycles;
mod decisions;
mod dependencies;
mod errors;
mod hardening;
mod layers;
mod logs;
mod placeholders;
mod plans;
mod round_trips;
mod shape;
mod single;
pub(crate) mod source;
mod statement_counts;
mod statements;
pub(crate) mod tokens;
mod vocabulary;
