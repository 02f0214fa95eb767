//! `Textlocal`. The status does not count: what the body says does.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::{Door, Sender, SmsError, TextMessage};

/// The text is none of those that the account has registered.
const NO_SUCH_TEMPLATE: i64 = 80;

/// An account.
#[derive(Debug)]
pub(super) struct Textlocal {
    pub(super) door: Door,
    pub(super) sender: String,
}

impl Sender for Textlocal {
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Textlocal {
    async fn post(&self, message: &TextMessage) -> Result<Option<String>, SmsError> {
        self.door.require_sms(&message.channel)?;
        let form = [
            ("apikey", self.door.secret.reveal()),
            ("message", &message.body),
            ("numbers", &message.to),
            ("sender", &self.sender),
        ];
        let answer = self.door.post("https://api.textlocal.in/send", None, &form).await?;
        let Answered { status, messages, errors } = self.door.read(&answer)?;
        if status == "success" {
            // As recorded, the id that it names is not told.
            return Ok(None);
        }
        let Id { id } = messages.into_iter().next().unwrap_or_default();
        let Problem { code, message: why } = errors.into_iter().next().unwrap_or_default();
        Err(self.door.refused(&match code {
            // The operator sees which text it was; the code in it is void.
            NO_SUCH_TEMPLATE => format!("textlocal error: {why} (code: {code}) template message: {}", message.body),
            _ => format!("textlocal error: {why} (code: {code}) message {id}"),
        }))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answered {
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
