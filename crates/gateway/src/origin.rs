//! The address of this server for clients.

use http::Uri;

/// The address of this server for clients, as services learn it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicOrigin {
    pub(crate) scheme: &'static str,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl PublicOrigin {
    /// Reads scheme, host and port of a URL.
    pub fn parse(url: &str) -> Self {
        let uri: Uri = url.parse().unwrap_or_default();
        let scheme = if uri.scheme_str() == Some("https") { "https" } else { "http" };
        let usual = if scheme == "https" { 443 } else { 80 };
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        Self { scheme, host, port: uri.port_u16().unwrap_or(usual) }
    }
}
