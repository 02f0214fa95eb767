//! Keeps SMS messages in the development inbox instead of sending them.

use foundation::error_chain::ErrorChain;
use futures::future::BoxFuture;
use platform::mail::inbox::{Inbox, NewMessage};

use super::message::{SmsError, SmsMessage, SmsSender};

/// The purpose of every kept SMS.
const PURPOSE: &str = "sms_otp";

/// A sender whose messages are read in the development inbox.
#[derive(Debug)]
pub(super) struct InboxSmsSender(pub(super) Inbox);

impl SmsSender for InboxSmsSender {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async move {
            let (id, created_at) = self.0.stamp();
            let clean = |text: &str| text.replace('\0', "");
            let kept = NewMessage {
                id,
                purpose: PURPOSE,
                channel: "sms",
                sender: None,
                recipient: clean(&message.to),
                subject: String::new(),
                html: String::new(),
                text: Some(clean(&message.body)),
                headers: Vec::new(),
                code: Some(clean(&message.code)),
                message_id: format!("{id}@sms"),
                raw: None,
                attachment_count: 0,
                created_at,
            };
            let written = self.0.keep(&kept).await;
            written.map_err(|error| SmsError::NotKept(ErrorChain(&error).to_string()))?;
            Ok(Some(id.to_string()))
        })
    }
}
