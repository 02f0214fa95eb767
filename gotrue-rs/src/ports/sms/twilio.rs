//! Twilio's messages: texts, and `WhatsApp` with a content template or, as before there were any, with the text itself.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use gotrue_rules::domain::contact::Phone;
use serde::Deserialize;

use super::{Door, Sender, SmsError, TextMessage, named};
use crate::ports::http_client::Answer;

/// An account.
#[derive(Debug)]
pub(super) struct Twilio {
    pub(super) door: Door,
    pub(super) account_sid: String,
    /// The messaging service, or the number to send from.
    pub(super) from: String,
    /// The content template for `WhatsApp`; empty: none.
    pub(super) content_sid: String,
}

impl Sender for Twilio {
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Twilio {
    async fn post(&self, message: &TextMessage) -> Result<Option<String>, SmsError> {
        let url = format!("https://api.twilio.com/2010-04-01/Accounts/{}/Messages.json", self.account_sid);
        let is_whatsapp = message.channel.as_str() == "whatsapp";
        let to = if is_whatsapp { format!("whatsapp:+{}", message.to) } else { format!("+{}", message.to) };
        // A messaging service is named as it is, a number with its channel.
        let by_number = is_whatsapp && Phone::parse(&self.from).is_ok();
        let from = if by_number { format!("whatsapp:{}", self.from) } else { self.from.clone() };
        let variables = format!(r#"{{"1": "{}"}}"#, message.code);
        let mut form = vec![("Channel", message.channel.as_str()), ("From", &from), ("To", &to)];
        if is_whatsapp && !self.content_sid.is_empty() {
            form.extend([("ContentSid", self.content_sid.as_str()), ("ContentVariables", &variables)]);
        } else {
            form.push(("Body", &message.body));
        }
        let answer = self.door.post(&url, Some(basic(&self.account_sid, &self.door)), &form).await?;
        require_taken(&self.door, &answer)?;
        let Taken { status, sid, error_message: why, error_code: code, .. } = self.door.read(&answer)?;
        if matches!(status.as_str(), "failed" | "undelivered") {
            return Err(self.door.refused(&format!("twilio error: {why} {code} for message {sid}")));
        }
        Ok(named(sid))
    }
}

/// The account and its password, as a header has them.
pub(super) fn basic(account_sid: &str, door: &Door) -> String {
    format!("Basic {}", STANDARD.encode(format!("{account_sid}:{}", door.secret.reveal())))
}

/// Refuses what is neither 200 nor 201, in Twilio's words.
pub(super) fn require_taken(door: &Door, answer: &Answer) -> Result<(), SmsError> {
    if matches!(answer.status, 200 | 201) {
        return Ok(());
    }
    let Refused { message, more_info, .. } = door.read(answer)?;
    Err(door.refused(&format!("{message} More information: {more_info}")))
}

/// What Twilio says of a message that it took.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Taken {
    status: String,
    sid: String,
    error_code: String,
    error_message: String,
    // Only its type counts.
    to: String,
    // Only its type counts.
    from: String,
    // Only its type counts.
    body: String,
}

/// What it says of one that it did not take.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Refused {
    message: String,
    more_info: String,
    // Only its type counts.
    code: i64,
    // Only its type counts.
    status: i64,
}
