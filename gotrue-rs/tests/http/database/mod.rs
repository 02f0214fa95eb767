//! Responses during database failures: unresponsive, stopped, exhausted, read-only, raising errors.

mod errors;
mod logs;
mod relay;
mod unavailable;
