//! Mail: the message type and the mailer interface.
//!
//! [`compose`] formats, [`outbox`] keeps what is to be sent, [`smtp`] sends, [`inbox`] shows what was sent.

pub mod compose;
pub mod inbox;
pub mod layout;
pub mod outbox;
pub mod plain;
pub mod smtp;

use std::borrow::Cow;
use std::sync::Arc;

use foundation::time::Time;
use futures::future::BoxFuture;

/// One mail to one address, ready to be sent or stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailMessage {
    /// The purpose in headers, logs and the inbox: a name of the caller.
    pub purpose: Cow<'static, str>,
    /// The recipient's address as stored with the user.
    pub to: String,
    /// The subject, plain text.
    pub subject: String,
    /// The HTML body.
    pub html: String,
    /// The plain-text body; without it the mail has one part.
    pub text: Option<String>,
    /// `unique@host` without brackets, the same for every attempt, so that duplicates are recognised.
    pub message_id: String,
    /// The time of writing.
    pub date: Time,
    /// Additional headers; configured ones are added.
    pub headers: Vec<(String, String)>,
    /// The code in the mail, for the inbox.
    pub code: Option<String>,
    /// The link in the mail, for the inbox.
    pub link: Option<String>,
}

/// Why a mail was not accepted. For the log only; contains no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// The recipient's address is invalid.
    #[error("the recipient's address cannot be written in a mail")]
    Address,
    /// The configured sender or headers cannot be encoded.
    #[error("{0}")]
    Header(String),
    /// The mail server rejected the mail permanently.
    #[error("the mail server refused: {0}")]
    Refused(String),
    /// The mail server was not reached, or failed temporarily.
    #[error("the mail server could not be used: {0}")]
    Failed(String),
}

impl MailError {
    /// Whether another attempt would fail, too.
    pub fn is_permanent(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Returns the kind of failure in traces.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Address => "invalid_address",
            Self::Header(_) => "invalid_settings",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }
}

/// Accepts mails: an SMTP server or an outbox.
pub trait Mailer: Send + Sync + 'static {
    /// Sends the mail. After `Ok` the callee is responsible for its delivery.
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>>;
}

/// The fault of a mail that is kept in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailFault {
    /// The mail never arrives.
    Withhold,
    /// The mail arrives so much later, by the clock of the backend.
    Delay(std::time::Duration),
}

/// Selects mails that do not arrive in the inbox, or late; for test environments.
///
/// No setting enables it: only the code of a test environment supplies one.
pub trait MailFaultInjector: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the fault of the mail that is about to be stored.
    fn fault_of_mail(&self) -> Option<MailFault>;
}

pub type SharedMailer = Arc<dyn Mailer>;

/// No mail server is configured: every mail is dropped silently, like in the reference.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardingMailer;

impl Mailer for DiscardingMailer {
    fn send<'a>(&'a self, _: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async { Ok(()) })
    }
}
