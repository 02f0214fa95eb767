//! Calling a hook over HTTP: a signed POST by Standard Webhooks, at most three times, five seconds in all.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::hook::{
    ANSWER_LIMIT, HTTP_SECONDS, Heard, HttpAnswer, hear, too_slow, unavailable, unreachable,
};
use gotrue_rules::domain::secret::Secret;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::Request;
use uuid::Uuid;

use crate::ports::clock::SharedClock;
use crate::ports::entropy::Entropy;
use crate::ports::http_client::{Answer, HttpClient, HttpError, Limits};

/// How often a hook is called until it answers.
const ATTEMPTS: usize = 3;
/// How long to wait before a hook that could not be reached is called again.
const PAUSE: Duration = Duration::from_secs(2);
const LIMITS: Limits = Limits { bytes: ANSWER_LIMIT, time: Duration::from_secs(HTTP_SECONDS) };

/// A hook that is called over HTTP.
#[derive(Debug)]
pub struct Webhook {
    url: String,
    signer: Signer,
    http: Arc<HttpClient>,
    clock: SharedClock,
}

impl Webhook {
    /// An address that the operator wrote down, and the secrets its calls are signed with. Nothing is called yet.
    pub fn new(url: &str, secrets: &[Secret], http: Arc<HttpClient>, clock: SharedClock) -> Self {
        Self { url: url.to_owned(), signer: Signer::new(secrets), http, clock }
    }

    /// The output; `None` if the hook needs none. An answer that tells of no success is an error with the words that
    /// the reference has for it.
    pub async fn call(&self, entropy: &Entropy, payload: &str) -> Result<Option<Vec<u8>>> {
        let limit = self.clock.sleep(Duration::from_secs(HTTP_SECONDS));
        tokio::select! {
            output = self.attempts(entropy, payload) => output,
            () = limit => Err(too_slow()),
        }
    }

    async fn attempts(&self, entropy: &Entropy, payload: &str) -> Result<Option<Vec<u8>>> {
        for attempt in 1..=ATTEMPTS {
            let request = self.request(entropy.uuid(), payload)?;
            match self.http.call(request, LIMITS).await {
                Ok(answer) => match hear(facts(&answer))? {
                    Heard::Output => return Ok(Some(answer.body)),
                    Heard::Nothing => return Ok(None),
                    Heard::Again => {}
                },
                Err(error) => self.pause(attempt, error).await?,
            }
        }
        Err(unavailable())
    }

    /// Waits before the next attempt, if there is one.
    async fn pause(&self, attempt: usize, error: HttpError) -> Result<()> {
        match error {
            HttpError::Transport(cause) if cause.is_timeout() => return Err(too_slow().because(cause)),
            HttpError::Transport(cause) if cause.is_body() || cause.is_decode() => {
                return Err(Error::internal(format!("Error running hook URI: {}", self.url)).because(cause));
            }
            error if attempt == ATTEMPTS => return Err(unreachable().because(error)),
            error => tracing::warn!(%error, attempt, "a hook could not be reached"),
        }
        self.clock.sleep(PAUSE).await;
        Ok(())
    }

    /// A new message with the same payload.
    fn request(&self, id: Uuid, payload: &str) -> Result<Request> {
        let timestamp = self.clock.now().timestamp();
        let signature = self.signer.sign(&format!("{id}.{timestamp}.{payload}"))?;
        let unmade = |cause| Error::internal("Hook failed to make request object").because(cause);
        let request = self.http.operators().map_err(Error::other)?.post(&self.url);
        request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT_ENCODING, "identity")
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature)
            .body(payload.to_owned())
            .build()
            .map_err(unmade)
    }
}

fn facts(answer: &Answer) -> HttpAnswer<'_> {
    let header = |name| {
        answer.headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).unwrap_or_default()
    };
    HttpAnswer {
        status: answer.status,
        content_type: header(CONTENT_TYPE),
        asks_to_wait: !header(RETRY_AFTER).is_empty(),
        is_too_long: answer.truncated,
    }
}

/// The keys of a hook, or why calls cannot be signed.
enum Signer {
    Keys(Vec<hmac::Key>),
    Unusable(&'static str),
}

/// Keys are not shown.
impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keys(keys) => write!(f, "Keys({})", keys.len()),
            Self::Unusable(why) => write!(f, "Unusable({why})"),
        }
    }
}

impl Signer {
    /// Pairs of asymmetric keys pass the check at start, and then sign nothing: as in the reference.
    fn new(secrets: &[Secret]) -> Self {
        let key = |secret: &Secret| {
            let text = secret.reveal().strip_prefix("v1,").ok_or("invalid signature format")?;
            let bytes = STANDARD.decode(text.strip_prefix("whsec_").unwrap_or(text));
            let bytes = bytes.map_err(|_| "a secret is not base64 with its padding")?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        };
        secrets.iter().map(key).collect::<std::result::Result<_, _>>().map_or_else(Self::Unusable, Self::Keys)
    }

    /// One signature for each secret.
    fn sign(&self, message: &str) -> Result<String> {
        let keys = match self {
            Self::Keys(keys) => keys,
            Self::Unusable(why) => return Err(Error::internal(format!("Error generating signatures: {why}"))),
        };
        let signature =
            |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, message.as_bytes()).as_ref()));
        Ok(keys.iter().map(signature).collect::<Vec<_>>().join(", "))
    }
}
