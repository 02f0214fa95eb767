//! Vonage. The status is ignored; only the first message part in the body counts.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::message::{SmsError, SmsMessage, SmsSender};
use super::sender_client::{SenderClient, non_empty};

/// A Vonage account.
#[derive(Debug)]
pub(super) struct Vonage {
    pub(super) client: SenderClient,
    pub(super) api_key: String,
    pub(super) from: String,
}

impl SmsSender for Vonage {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Vonage {
    async fn post(&self, message: &SmsMessage) -> Result<Option<String>, SmsError> {
        self.client.require_sms(&message.channel)?;
        let mut form = vec![
            ("api_key", self.api_key.as_str()),
            ("api_secret", self.client.secret.reveal()),
            ("from", &self.from),
            ("text", &message.body),
            ("to", &message.to),
        ];
        if !message.body.is_ascii() {
            form.push(("type", "unicode"));
        }
        let answer = self.client.post("https://rest.nexmo.com/sms/json", None, &form).await?;
        let SendResponse { messages } = self.client.parse_response(&answer)?;
        let Some(Part { id, status, why }) = messages.into_iter().next() else {
            return Err(self.client.rejection("vonage error: Internal Error"));
        };
        if status == "0" {
            return Ok(non_empty(id));
        }
        Err(self.client.rejection(&format!("vonage error: {why} (status: {status}) for message {id}")))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SendResponse {
    messages: Vec<Part>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Part {
    #[serde(rename = "message-id")]
    id: String,
    status: String,
    #[serde(rename = "error-text")]
    why: String,
}
