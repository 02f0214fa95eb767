//! Sign-in with other services: to a provider (`/authorize`) and back (`/callback`).

pub mod authorize;
pub mod callback;
