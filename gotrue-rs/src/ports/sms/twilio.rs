//! Twilio messages: SMS, and `WhatsApp` with a content template or, if none is set, with the text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use gotrue_rules::domain::contact::Phone;
use platform::http_client::HttpResponse;
use serde::Deserialize;

use super::message::{SmsError, SmsMessage, SmsSender};
use super::sender_client::{SenderClient, non_empty};

/// A Twilio account.
#[derive(Debug)]
pub(super) struct Twilio {
    pub(super) client: SenderClient,
    pub(super) account_sid: String,
    /// The messaging service, or the number to send from.
    pub(super) from: String,
    /// The content template for `WhatsApp`; empty for none.
    pub(super) content_sid: String,
}

impl SmsSender for Twilio {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        self.post(message).boxed()
    }
}

impl Twilio {
    async fn post(&self, message: &SmsMessage) -> Result<Option<String>, SmsError> {
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
        let answer = self.client.post(&url, Some(basic_authorization(&self.account_sid, &self.client)), &form).await?;
        require_accepted(&self.client, &answer)?;
        let AcceptedMessage { status, sid, error_message: why, error_code: code, .. } =
            self.client.parse_response(&answer)?;
        if matches!(status.as_str(), "failed" | "undelivered") {
            return Err(self.client.rejection(&format!("twilio error: {why} {code} for message {sid}")));
        }
        Ok(non_empty(sid))
    }
}

/// Returns the `Authorization` header of the account.
pub(super) fn basic_authorization(account_sid: &str, client: &SenderClient) -> String {
    format!("Basic {}", STANDARD.encode(format!("{account_sid}:{}", client.secret.reveal())))
}

/// Rejects any status except 200 and 201, with Twilio's error message.
pub(super) fn require_accepted(client: &SenderClient, answer: &HttpResponse) -> Result<(), SmsError> {
    if matches!(answer.status, 200 | 201) {
        return Ok(());
    }
    let RejectedMessage { message, more_info, .. } = client.parse_response(answer)?;
    Err(client.rejection(&format!("{message} More information: {more_info}")))
}

/// Twilio's response for an accepted message.
#[derive(Deserialize, Default)]
#[serde(default)]
struct AcceptedMessage {
    status: String,
    sid: String,
    error_code: String,
    error_message: String,
    // Only its type is checked.
    to: String,
    // Only its type is checked.
    from: String,
    // Only its type is checked.
    body: String,
}

/// Twilio's response for a rejected message.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RejectedMessage {
    message: String,
    more_info: String,
    // Only its type is checked.
    code: i64,
    // Only its type is checked.
    status: i64,
}
