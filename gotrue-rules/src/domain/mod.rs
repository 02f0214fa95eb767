//! Rules: functions from values to values. They take `now`, never a clock.

pub mod audit;
pub mod claims;
pub mod error;
pub mod policy;
pub mod secret;
pub mod session;
pub mod user;
