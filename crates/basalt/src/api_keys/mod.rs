//! API keys: generated at the first start, stored in the data folder.
//! Published defaults are rejected.

mod gateway;
mod keys;
mod live;
mod store;

pub(crate) use gateway::{ApiKeyGateway, PresentedKey, RequestCredentials};
pub(crate) use keys::ApiKeys;
pub(crate) use live::{LiveApiKeys, ShownKeys};
pub(crate) use store::{ConfiguredKeys, RoleClaims, combine, demo_keys, generate_api_key, load, load_or_create};
