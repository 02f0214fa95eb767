//! The labels of a request in metrics, which the server around the auth API reads from the response.

use std::sync::Arc;

use axum::response::Response;
use foundation::error::{ErrorCode, OAuthErrorCode};
use platform::journal::{Journal, RedirectedError};
use telemetry::metrics::{self, OTHER};

/// Route and error code of an answered request.
#[derive(Debug, Clone)]
pub struct RequestLabels {
    /// The template of the route; `None` for an unknown path.
    pub route: Option<Arc<str>>,
    /// The error code; `None` for a success.
    pub code: Option<&'static str>,
}

impl RequestLabels {
    /// Adds the labels to a response, if metrics are recorded.
    pub(super) fn insert(response: &mut Response, journal: Option<&Journal>, refused: Option<&RedirectedError>) {
        if !metrics::is_enabled() {
            return;
        }
        let redirected = journal.and_then(Journal::redirected_error);
        let code = refused.or(redirected.as_ref()).map(|error| known_code(&error.code));
        let route = journal.and_then(Journal::route).cloned();
        response.extensions_mut().insert(Self { route, code });
    }
}

/// Returns a code of the program; one of a hook or a provider is [`OTHER`].
fn known_code(code: &str) -> &'static str {
    let own = ErrorCode::SECTIONS.iter().flat_map(|section| section.codes).map(|code| code.as_str());
    let oauth = OAuthErrorCode::ALL.iter().map(|code| code.as_str());
    own.chain(oauth).find(|known| *known == code).unwrap_or(OTHER)
}
