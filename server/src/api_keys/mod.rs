//! API keys: generated at the first start, stored in the data folder.
//! Published defaults are rejected.

mod gateway;
mod keys;
mod store;

pub use gateway::{ApiKeyGateway, RequestCredentials};
pub use keys::ApiKeys;
pub use store::{ConfiguredKeys, combine, demo_keys, load, load_or_create};
