//! The inbox of `basalt serve`: mails that ended in the outbox's table.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use gotrue_rs::ports::mail::inbox::{self, Query, Received};

use super::{Inbox, Mail};

impl Inbox for inbox::Inbox {
    fn mails<'a>(&'a self, to: Option<&'a str>, patience: Duration) -> BoxFuture<'a, anyhow::Result<Vec<Mail>>> {
        async move {
            let query = Query { to: to.map(str::to_owned), after: None };
            Ok(self.wait(&query, patience).await?.into_iter().map(Mail::from).collect())
        }
        .boxed()
    }

    fn mail<'a>(&'a self, id: &'a str) -> BoxFuture<'a, anyhow::Result<Option<Mail>>> {
        async move {
            let Ok(id) = id.parse() else { return Ok(None) };
            Ok(self.get(id).await?.map(Mail::from))
        }
        .boxed()
    }
}

impl From<Received> for Mail {
    fn from(mail: Received) -> Self {
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
