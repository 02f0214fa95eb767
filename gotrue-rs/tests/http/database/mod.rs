//! What clients notice of a database that fails: silent, gone, exhausted, read-only, or raising errors.

mod errors;
mod relay;
mod unavailable;
