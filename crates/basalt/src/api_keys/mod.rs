//! API keys: generated at the first start, stored in the data folder.
//! Published defaults are rejected.

mod authorization;
mod gateway;
mod keys;
mod live;
mod store;

pub(crate) use authorization::{normalize_authorization, query_pairs};
pub(crate) use gateway::{ApiKeyGateway, PresentedKey, RequestCredentials};
pub(crate) use keys::{ApiKeys, SECRET_PREFIX};
pub(crate) use live::{LiveApiKeys, ShownKeys};
/// The OAuth scope that opens the storage API to the token of a client.
pub(crate) const STORAGE_SCOPE: &str = "storage";

pub(crate) use store::{ConfiguredKeys, RoleClaims, combine, demo_keys, generate_api_key, load, load_or_create};
