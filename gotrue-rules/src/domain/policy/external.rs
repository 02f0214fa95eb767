//! Sign-in with other services.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::secret::Secret;

/// The built-in providers, by the name the API knows them by.
pub const PROVIDERS: [&str; 25] = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "slack",
    "slack_oidc",
    "snapchat",
    "spotify",
    "twitch",
    "twitter",
    "vercel_marketplace",
    "workos",
    "x",
    "zoom",
];

/// Sign-in with other services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalPolicy {
    /// Every built-in provider by name, also those that are off.
    pub providers: BTreeMap<String, ExternalProvider>,
    /// One more audience of Apple's id tokens; empty: none. Default empty.
    pub ios_bundle_id: String,
    /// Where every browser goes that comes back from a provider, whatever was asked for; empty: where that says. Default empty.
    pub redirect_url: String,
    /// Issuers whose id tokens are accepted by URL. Default Apple's and Google's.
    pub allowed_id_token_issuers: Vec<String>,
    /// Life of a flow that waits for its code; never below 5 min. Default 5 min.
    pub flow_state_expiry: Duration,
    /// How long a provider's discovery document is kept. Default 1 h.
    pub discovery_cache_ttl: Duration,
    /// Nothing is assumed of an ID token: an address counts as verified only where the token itself says so (Azure,
    /// Kakao and Snapchat leave it out), a tenant named in Azure's base is the only one, a token says when it was issued,
    /// and one of an issuer that is allowed by its address is for a client of ours. Default false: as the reference.
    pub strict_id_tokens: bool,
    /// Providers in whose place our own is asked while an app is developed; their settings say where that is. Default none.
    pub stood_in_for: Vec<String>,
}

impl ExternalPolicy {
    /// The settings of a built-in provider; absent for a name that is none.
    pub fn provider(&self, name: &str) -> Option<&ExternalProvider> {
        self.providers.get(name)
    }
}

impl Default for ExternalPolicy {
    fn default() -> Self {
        let issuers = ["https://appleid.apple.com", "https://accounts.google.com"];
        Self {
            providers: PROVIDERS.iter().map(|name| ((*name).to_owned(), ExternalProvider::default())).collect(),
            ios_bundle_id: String::new(),
            redirect_url: String::new(),
            allowed_id_token_issuers: issuers.map(str::to_owned).to_vec(),
            flow_state_expiry: Duration::from_mins(5),
            discovery_cache_ttl: Duration::from_hours(1),
            strict_id_tokens: false,
            stood_in_for: Vec::new(),
        }
    }
}

/// One of them. Everything is off or empty by default; what is missing is told when it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalProvider {
    /// It may be used.
    pub enabled: bool,
    /// Our ids there: the first starts sign-ins, all are accepted as audience of an id token.
    pub client_ids: Vec<String>,
    /// Our secret there.
    pub secret: Secret,
    /// Our callback as registered there.
    pub redirect_uri: String,
    /// Its base, where it is self-hosted or has tenants.
    pub url: String,
    /// Base of its API, where that differs.
    pub api_url: String,
    /// Id tokens without our nonce are accepted.
    pub skip_nonce_check: bool,
    /// An account without an e-mail address is accepted.
    pub email_optional: bool,
}
