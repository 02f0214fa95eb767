//! The settings of the desk.

use url::Url;

/// What the desk knows about its shop.
#[derive(Debug, Clone)]
pub struct DeskSettings {
    /// The name of the shop.
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
