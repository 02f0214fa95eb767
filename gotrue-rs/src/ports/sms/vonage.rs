//! Vonage. The status does not count: what the body says of the first part of the message does.

use futures::FutureExt;
use futures::future::BoxFuture;

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
        let parts = self.door.read(&answer, |body| Ok(body.value("messages").cloned()))?;
        let Some(first) = parts.as_ref().and_then(|parts| parts.get(0)) else {
            return Err(self.door.refused("vonage error: Internal Error"));
        };
        let member = |name: &str| first[name].as_str().unwrap_or_default();
        let (status, id) = (member("status"), member("message-id"));
        if status == "0" {
            return Ok(named(id.to_owned()));
        }
        let why = member("error-text");
        Err(self.door.refused(&format!("vonage error: {why} (status: {status}) for message {id}")))
    }
}
