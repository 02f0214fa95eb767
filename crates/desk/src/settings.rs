//! The settings of the desk.

use url::Url;

use crate::paths::MOUNT;
use crate::policy::find_passkey_origin;
use crate::visit::Visit;

/// What the desk knows about its shop.
#[derive(Debug, Clone)]
pub struct DeskSettings {
    pub shop_name: String,
    /// The URLs of the site, whose pages may send requests; the first is that of the server.
    pub own_urls: Vec<Url>,
}

impl DeskSettings {
    /// Whether the server is reached by HTTPS.
    pub(crate) fn is_https(&self) -> bool {
        self.own_urls.first().is_some_and(|url| url.scheme() == "https")
    }
}

/// Where passkeys can be used. A browser compares the origin of its page, so only the page can decide.
#[derive(Debug)]
pub(crate) struct PasskeyOffer {
    /// Whether the desk has passkeys at all.
    pub is_enabled: bool,
    /// The origins of pages that can use them.
    pub origins: Vec<String>,
    /// The address of the desk at which they work.
    pub url: Option<String>,
}

impl PasskeyOffer {
    /// Reads the policy of the desk.
    pub(crate) fn of(settings: &DeskSettings, visit: &Visit) -> Self {
        let policy = &visit.app.policy;
        let origins = policy.webauthn.relying_party.as_ref().map(|party| party.origins.clone()).unwrap_or_default();
        let own = settings.own_urls.first().and_then(find_passkey_origin);
        Self { is_enabled: policy.passkeys.enabled, origins, url: own.map(|origin| format!("{origin}{MOUNT}/")) }
    }
}
