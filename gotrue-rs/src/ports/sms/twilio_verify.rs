//! Twilio Verify, which makes the codes itself, sends them in words of its own, and is asked whether one is right.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::twilio::{basic, require_taken};
use super::{Door, Sender, SmsError, TextMessage, named};
use crate::ports::http_client::Answer;

/// A service of an account.
#[derive(Debug)]
pub(super) struct TwilioVerify {
    pub(super) door: Door,
    pub(super) account_sid: String,
    pub(super) service: String,
}

impl Sender for TwilioVerify {
    /// Has a code made and sent; text and code of the message are not looked at.
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        let to = format!("+{}", message.to);
        let send = async move {
            let answer = self.post("Verifications", &[("Channel", message.channel.as_str()), ("To", &to)]).await?;
            self.door.read::<Verification>(&answer).map(|verification| named(verification.sid))
        };
        send.boxed()
    }

    fn check<'a>(&'a self, to: &'a str, code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        let to = format!("+{to}");
        let check = async move {
            let answer = self.post("VerificationCheck", &[("Code", code), ("To", &to)]).await?;
            let Verification { status, valid, error_message: why, .. } = self.door.read(&answer)?;
            if status == "approved" && valid {
                return Ok(());
            }
            Err(self.door.refused(&format!("twilio verification error: {why} {status}")))
        };
        check.boxed()
    }
}

impl TwilioVerify {
    async fn post(&self, what: &str, form: &[(&str, &str)]) -> Result<Answer, SmsError> {
        let url = format!("https://verify.twilio.com/v2/Services/{}/{what}", self.service);
        let answer = self.door.post(&url, Some(basic(&self.account_sid, &self.door)), form).await?;
        require_taken(&self.door, &answer)?;
        Ok(answer)
    }
}

/// A code that was asked for, or one that was looked at.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Verification {
    sid: String,
    status: String,
    valid: bool,
    error_message: String,
    // Only its type counts.
    error_code: String,
    // Only its type counts.
    to: String,
    // Only its type counts.
    channel: String,
}
