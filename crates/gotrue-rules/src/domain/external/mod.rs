//! Sign-in with external providers: profiles, provider descriptions and ID tokens.

pub mod authorization_url;
pub mod availability;
pub mod claims;
pub mod custom;
pub mod id_token;
pub mod issuers;
pub mod jws;
pub mod keys;
pub mod oauth1;
pub mod oauth2_client;
pub mod profile;
pub mod provider;
pub mod providers;
pub mod response;
pub mod simulation;
pub mod state;
pub mod token_request;
pub mod token_response;
