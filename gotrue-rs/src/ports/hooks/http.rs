//! Calls hooks over HTTP: a POST signed by Standard Webhooks.
//!
//! There are at most three attempts in five seconds.

use std::sync::Arc;
use std::time::Duration;

use foundation::error::{Error, Result};
use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use gotrue_rules::domain::hook::{
    HTTP_TIMEOUT_SECONDS, HookResponse, HookResponseKind, MAX_RESPONSE_BYTES, classify_response, hook_timeout,
    hook_unavailable, hook_unreachable,
};
use gotrue_rules::domain::policy::HookKind;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::http_client::{HttpClient, HttpError, HttpResponse, ResponseLimits};
use platform::webhook_signature::Signer;
use reqwest::Request;
use telemetry::trace_context::{BAGGAGE, current_baggage};
use url::Url;
use uuid::Uuid;

/// The maximum number of calls.
const MAX_ATTEMPTS: usize = 3;
/// The pause after a failed connection.
const PAUSE: Duration = Duration::from_secs(2);
const LIMITS: ResponseLimits =
    ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: Duration::from_secs(HTTP_TIMEOUT_SECONDS) };

/// A hook that is called over HTTP.
#[derive(Debug)]
pub struct Webhook {
    kind: HookKind,
    url: String,
    signer: Signer,
    http: Arc<HttpClient>,
    clock: SharedClock,
}

impl Webhook {
    /// Creates a client for the configured URL and signing secrets. Nothing is called yet.
    pub fn new(kind: HookKind, url: &str, secrets: &[Secret], http: Arc<HttpClient>, clock: SharedClock) -> Self {
        Self { kind, url: url.to_owned(), signer: Signer::new(secrets), http, clock }
    }

    /// Returns the output; `None` if the hook needs none.
    ///
    /// # Errors
    /// The call failed; an unsuccessful response has the reference's error message.
    pub async fn call(&self, entropy: &Entropy, payload: &str) -> Result<Option<Vec<u8>>> {
        let limit = self.clock.timeout(Duration::from_secs(HTTP_TIMEOUT_SECONDS));
        tokio::select! {
            output = self.call_with_retries(entropy, payload) => output,
            () = limit => Err(hook_timeout()),
        }
    }

    async fn call_with_retries(&self, entropy: &Entropy, payload: &str) -> Result<Option<Vec<u8>>> {
        for attempt in 1..=MAX_ATTEMPTS {
            let request = self.request(entropy.uuid(), payload)?;
            match self.http.send_trusted(self.kind.as_str(), request, LIMITS).await {
                Ok(answer) => match classify_response(to_http_answer(&answer))? {
                    HookResponseKind::Output => return Ok(Some(answer.body)),
                    HookResponseKind::NoContent => return Ok(None),
                    HookResponseKind::Retry => {}
                },
                Err(error) => self.pause(attempt, error).await?,
            }
        }
        Err(hook_unavailable())
    }

    /// Waits before the next attempt, if there is one.
    async fn pause(&self, attempt: usize, error: HttpError) -> Result<()> {
        match error {
            error if error.is_timeout() => return Err(hook_timeout().with_cause(error)),
            HttpError::Transport(cause) if cause.is_body() || cause.is_decode() => {
                let text = format!("Error running hook URI: {}", without_secrets(&self.url));
                return Err(Error::internal(text).with_cause(cause.without_url()));
            }
            error if attempt == MAX_ATTEMPTS => return Err(hook_unreachable().with_cause(error)),
            error => {
                let hook = self.kind.as_str();
                tracing::warn!(error = %ErrorChain(&error), hook, attempt, "hook unreachable, will retry");
            }
        }
        self.clock.timeout(PAUSE).await;
        Ok(())
    }

    /// Builds a new message with the same payload.
    fn request(&self, id: Uuid, payload: &str) -> Result<Request> {
        let timestamp = self.clock.now().timestamp();
        let signature = self.signer.sign(id, timestamp, payload)?;
        let request = self.http.get_trusted_client().map_err(Error::other)?.post(&self.url);
        let request = match current_baggage() {
            Some(baggage) => request.header(BAGGAGE, baggage),
            None => request,
        };
        request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, "basalt")
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature)
            .body(payload.to_owned())
            .build()
            // The reference accepts URLs without a usable host or port, and cannot connect to them.
            .map_err(|cause| hook_unreachable().with_cause(cause))
    }
}

/// Returns a URL without user name, password, query and fragment, which may contain secrets.
fn without_secrets(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    // An error means that a URL of this kind has none of them.
    let (_, _) = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn to_http_answer(answer: &HttpResponse) -> HookResponse<'_> {
    let header = |name| {
        answer.headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).unwrap_or_default()
    };
    HookResponse {
        status: answer.status,
        content_type: header(CONTENT_TYPE),
        has_retry_after: !header(RETRY_AFTER).is_empty(),
        is_too_long: answer.is_truncated,
    }
}
