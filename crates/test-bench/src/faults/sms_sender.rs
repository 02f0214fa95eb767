//! A sender of SMS messages that fails as the rules for the target `sms` say.

use std::sync::Arc;

use futures::future::BoxFuture;
use gotrue_rs::ports::sms::{SharedSmsSender, SmsError, SmsMessage, SmsSender};
use platform::clock::{Clock, SystemClock};

use super::action::{FaultEffect, TargetFailure};
use super::mailer::HANGING;
use super::rules::FaultRules;
use super::target::FaultTarget;

/// Sends messages with another sender unless a rule affects them.
#[derive(Debug)]
pub struct FaultySmsSender {
    inner: SharedSmsSender,
    rules: Arc<FaultRules>,
}

impl FaultySmsSender {
    /// Creates a sender that sends with `inner`.
    pub fn new(inner: SharedSmsSender, rules: Arc<FaultRules>) -> Self {
        Self { inner, rules }
    }

    async fn send_or_fail(&self, message: &SmsMessage) -> Result<Option<String>, SmsError> {
        let Some(action) = self.rules.for_target(&FaultTarget::Sms) else { return self.inner.send(message).await };
        SystemClock.sleep(action.delay).await;
        match action.effect {
            FaultEffect::Fail(failure) => {
                if failure == TargetFailure::Hang {
                    SystemClock.sleep(HANGING).await;
                }
                Err(SmsError::Refused("injected fault".to_owned()))
            }
            _ => self.inner.send(message).await,
        }
    }
}

impl SmsSender for FaultySmsSender {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(self.send_or_fail(message))
    }

    fn verify_code<'a>(&'a self, to: &'a str, code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        self.inner.verify_code(to, code)
    }
}
