//! A mailer that fails as the rules for the target `smtp` say.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use platform::clock::{Clock, SystemClock};
use platform::mail::{EmailMessage, MailError, Mailer, SharedMailer};

use super::action::{FaultEffect, TargetFailure};
use super::rules::FaultRules;
use super::target::FaultTarget;

/// How long a mail server that hangs is waited for.
pub(super) const HANGING: Duration = Duration::from_mins(1);

/// Sends mails with another mailer unless a rule affects them.
pub struct FaultyMailer {
    inner: SharedMailer,
    rules: Arc<FaultRules>,
}

impl FaultyMailer {
    /// Creates a mailer that sends with `inner`.
    pub fn new(inner: SharedMailer, rules: Arc<FaultRules>) -> Self {
        Self { inner, rules }
    }

    async fn send_or_fail(&self, message: &EmailMessage) -> Result<(), MailError> {
        let Some(action) = self.rules.for_target(&FaultTarget::Smtp) else { return self.inner.send(message).await };
        SystemClock.sleep(action.delay).await;
        match action.effect {
            FaultEffect::Fail(TargetFailure::Bounce) => Ok(()),
            FaultEffect::Fail(TargetFailure::Hang) => {
                SystemClock.sleep(HANGING).await;
                Err(MailError::Failed("no answer: injected fault".to_owned()))
            }
            FaultEffect::Fail(_) => Err(MailError::Refused("550 injected fault".to_owned())),
            _ => self.inner.send(message).await,
        }
    }
}

impl Mailer for FaultyMailer {
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.send_or_fail(message))
    }
}
