//! Policy for external OAuth and OpenID Connect providers.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::secret::Secret;

/// The built-in providers, by API name.
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

/// Sign-in with external providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalPolicy {
    /// Every built-in provider by name, disabled ones included.
    pub providers: BTreeMap<String, ExternalProviderSettings>,
    /// An additional audience of Apple's ID tokens; empty: none. Default empty.
    pub ios_bundle_id: String,
    /// Redirect target of all external sign-ins; empty: the requested one. Default empty.
    pub redirect_url: String,
    /// Issuers whose ID tokens are accepted by URL. Default Apple's and Google's.
    pub allowed_id_token_issuers: Vec<String>,
    /// Lifetime of a flow state; never below 5 min. Default 5 min.
    pub flow_state_expiry: Duration,
    /// Cache lifetime of discovery documents. Default 1 h.
    pub discovery_cache_ttl: Duration,
    /// ID tokens are validated strictly. Default false: as in GoTrue.
    ///
    /// - An address is verified only if the token says so (Azure, Kakao and Snapchat omit the claim).
    /// - A tenant in Azure's base URL is the only accepted one.
    /// - `iat` is required.
    /// - A token of an issuer that is allowed by URL needs one of the configured client ids as its audience.
    pub is_id_token_validation_strict: bool,
}

impl ExternalPolicy {
    /// Returns the settings of a built-in provider.
    pub fn provider(&self, name: &str) -> Option<&ExternalProviderSettings> {
        self.providers.get(name)
    }
}

impl Default for ExternalPolicy {
    fn default() -> Self {
        let issuers = ["https://appleid.apple.com", "https://accounts.google.com"];
        Self {
            providers: PROVIDERS.iter().map(|name| ((*name).to_owned(), ExternalProviderSettings::default())).collect(),
            ios_bundle_id: String::new(),
            redirect_url: String::new(),
            allowed_id_token_issuers: issuers.map(str::to_owned).to_vec(),
            flow_state_expiry: Duration::from_mins(5),
            discovery_cache_ttl: Duration::from_hours(1),
            is_id_token_validation_strict: false,
        }
    }
}

/// Settings of an external provider.
/// All are off or empty by default; missing values are reported on use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalProviderSettings {
    /// The provider is enabled.
    pub enabled: bool,
    /// Client ids: the first starts sign-ins, all are accepted as audience of an ID token.
    pub client_ids: Vec<String>,
    /// The client secret.
    pub secret: Secret,
    /// The callback URL registered at the provider.
    pub redirect_uri: String,
    /// The base URL, for self-hosted providers and tenants.
    pub url: String,
    /// The base URL of the API, if it differs.
    pub api_url: String,
    /// ID tokens without a matching nonce are accepted.
    pub skip_nonce_check: bool,
    /// Users without an e-mail address are accepted.
    pub email_optional: bool,
    /// The URL of the provider simulator that all requests to the provider go to; empty: to the provider.
    /// No configuration variable sets it; only servers for development and tests do.
    pub simulator_url: String,
}
