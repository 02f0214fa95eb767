//! This server as the one that others sign people in with: OAuth 2.1 and OpenID Connect (`endpoints.md` §13.6, §15).

pub mod authorization;
pub mod claims;
pub mod client;
pub mod client_auth;
pub mod confinement;
pub mod exchange;
pub mod redirect_uri;
pub mod registration;
pub mod resource;
pub mod scope;

pub use client::{AuthMethod, Client, ClientType, GRANT_TYPES, Registered};
