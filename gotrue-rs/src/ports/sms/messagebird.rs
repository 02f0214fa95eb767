//! `MessageBird`.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::message::{SmsError, SmsMessage, SmsSender};
use super::sender_client::{SenderClient, non_empty};

/// A `MessageBird` account.
#[derive(Debug)]
pub(super) struct Messagebird {
    pub(super) client: SenderClient,
    pub(super) originator: String,
}

impl SmsSender for Messagebird {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Messagebird {
    async fn post(&self, message: &SmsMessage) -> Result<Option<String>, SmsError> {
        self.client.require_sms(&message.channel)?;
        let authorization = format!("AccessKey {}", self.client.secret.reveal());
        let form = [
            ("body", message.body.as_str()),
            ("datacoding", "unicode"),
            ("originator", &self.originator),
            ("recipients", &message.to),
            ("type", "sms"),
        ];
        let answer = self.client.post("https://rest.messagebird.com/messages", Some(authorization), &form).await?;
        if matches!(answer.status, 400 | 401 | 403 | 422) {
            let RejectedMessage { errors } = self.client.parse_response(&answer)?;
            let why = errors.into_iter().next().map(|error| error.description);
            return Err(self
                .client
                .rejection(&why.unwrap_or_else(|| format!("messagebird error: status {}", answer.status))));
        }
        let AcceptedMessage { id, recipients } = self.client.parse_response(&answer)?;
        if recipients.total_sent_count != 0 {
            return Ok(non_empty(id));
        }
        Err(self.client.rejection("messagebird error: total sent count is 0"))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AcceptedMessage {
    id: String,
    recipients: Recipients,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Recipients {
    total_sent_count: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RejectedMessage {
    errors: Vec<Problem>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Problem {
    // Only its type is checked.
    code: i64,
    description: String,
    // Only its type is checked.
    parameter: String,
}
