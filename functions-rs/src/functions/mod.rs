//! The built-in functions.

pub mod send_submission;
