//! API keys: generated at the first start, stored in the data folder.
//! Published defaults are rejected.

mod gateway;
mod keys;
mod store;

pub(crate) use gateway::{ApiKeyGateway, PresentedKey, RequestCredentials};
pub(crate) use keys::ApiKeys;
pub(crate) use store::{ConfiguredKeys, combine, demo_keys, load, load_or_create};
