//! Sign-in with external providers.

use serde::Serialize;

/// The URL that a client must redirect the browser to.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct UrlJson<'a> {
    pub url: &'a str,
}
