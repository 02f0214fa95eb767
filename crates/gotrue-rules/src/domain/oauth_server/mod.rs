//! The OAuth 2.1 and OpenID Connect server.

pub mod authorization;
pub mod claims;
pub mod client;
pub mod client_auth;
pub mod confinement;
pub mod disclosure;
pub mod exchange;
pub mod redirect_uri;
pub mod registration;
pub mod resource;
pub mod scope;
pub mod token_use;

pub use client::{AuthMethod, ClientType, GRANT_TYPES, OAuthClient, RegistrationType};
