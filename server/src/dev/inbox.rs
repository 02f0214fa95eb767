//! The interface between the inbox page and the mail storage.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;

/// A mail for display and for tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct InboxMessage {
    /// Unique id.
    pub id: String,
    /// The recipient's address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The reason for the mail: `confirmation`, `recovery`, `submission_notice` …
    pub kind: String,
    /// The link to follow, if there is one.
    pub link: Option<String>,
    /// The code to enter, if there is one.
    pub code: Option<String>,
    /// The plain text.
    pub text: String,
    /// The HTML.
    pub html: String,
}

/// Storage of mail that was not passed to a mail server.
pub(crate) trait Inbox: Send + Sync + 'static {
    /// Returns the latest mails, newest first; `to` selects those to one address.
    /// Returns as soon as there is one, at the latest after `patience`.
    fn list_mails<'a>(
        &'a self,
        to: Option<&'a str>,
        patience: Duration,
    ) -> BoxFuture<'a, anyhow::Result<Vec<InboxMessage>>>;

    /// Returns one mail.
    fn find_mail<'a>(&'a self, id: &'a str) -> BoxFuture<'a, anyhow::Result<Option<InboxMessage>>>;
}
