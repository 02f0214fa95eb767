//! A mailer that keeps every message.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::mail::{EmailMessage, MailError, Mailer};

/// Keeps every mail and refuses those that a test selects.
#[derive(Debug, Default)]
pub struct Mailbox {
    mails: Mutex<Vec<EmailMessage>>,
    faults: Mutex<VecDeque<MailError>>,
}

impl Mailbox {
    /// All mails so far, oldest first.
    pub fn all(&self) -> Vec<EmailMessage> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest mail to that address.
    #[track_caller]
    pub fn latest(&self, to: &str) -> EmailMessage {
        self.all().into_iter().rev().find(|mail| mail.to == to).unwrap_or_else(|| panic!("no mail went to {to}"))
    }

    /// Makes the next send fail with this error.
    pub fn refuse_next(&self, error: MailError) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push_back(error);
    }
}

impl Mailer for Mailbox {
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            if let Some(error) = self.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                return Err(error);
            }
            self.mails.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
            Ok(())
        })
    }
}
