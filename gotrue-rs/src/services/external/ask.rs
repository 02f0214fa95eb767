//! Requests to providers: through the door that the trust in their addresses opens, bounded in size and time. No
//! connection to the database is held meanwhile.

use gotrue_rules::domain::external::provider::BadAnswer;
use reqwest::Request;
use reqwest::header::{HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue, USER_AGENT};

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::http_client::{Answer, HttpError, Limits, Trust};
use crate::ports::oidc::OidcError;

/// Most bytes of an answer.
const LONGEST_ANSWER: usize = 1 << 20;
/// Some providers answer nobody who does not say what they are.
const WHO_ASKS: HeaderValue = HeaderValue::from_static("basalt");

/// Why a provider's sign-in comes to nothing. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It cannot be asked.
    #[error("asking the provider: {0}")]
    Unasked(#[from] HttpError),
    /// Its answer tells nothing of a person.
    #[error(transparent)]
    Answer(#[from] BadAnswer),
    /// Its ID token is not accepted.
    #[error("its ID token: {0}")]
    IdToken(#[from] OidcError),
    /// An address is none.
    #[error("its address is no URL: {0}")]
    Address(#[from] url::ParseError),
    /// A header's name is none.
    #[error("a header cannot be sent: {0}")]
    Name(#[from] InvalidHeaderName),
    /// A header's value cannot be sent.
    #[error("a header cannot be sent: {0}")]
    Value(#[from] InvalidHeaderValue),
    /// It answered that it will not.
    #[error("the provider answered with status {0}")]
    Status(u16),
    /// Its answer has no end.
    #[error("the provider's answer is longer than {LONGEST_ANSWER} bytes")]
    Long,
    /// What is asked of it has no end.
    #[error("the provider asks for more and more")]
    Endless,
}

/// Sends a request to a provider; any answer that is not too long will do.
pub(super) async fn ask(cx: &Cx, trust: Trust, what: &'static str, mut request: Request) -> Result<Answer, Trouble> {
    request.headers_mut().insert(USER_AGENT, WHO_ASKS);
    cx.journal.note(Step::Call(what));
    let limits = Limits { bytes: LONGEST_ANSWER, time: cx.app.policy.api.outbound_timeout };
    let answer = cx.app.http.send(trust, request, limits).await?;
    if answer.truncated { Err(Trouble::Long) } else { Ok(answer) }
}

/// Refuses every status that is no success.
pub(super) fn require_success(answer: &Answer) -> Result<(), Trouble> {
    if (200..300).contains(&answer.status) { Ok(()) } else { Err(Trouble::Status(answer.status)) }
}

/// Puts a header on a request.
pub(super) fn put(request: &mut Request, name: &str, value: &str) -> Result<(), Trouble> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(name.eq_ignore_ascii_case("authorization"));
    request.headers_mut().insert(HeaderName::from_bytes(name.as_bytes())?, value);
    Ok(())
}
