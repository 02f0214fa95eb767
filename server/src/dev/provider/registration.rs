//! The registration of the auth API as the client of the provider.

use gotrue_rs::ports::entropy::Entropy;

/// The path prefix of all endpoints.
pub(super) const PATH: &str = "/_dev/provider";

/// The client registration of the auth API at the provider.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    /// The issuer URL.
    pub issuer: String,
    /// The client id of the auth API.
    pub client_id: String,
    /// The client secret of the auth API, generated at each start.
    pub client_secret: String,
    /// The only allowed redirect URI.
    pub callback: String,
}

impl Registration {
    /// Creates the registration.
    /// The server listens at `origin`; `auth_url` is its auth API.
    pub(crate) fn new(origin: &str, auth_url: &str, entropy: &Entropy) -> Self {
        Self {
            issuer: format!("{origin}{PATH}"),
            client_id: "basalt".to_owned(),
            client_secret: entropy.base32(40),
            callback: format!("{}/callback", auth_url.trim_end_matches('/')),
        }
    }
}
