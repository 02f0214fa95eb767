//! Sign-in with other services.

use serde::Serialize;

/// Where a script is to send the browser.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AddressJson<'a> {
    /// `url`.
    pub url: &'a str,
}
