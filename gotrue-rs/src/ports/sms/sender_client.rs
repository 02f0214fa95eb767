//! The requests of the senders.

use std::fmt;
use std::sync::Arc;

use foundation::secret::Secret;
use gotrue_rules::domain::contact::SmsChannel;
use gotrue_rules::wire::go_json::Document;
use platform::http_client::{HttpClient, HttpError, HttpResponse, ResponseLimits};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::de::DeserializeOwned;
use url::form_urlencoded::Serializer;

use super::message::SmsError;

/// Shorter secrets are not redacted in responses.
const MIN_REDACTED_BYTES: usize = 8;

/// The HTTP client of one sender.
#[derive(Debug)]
pub(super) struct SenderClient {
    /// The sender's name as the reference spells it.
    pub name: &'static str,
    /// The API secret; never part of an error.
    pub secret: Secret,
    pub http: Arc<HttpClient>,
    pub limits: ResponseLimits,
}

impl SenderClient {
    /// Posts a form.
    pub(super) async fn post(
        &self,
        url: &str,
        authorization: Option<String>,
        form: &[(&str, &str)],
    ) -> Result<HttpResponse, SmsError> {
        let unreadable = |reason: &dyn fmt::Display| HttpError::Client(format!("a setting cannot be sent: {reason}"));
        let failed = |cause| SmsError::Transport { sender: self.name, cause };
        let url = Url::parse(url).map_err(|reason| failed(unreadable(&reason)))?;
        let mut request = reqwest::Request::new(reqwest::Method::POST, url);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::try_from(authorization).map_err(|reason| failed(unreadable(&reason)))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        *request.body_mut() = Some(Serializer::new(String::new()).extend_pairs(form).finish().into());
        self.http.send_trusted(self.name, request, self.limits).await.map_err(failed)
    }

    pub(super) fn parse_response<T: DeserializeOwned>(&self, answer: &HttpResponse) -> Result<T, SmsError> {
        let read = Document::parse_first(&answer.body).and_then(|body| body.read());
        read.map_err(|reason| SmsError::Unreadable { sender: self.name, status: answer.status, reason })
    }

    /// Returns a rejection in the sender's text, with the secret redacted.
    ///
    /// A short secret is a common word and stays.
    pub(super) fn rejection(&self, words: &str) -> SmsError {
        let secret = self.secret.reveal();
        SmsError::Refused(if secret.len() < MIN_REDACTED_BYTES {
            words.to_owned()
        } else {
            words.replace(secret, "***")
        })
    }

    /// Rejects a channel other than SMS.
    pub(super) fn require_sms(&self, channel: &SmsChannel) -> Result<(), SmsError> {
        if *channel == SmsChannel::default() {
            return Ok(());
        }
        Err(self.rejection(&format!("channel type {:?} is not supported for {}", channel.as_str(), self.name)))
    }
}

/// Returns an id unless it is empty.
pub(super) fn non_empty(id: String) -> Option<String> {
    Some(id).filter(|id| !id.is_empty())
}
