//! `MessageBird`.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::{Door, Sender, SmsError, TextMessage, named};

/// An account.
#[derive(Debug)]
pub(super) struct Messagebird {
    pub(super) door: Door,
    pub(super) originator: String,
}

impl Sender for Messagebird {
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Messagebird {
    async fn post(&self, message: &TextMessage) -> Result<Option<String>, SmsError> {
        self.door.require_sms(&message.channel)?;
        let authorization = format!("AccessKey {}", self.door.secret.reveal());
        let form = [
            ("body", message.body.as_str()),
            ("datacoding", "unicode"),
            ("originator", &self.originator),
            ("recipients", &message.to),
            ("type", "sms"),
        ];
        let answer = self.door.post("https://rest.messagebird.com/messages", Some(authorization), &form).await?;
        if matches!(answer.status, 400 | 401 | 403 | 422) {
            let Refused { errors } = self.door.read(&answer)?;
            let why = errors.into_iter().next().map(|error| error.description);
            return Err(self
                .door
                .refused(&why.unwrap_or_else(|| format!("messagebird error: status {}", answer.status))));
        }
        let Taken { id, recipients } = self.door.read(&answer)?;
        if recipients.total_sent_count != 0 {
            return Ok(named(id));
        }
        Err(self.door.refused("messagebird error: total sent count is 0"))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Taken {
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
struct Refused {
    errors: Vec<Problem>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Problem {
    // Only its type counts.
    code: i64,
    description: String,
    // Only its type counts.
    parameter: String,
}
