//! Sign-in with other services: what a provider says of a person, and providers as data.

pub mod address;
pub mod answer;
pub mod claims;
pub mod custom;
pub mod id_token;
pub mod issuers;
pub mod jws;
pub mod keys;
pub mod oauth1;
pub mod profile;
pub mod provider;
pub mod providers;
pub mod stand_in;
pub mod state;
pub mod token_answer;
pub mod usable;
