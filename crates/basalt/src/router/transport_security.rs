//! `Strict-Transport-Security` (RFC 6797): browsers that came by HTTPS come by HTTPS alone from then on.

use std::time::Duration;

use axum::extract::Request;
use gotrue_rules::domain::redirect::is_loopback_host;
use http::HeaderValue;
use http::header::HOST;
use http::uri::Authority;

/// The header of responses, if clients reach the server by HTTPS.
pub(crate) struct TransportSecurity(Option<HeaderValue>);

impl TransportSecurity {
    /// Creates the header; `is_https`: TLS ends here, or at the proxy of an `external_url` of HTTPS.
    pub(crate) fn new(is_https: bool, max_age: Duration) -> Self {
        let seconds = max_age.as_secs();
        let is_sent = is_https && seconds > 0;
        Self(is_sent.then(|| HeaderValue::try_from(format!("max-age={seconds}")).ok()).flatten())
    }

    /// Returns the header for a request. Names of this machine get none: it would apply to the other servers of a developer.
    pub(super) fn header(&self, request: &Request) -> Option<HeaderValue> {
        let value = self.0.as_ref()?;
        let host = request.headers().get(HOST)?.to_str().ok()?.parse::<Authority>().ok()?;
        (!is_loopback_host(host.host())).then(|| value.clone())
    }
}
