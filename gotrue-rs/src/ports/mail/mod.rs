//! Mail: what a message is, and who takes it. What it says is [`template`]'s, where its link leads [`link`]'s, how it
//! travels [`smtp`]'s. Whether it may be sent at all (quota, gap, address) is decided before, by the flows.

pub mod addresses;
pub mod compose;
pub mod inbox;
pub mod link;
pub mod outbox;
pub mod plain;
pub mod smtp;
pub mod template;

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::BoxFuture;
use gotrue_rules::domain::policy::MailKind;
use gotrue_rules::domain::user::Time;

/// One mail to one address, ready to be sent or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is for, as headers, logs and the inbox name it: [`purpose_of`] a kind, or a name of the caller's own.
    pub purpose: Cow<'static, str>,
    /// The address, as the account has it.
    pub to: String,
    /// The subject, plain text.
    pub subject: String,
    /// The body.
    pub html: String,
    /// The body for readers that show no HTML; absent: the mail has one part.
    pub text: Option<String>,
    /// `unique@host`, without brackets: the same for every attempt, so that a mail sent twice is recognised.
    pub message_id: String,
    /// When it was written.
    pub date: Time,
    /// Headers of this mail alone; the operator's come on top.
    pub headers: Vec<(String, String)>,
    /// The code in it, for an inbox that shows it.
    pub code: Option<String>,
    /// The link in it, likewise.
    pub link: Option<String>,
}

/// What `$messageType` in the operator's headers becomes.
pub fn purpose_of(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Reauthentication => "reauthenticate",
        _ => kind.as_str(),
    }
}

/// Why a mail was not taken. For the log only; names no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// The recipient's address is none.
    #[error("the recipient's address cannot be written in a mail")]
    Address,
    /// A header that cannot be written: the operator's sender or headers.
    #[error("{0}")]
    Header(String),
    /// The mail server said no for good.
    #[error("the mail server refused: {0}")]
    Refused(String),
    /// The mail server was not reached, or asked to come back later.
    #[error("the mail server could not be used: {0}")]
    Failed(String),
}

impl MailError {
    /// Whether another attempt would end the same.
    pub fn is_permanent(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// Takes mails: an SMTP server, an outbox, an inbox, nobody.
pub trait Mailer: Send + Sync + 'static {
    /// Hands the mail over. When this returns `Ok` it is somebody else's to deliver.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>>;
}

/// A mailer that can be shared.
pub type SharedMailer = Arc<dyn Mailer>;

/// No mail server is configured: every mail is dropped without a word, as the reference does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Mailer for Nobody {
    fn send<'a>(&'a self, _: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async { Ok(()) })
    }
}
