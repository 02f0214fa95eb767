//! Where an issuer is.

use platform::http_client::UrlTrust;

/// The location of an issuer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IssuerSource {
    /// The issuer identifier in its tokens.
    pub issuer: String,
    /// The URL of its document, if it is not the default one below the issuer.
    pub document: Option<String>,
    /// The origin of its URL.
    pub trust: UrlTrust,
}

impl IssuerSource {
    pub(super) fn document_url(&self) -> String {
        let usual = || {
            let base = self.issuer.strip_suffix('/').unwrap_or(&self.issuer);
            format!("{base}/.well-known/openid-configuration")
        };
        self.document.clone().filter(|document| !document.is_empty()).unwrap_or_else(usual)
    }
}
