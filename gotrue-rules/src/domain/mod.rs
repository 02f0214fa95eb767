//! Rules: functions from values to values. They take `now`, never a clock.

pub mod error;
pub mod session;
pub mod user;
