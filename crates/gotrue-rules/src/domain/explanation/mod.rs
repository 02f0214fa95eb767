//! Decisions about requests, as developers need them explained. No response contains them.

pub mod limits;
mod record;
pub mod redirect;
pub mod refresh;
pub mod tokens;
pub mod verification;

pub use self::record::{DecisionEffect, DecisionRecord, SettingCause, setting_of_code};
