//! What the inbox page needs of whatever keeps the mail.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;

/// A mail as a test or a developer wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// Names it among the others.
    pub id: String,
    /// The address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// Why it was sent: `confirmation`, `recovery`, `submission_notice` …
    pub kind: String,
    /// The link to follow, where there is one.
    pub link: Option<String>,
    /// The code to type, where there is one.
    pub code: Option<String>,
    /// The plain text.
    pub text: String,
    /// The HTML.
    pub html: String,
}

/// Keeps mail that was not handed to a mail server.
pub trait Inbox: Send + Sync + 'static {
    /// The latest mails, newest first; `to` keeps those to one address. As soon as there is one, at the latest after
    /// `patience`.
    fn mails<'a>(&'a self, to: Option<&'a str>, patience: Duration) -> BoxFuture<'a, anyhow::Result<Vec<Mail>>>;

    /// One mail.
    fn mail<'a>(&'a self, id: &'a str) -> BoxFuture<'a, anyhow::Result<Option<Mail>>>;
}
