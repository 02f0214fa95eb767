//! What clients notice of a database that fails: silent, gone, exhausted, read-only, or raising errors.

mod errors;
mod logs;
mod relay;
mod unavailable;
