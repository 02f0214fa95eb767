//! Decisions about requests, as developers need them explained. No response contains them.

pub mod limits;
pub mod redirect;
pub mod refresh;
pub mod tokens;
pub mod verification;
