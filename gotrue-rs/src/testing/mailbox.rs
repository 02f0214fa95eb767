//! Where a test's mails go.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::ports::mail::{MailError, Mailer, Message};

/// Keeps every mail, and can be told to refuse them.
#[derive(Debug, Default)]
pub struct Mailbox {
    mails: Mutex<Vec<Message>>,
    faults: Mutex<VecDeque<MailError>>,
}

impl Mailbox {
    /// All mails so far, oldest first.
    pub fn all(&self) -> Vec<Message> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest mail to that address.
    #[track_caller]
    pub fn latest(&self, to: &str) -> Message {
        self.all().into_iter().rev().find(|mail| mail.to == to).unwrap_or_else(|| panic!("no mail went to {to}"))
    }

    /// Refuses the next mail.
    pub fn refuse_next(&self, error: MailError) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push_back(error);
    }
}

impl Mailer for Mailbox {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            if let Some(error) = self.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                return Err(error);
            }
            self.mails.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
            Ok(())
        })
    }
}
