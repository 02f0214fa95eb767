//! Vonage. The status does not count: what the body says of the first part of the message does.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::{Door, Sender, SmsError, TextMessage, named};

/// An account.
#[derive(Debug)]
pub(super) struct Vonage {
    pub(super) door: Door,
    pub(super) api_key: String,
    pub(super) from: String,
}

impl Sender for Vonage {
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Vonage {
    async fn post(&self, message: &TextMessage) -> Result<Option<String>, SmsError> {
        self.door.require_sms(&message.channel)?;
        let mut form = vec![
            ("api_key", self.api_key.as_str()),
            ("api_secret", self.door.secret.reveal()),
            ("from", &self.from),
            ("text", &message.body),
            ("to", &message.to),
        ];
        if !message.body.is_ascii() {
            form.push(("type", "unicode"));
        }
        let answer = self.door.post("https://rest.nexmo.com/sms/json", None, &form).await?;
        let Answered { messages } = self.door.read(&answer)?;
        let Some(Part { id, status, why }) = messages.into_iter().next() else {
            return Err(self.door.refused("vonage error: Internal Error"));
        };
        if status == "0" {
            return Ok(named(id));
        }
        Err(self.door.refused(&format!("vonage error: {why} (status: {status}) for message {id}")))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answered {
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
