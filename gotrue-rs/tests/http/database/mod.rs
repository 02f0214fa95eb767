//! Responses during database failures: unresponsive, stopped, exhausted, read-only, raising errors.

mod errors;
mod literals;
mod logs;
mod relay;
mod unavailable;
