//! Twilio Verify, which generates, sends and verifies the codes itself.

use futures::FutureExt;
use futures::future::BoxFuture;
use platform::http_client::HttpResponse;
use serde::Deserialize;

use super::message::{SmsError, SmsMessage, SmsSender};
use super::sender_client::{SenderClient, non_empty};
use super::twilio::{basic_authorization, require_accepted};

/// A Verify service of an account.
#[derive(Debug)]
pub(super) struct TwilioVerify {
    pub(super) client: SenderClient,
    pub(super) account_sid: String,
    pub(super) service: String,
}

impl SmsSender for TwilioVerify {
    /// Requests a verification; text and code of the message are ignored.
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        let to = format!("+{}", message.to);
        let send = async move {
            let answer = self.post("Verifications", &[("Channel", message.channel.as_str()), ("To", &to)]).await?;
            self.client.parse_response::<Verification>(&answer).map(|verification| non_empty(verification.sid))
        };
        send.boxed()
    }

    fn verify_code<'a>(&'a self, to: &'a str, code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        let to = format!("+{to}");
        let check = async move {
            let answer = self.post("VerificationCheck", &[("Code", code), ("To", &to)]).await?;
            let Verification { status, valid, error_message: why, .. } = self.client.parse_response(&answer)?;
            if status == "approved" && valid {
                return Ok(());
            }
            Err(self.client.rejection(&format!("twilio verification error: {why} {status}")))
        };
        check.boxed()
    }
}

impl TwilioVerify {
    async fn post(&self, what: &str, form: &[(&str, &str)]) -> Result<HttpResponse, SmsError> {
        let url = format!("https://verify.twilio.com/v2/Services/{}/{what}", self.service);
        let answer = self.client.post(&url, Some(basic_authorization(&self.account_sid, &self.client)), form).await?;
        require_accepted(&self.client, &answer)?;
        Ok(answer)
    }
}

/// A requested or checked verification.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Verification {
    sid: String,
    status: String,
    valid: bool,
    error_message: String,
    // Only its type is checked.
    error_code: String,
    // Only its type is checked.
    to: String,
    // Only its type is checked.
    channel: String,
}
