//! Where a test's texts go.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::ports::sms::{Sender, SmsError, TextMessage};

/// Keeps every text, and can be told to refuse one.
#[derive(Debug, Default)]
pub struct Phones {
    texts: Mutex<Vec<TextMessage>>,
    refusal: Mutex<Option<SmsError>>,
}

impl Phones {
    /// All texts so far, oldest first.
    pub fn all(&self) -> Vec<TextMessage> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest text to that number.
    #[track_caller]
    pub fn latest(&self, to: &str) -> TextMessage {
        self.all().into_iter().rev().find(|text| text.to == to).unwrap_or_else(|| panic!("no text went to {to}"))
    }

    /// Refuses the next text.
    pub fn refuse_next(&self, error: SmsError) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Sender for Phones {
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async move {
            if let Some(error) = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(error);
            }
            self.texts.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
            Ok(Some("a-text".to_owned()))
        })
    }
}
