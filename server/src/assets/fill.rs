//! What the built files leave open until the server knows its address: the page's configuration and the site's origin.

use serde::Serialize;

/// The element of `index.html` that carries the configuration.
const CONFIG: &str = "<script id=\"basalt-config\" type=\"application/json\">{}</script>";
const ORIGIN: &str = "__ORIGIN__";

/// What the page is told.
#[expect(clippy::struct_field_names, reason = "the page knows these names")]
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Site<'a> {
    /// Where the API is; empty: where the page came from.
    pub url: &'a str,
    /// The public key.
    pub key: &'a str,
    /// Where the site is reached, for links that must be whole.
    pub site_url: &'a str,
}

impl Site<'_> {
    /// The file with its gaps filled; none when it has none.
    pub fn fill(&self, name: &str, body: &[u8]) -> Option<String> {
        let has_gaps = [".html", ".xml", ".txt", ".webmanifest"].iter().any(|ending| name.ends_with(ending));
        let text = std::str::from_utf8(body).ok().filter(|_| has_gaps)?;
        if !text.contains(ORIGIN) && !text.contains(CONFIG) {
            return None;
        }
        let config = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned()).replace('<', "\\u003c");
        let element = CONFIG.replace("{}", &config);
        Some(text.replace(CONFIG, &element).replace(ORIGIN, &escaped(self.site_url.trim_end_matches('/'))))
    }
}

/// For attributes and text of HTML and XML alike.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
