//! Fault injection: rules that make requests and the targets behind them fail.

mod action;
mod content;
mod injection;
mod mailer;
mod pattern;
mod response;
mod rule;
mod rules;
mod sms_sender;
mod target;
mod user;

pub use self::action::{FaultAction, FaultEffect, TargetFailure};
pub use self::mailer::FaultyMailer;
pub use self::response::serve;
pub use self::rules::FaultRules;
pub use self::sms_sender::FaultySmsSender;
pub use self::target::FaultTarget;
pub use self::user::RequestUser;

#[cfg(test)]
mod tests;
