//! Values filled into the built files at startup: the page's configuration and the site's origin.

use foundation::html::escape_html;
use serde::Serialize;

/// The element of `index.html` that carries the configuration.
const CONFIG_PLACEHOLDER: &str = "<script id=\"basalt-config\" type=\"application/json\">{}</script>";
const ORIGIN_PLACEHOLDER: &str = "__ORIGIN__";

/// The configuration of the page.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SiteConfig<'a> {
    /// The URL of the API; empty for the origin of the page.
    pub url: &'a str,
    /// The public key.
    pub key: &'a str,
    /// The URL of the site, for absolute links.
    pub site_url: &'a str,
}

impl SiteConfig<'_> {
    /// Fills in the placeholders of a file; `None` if it has none.
    pub(crate) fn fill(&self, name: &str, body: &[u8]) -> Option<String> {
        let has_gaps = [".html", ".xml", ".txt", ".webmanifest"].iter().any(|ending| name.ends_with(ending));
        let text = std::str::from_utf8(body).ok().filter(|_| has_gaps)?;
        if !text.contains(ORIGIN_PLACEHOLDER) && !text.contains(CONFIG_PLACEHOLDER) {
            return None;
        }
        let config = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned()).replace('<', "\\u003c");
        let element = CONFIG_PLACEHOLDER.replace("{}", &config);
        Some(
            text.replace(CONFIG_PLACEHOLDER, &element)
                .replace(ORIGIN_PLACEHOLDER, &escape_html(self.site_url.trim_end_matches('/'))),
        )
    }
}
