//! `MessageBird`.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

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
            let why = self.door.read(&answer, |body| Ok(first_description(body.value("errors"))))?;
            return Err(self
                .door
                .refused(&why.unwrap_or_else(|| format!("messagebird error: status {}", answer.status))));
        }
        let (id, sent) = self
            .door
            .read(&answer, |body| Ok((body.string("id")?, body.nested("recipients")?.number("totalSentCount")?)))?;
        if sent > 0.0 { Ok(named(id)) } else { Err(self.door.refused("messagebird error: total sent count is 0")) }
    }
}

fn first_description(errors: Option<&Value>) -> Option<String> {
    errors?.get(0)?.get("description")?.as_str().map(str::to_owned)
}
