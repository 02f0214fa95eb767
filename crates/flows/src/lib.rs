//! Records flows of applications into files and replays them against servers.
//!
//! A flow is a file of [`mod@format`]: requests, the responses that they had, and facts beside them. Values that differ in each
//! run are [`symbols`] in responses and placeholders ([`expressions`]) in requests. [`record`] writes such files from the
//! traffic of a proxy or from HAR files; [`runner`] sends the requests of a file to a server of [`targets`], takes what a
//! recording cannot contain from [`sources`], and [`compare`] finds the differences. [`replay`] does so with many files.

pub mod compare;
pub mod expressions;
pub mod format;
mod permissions;
pub mod record;
pub mod recordings;
pub mod replay;
pub mod runner;
pub mod sources;
pub mod standins;
pub mod symbols;
pub mod targets;

mod error;
mod text;
mod tokens;

pub use self::error::FlowError;
