//! The test API of `basalt serve --test`: isolated backends ("worlds") with clock, users, sessions and faults.

mod error;

pub use error::TestApiError;
