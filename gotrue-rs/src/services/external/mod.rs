//! Sign-in with external providers: enabled providers, the redirect to a provider, and the callback.

mod exchange;
mod id_token;
mod oauth1;
mod provider;
mod provider_request;
mod sign_in;
mod start;

pub use provider::{EnabledProvider, ProviderLookupError, ProviderSource, find_enabled_provider};
pub use sign_in::{ProviderSignIn, complete_sign_in};
pub use start::start_authorization;
