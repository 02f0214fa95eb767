//! Sign-in with external providers: `/authorize` and `/callback`.

pub mod authorize;
pub mod callback;
