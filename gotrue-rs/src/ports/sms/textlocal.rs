//! Textlocal. The status is ignored; only the body counts.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::message::{SmsError, SmsMessage, SmsSender};
use super::sender_client::SenderClient;

/// The text matches no template registered with the account.
const NO_SUCH_TEMPLATE: i64 = 80;

/// A Textlocal account.
#[derive(Debug)]
pub(super) struct Textlocal {
    pub(super) client: SenderClient,
    pub(super) sender: String,
}

impl SmsSender for Textlocal {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Textlocal {
    async fn post(&self, message: &SmsMessage) -> Result<Option<String>, SmsError> {
        self.client.require_sms(&message.channel)?;
        let form = [
            ("apikey", self.client.secret.reveal()),
            ("message", &message.body),
            ("numbers", &message.to),
            ("sender", &self.sender),
        ];
        let answer = self.client.post("https://api.textlocal.in/send", None, &form).await?;
        let SendResponse { status, messages, errors } = self.client.parse_response(&answer)?;
        if status == "success" {
            // Like the reference, the message id is not returned.
            return Ok(None);
        }
        let Id { id } = messages.into_iter().next().unwrap_or_default();
        let Problem { code, message: why } = errors.into_iter().next().unwrap_or_default();
        Err(self.client.rejection(&match code {
            // The message shows the operator the text; its code is void.
            NO_SUCH_TEMPLATE => format!("textlocal error: {why} (code: {code}) template message: {}", message.body),
            _ => format!("textlocal error: {why} (code: {code}) message {id}"),
        }))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SendResponse {
    status: String,
    messages: Vec<Id>,
    errors: Vec<Problem>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Id {
    id: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Problem {
    code: i64,
    message: String,
}
