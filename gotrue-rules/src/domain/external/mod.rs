//! Sign-in with other services: what a provider says of a person, and providers as data.

pub mod answer;
pub mod id_token;
pub mod profile;
pub mod provider;
pub mod providers;
