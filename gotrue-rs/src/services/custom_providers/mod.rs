//! Custom OAuth and OIDC providers that administrators store.

mod addresses;
mod discovery;
mod load;

pub use self::addresses::require_public_urls;
pub use self::discovery::{evict_discovery, load_discovery};
pub use self::load::{LoadProviderError, LoadedProvider, load_provider};
