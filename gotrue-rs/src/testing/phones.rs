//! An SMS sender that keeps every message.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::ports::sms::{SmsError, SmsMessage, SmsSender};

/// Keeps every SMS message and refuses those that a test selects.
#[derive(Debug, Default)]
pub struct Phones {
    texts: Mutex<Vec<SmsMessage>>,
    refusal: Mutex<Option<SmsError>>,
}

impl Phones {
    /// All messages so far, oldest first.
    pub fn all(&self) -> Vec<SmsMessage> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest message to that number.
    #[track_caller]
    pub fn latest(&self, to: &str) -> SmsMessage {
        self.all().into_iter().rev().find(|text| text.to == to).unwrap_or_else(|| panic!("no text went to {to}"))
    }

    /// Makes the next send fail with this error.
    pub fn refuse_next(&self, error: SmsError) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl SmsSender for Phones {
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async move {
            if let Some(error) = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(error);
            }
            self.texts.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
            Ok(Some("a-text".to_owned()))
        })
    }
}
