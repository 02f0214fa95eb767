//! Rules: functions from values to values. They take `now`, never a clock.

pub mod admin_user;
pub mod audit;
pub mod bulk;
pub mod claims;
pub mod contact;
pub mod contact_change;
pub mod error;
pub mod hook;
pub mod identity;
pub mod one_time_token;
pub mod password;
pub mod passwordless;
pub mod pkce;
pub mod policy;
pub mod purpose;
pub mod reauthentication;
pub mod redirect;
pub mod refresh;
pub mod secret;
pub mod session;
pub mod session_rules;
pub mod sign_in;
pub mod sign_up;
pub mod user;
pub mod user_update;
pub mod verification;
