//! The inbox of `basalt serve`, stored in the outbox's table.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use gotrue_rs::ports::mail::inbox::{self, InboxMail, InboxQuery};

use super::inbox::{Inbox, InboxMessage};

impl Inbox for inbox::Inbox {
    fn list_mails<'a>(
        &'a self,
        to: Option<&'a str>,
        patience: Duration,
    ) -> BoxFuture<'a, anyhow::Result<Vec<InboxMessage>>> {
        async move {
            let query = InboxQuery { to: to.map(str::to_owned), after: None };
            Ok(self.wait(&query, patience).await?.into_iter().map(InboxMessage::from).collect())
        }
        .boxed()
    }

    fn find_mail<'a>(&'a self, id: &'a str) -> BoxFuture<'a, anyhow::Result<Option<InboxMessage>>> {
        async move {
            let Ok(id) = id.parse() else { return Ok(None) };
            Ok(self.get(id).await?.map(InboxMessage::from))
        }
        .boxed()
    }
}

impl From<InboxMail> for InboxMessage {
    fn from(mail: InboxMail) -> Self {
        Self {
            id: mail.id.to_string(),
            to: mail.to,
            subject: mail.subject,
            kind: mail.kind,
            link: mail.link,
            code: mail.code,
            text: mail.text.unwrap_or_default(),
            html: mail.html,
        }
    }
}
