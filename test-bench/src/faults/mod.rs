//! Fault injection: rules that make requests and the targets behind them fail.

mod action;
mod pattern;
mod response;
mod rule;
mod rules;
mod target;
mod user;

pub use self::action::{FaultAction, FaultEffect, TargetFailure};
pub use self::response::serve;
pub use self::rules::FaultRules;
pub use self::target::FaultTarget;
pub use self::user::RequestUser;

#[cfg(test)]
mod tests;
