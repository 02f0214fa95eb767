//! `Textlocal`. The status does not count: what the body says does.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Door, Sender, SmsError, TextMessage, named, text_of};

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
        let (status, id, error) = self.door.read(&answer, |body| {
            let first = |list| body.value(list).and_then(|list| list.get(0)).cloned().unwrap_or_default();
            Ok((body.string("status")?, text_of(first("messages").get("id")), first("errors")))
        })?;
        if status == "success" {
            return Ok(named(id));
        }
        let (code, why) = (error["code"].as_i64().unwrap_or_default(), text_of(error.get("message")));
        Err(self.door.refused(&match code {
            // The operator sees which text it was; the code in it is void.
            NO_SUCH_TEMPLATE => format!("textlocal error: {why} (code: {code}) template message: {}", message.body),
            _ => format!("textlocal error: {why} (code: {code}) message {id}"),
        }))
    }
}
