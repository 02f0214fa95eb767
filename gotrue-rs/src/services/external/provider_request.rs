//! Sends requests to providers, bounded in size and time.
//!
//! The trust in a provider's URLs selects the mode of the HTTP client. No database connection is held meanwhile.

use gotrue_rules::domain::external::provider::ProviderResponseError;
use platform::http_client::{HttpError, HttpResponse, ResponseLimits};
use platform::journal::Step;
use reqwest::Request;
use reqwest::header::{HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue, USER_AGENT};
use url::Url;

use super::provider::EnabledProvider;
use crate::ports::oidc::OidcError;
use crate::request_context::RequestContext;

/// The maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// The user agent; some providers refuse requests without one.
const USER_AGENT_VALUE: HeaderValue = HeaderValue::from_static("basalt");

/// Why a sign-in through a provider failed. The texts are only logged.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    /// The request failed.
    #[error("request to the provider failed: {0}")]
    Http(#[from] HttpError),
    /// The response contains no usable profile.
    #[error(transparent)]
    Answer(#[from] ProviderResponseError),
    /// The ID token is invalid.
    #[error("invalid ID token: {0}")]
    IdToken(#[from] OidcError),
    /// An address is not a URL.
    #[error("invalid provider URL: {0}")]
    InvalidUrl(#[from] url::ParseError),
    #[error("invalid header name: {0}")]
    InvalidHeaderName(#[from] InvalidHeaderName),
    #[error("invalid header value: {0}")]
    InvalidHeaderValue(#[from] InvalidHeaderValue),
    /// The provider returned an error status.
    #[error("the provider returned status {0}")]
    Status(u16),
    #[error("the provider's response is longer than {MAX_RESPONSE_BYTES} bytes")]
    ResponseTooLarge,
    /// The provider needs too many requests.
    #[error("the provider needs too many requests")]
    TooManySteps,
}

/// Sends a request to a provider. Any status is accepted; a response over the size limit is an error.
pub(super) async fn send_provider_request(
    cx: &RequestContext,
    enabled: &EnabledProvider,
    what: &'static str,
    mut request: Request,
) -> Result<HttpResponse, ProviderError> {
    if enabled.settings.is_simulated() {
        *request.url_mut() = Url::parse(&enabled.settings.request_url(request.url().as_str()))?;
    }
    request.headers_mut().insert(USER_AGENT, USER_AGENT_VALUE);
    cx.journal.record(Step::Call(what));
    let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: cx.app.policy.api.outbound_timeout };
    let answer = cx.app.http.send(enabled.trust, enabled.provider.name(), request, limits).await?;
    if answer.is_truncated { Err(ProviderError::ResponseTooLarge) } else { Ok(answer) }
}

/// Refuses a response without a success status.
pub(super) fn require_success(answer: &HttpResponse) -> Result<(), ProviderError> {
    if (200..300).contains(&answer.status) { Ok(()) } else { Err(ProviderError::Status(answer.status)) }
}

/// Inserts a header into a request.
pub(super) fn insert_header(request: &mut Request, name: &str, value: &str) -> Result<(), ProviderError> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(name.eq_ignore_ascii_case("authorization"));
    request.headers_mut().insert(HeaderName::from_bytes(name.as_bytes())?, value);
    Ok(())
}
