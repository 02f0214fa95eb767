//! A message, its sender, and why it is not sent.

use std::fmt;

use futures::future::BoxFuture;
use gotrue_rules::domain::contact::SmsChannel;
use gotrue_rules::wire::go_json;
use platform::http_client::HttpError;

/// One message to one number.
#[derive(Clone, PartialEq, Eq)]
pub struct SmsMessage {
    /// The number: digits only, no `+`.
    pub to: String,
    pub channel: SmsChannel,
    /// The text.
    pub body: String,
    /// The code in the text, for senders that take it separately.
    pub code: String,
}

/// Omits number and code.
impl fmt::Debug for SmsMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmsMessage").field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// Why a message was not sent, or a code is wrong.
///
/// `Display` is for the log; clients get [`Self::client_message`].
#[derive(Debug, thiserror::Error)]
pub enum SmsError {
    /// No sender is configured.
    #[error("no sender of phone messages can be used: configure an SMS provider completely")]
    NoProvider,
    /// The sender rejected the message.
    #[error("the sender refused")]
    Refused(String),
    /// The request to the sender failed.
    #[error("asking {sender}: {cause}")]
    Transport { sender: &'static str, cause: HttpError },
    /// The sender's response is not valid JSON of the expected form.
    #[error("{sender} answered {status} with what cannot be read: {reason}")]
    Unreadable {
        sender: &'static str,
        status: u16,
        /// The parse error of the body.
        reason: go_json::GoJsonError,
    },
    /// The message could not be written into the development inbox.
    #[error("the message could not be kept: {0}")]
    NotKept(String),
    /// The sender does not verify codes.
    #[error("this sender makes no codes of its own")]
    CodesUnsupported,
}

impl SmsError {
    /// Returns the client's message: the sender's text of a rejection, else only the sender's name.
    pub fn client_message(&self) -> String {
        match self {
            Self::Refused(words) => words.clone(),
            Self::Transport { sender, .. } => format!("{sender} cannot be reached"),
            Self::Unreadable { sender, status, .. } => format!("{sender} answered {status} with what cannot be read"),
            Self::NotKept(_) => "the message could not be kept".to_owned(),
            Self::NoProvider | Self::CodesUnsupported => self.to_string(),
        }
    }
}

/// Sends phone messages.
pub trait SmsSender: fmt::Debug + Send + Sync + 'static {
    /// Sends a message and returns the sender's id of it, if there is one.
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>>;

    /// Verifies a code that the sender itself generated for this number.
    fn verify_code<'a>(&'a self, _to: &'a str, _code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        Box::pin(async { Err(SmsError::CodesUnsupported) })
    }
}
