//! Messages to phones: what one is and who takes it. No sender is built in yet, so [`NoSender`] is the only one.

use std::sync::Arc;

use futures::future::BoxFuture;

/// The `message_id` of a message to a number with a fixed code (`SmsPolicy::test_code`): nothing is sent to those.
pub const TEST_MESSAGE_ID: &str = "test-otp";

/// One message to one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMessage {
    /// The number: digits only, no `+`.
    pub to: String,
    /// The way it goes.
    pub channel: Channel,
    /// The text.
    pub body: String,
    /// The code in it, for senders that want it apart.
    pub code: String,
}

/// The way a message goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Channel {
    /// A text message.
    #[default]
    Sms,
    /// `WhatsApp`, with Twilio only.
    Whatsapp,
}

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmsError {
    /// No sender is configured: 500 with this text.
    #[error("Unable to get SMS provider")]
    NoProvider,
    /// The sender's own words, which the client is told.
    #[error("{0}")]
    Refused(String),
}

/// Sends messages to phones.
pub trait Sender: Send + Sync + 'static {
    /// Sends one; gives the sender's id of it, if it names one.
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>>;
}

/// A sender that can be shared.
pub type SharedSender = Arc<dyn Sender>;

/// No sender is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSender;

impl Sender for NoSender {
    fn send<'a>(&'a self, _: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async { Err(SmsError::NoProvider) })
    }
}
