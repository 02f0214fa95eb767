//! Which messages a server keeps, and the ports besides its own on which they are read and received.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use http::StatusCode;
use http_edge::{HttpLimits, ShutdownSignal};
use messages::mailbox_apis::MailboxApis;
use platform::mail::outbox::{MailDestination, Outbox};
use test_bench::router::TestRouter;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::access::{Access, AccessRule};
use super::inbox::InboxPages;
use super::responses::text;
use crate::config_file::MailboxPorts;

/// Which messages a server keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptMessages {
    /// Where mails go.
    pub destination: MailDestination,
    /// Whether SMS are kept while no sender is configured.
    pub is_keeping_sms: bool,
    /// Whether the messages can be read.
    pub has_inbox: bool,
}

impl KeptMessages {
    /// Decides what is kept.
    ///
    /// Without a mail server mails are kept where they can be read: in development, or with the token of the inbox.
    /// A server for others keeps no codes otherwise.
    pub(crate) fn new(has_mail_server: bool, is_development: bool, has_token: bool) -> Self {
        let is_readable = is_development || has_token;
        Self {
            destination: match (has_mail_server, is_readable) {
                (true, _) => MailDestination::Server,
                (false, true) => MailDestination::Inbox,
                (false, false) => MailDestination::Discarded,
            },
            is_keeping_sms: is_development,
            has_inbox: is_development || (has_token && !has_mail_server),
        }
    }

    /// Applies the decision to an outbox.
    #[must_use]
    pub(crate) fn apply_to(self, outbox: Outbox) -> Outbox {
        outbox.keeping_sms(self.is_keeping_sms)
    }
}

#[derive(Debug, Default)]
pub(crate) struct OpenMailboxPorts {
    /// The base URL of the APIs of Mailpit and Inbucket.
    pub url: Option<String>,
    /// The port that receives mails by SMTP.
    pub smtp_port: Option<u16>,
    /// The tasks that serve them until shutdown.
    pub tasks: Vec<JoinHandle<()>>,
}

impl OpenMailboxPorts {
    /// Opens the ports on the loopback interface. One that cannot be opened is left out with a warning.
    pub(crate) async fn open(ports: MailboxPorts, inbox: &InboxPages, access: Access, closing: ShutdownSignal) -> Self {
        let mut open = Self::default();
        if let Some((listener, address)) = bind(ports.http, "port of [local_smtp] or [inbucket]").await {
            open.url = Some(format!("http://{address}"));
            let (mailboxes, closing) = (inbox.mailboxes().clone(), closing.clone());
            let answer = move |request| answer(mailboxes.clone(), access.clone(), request);
            open.tasks.push(http_edge::spawn_task(http_edge::serve(listener, closing, HttpLimits::default(), answer)));
        }
        if let Some((listener, address)) = bind(ports.smtp, "smtp_port of [local_smtp] or [inbucket]").await {
            open.smtp_port = Some(address.port());
            let store = inbox.store().clone();
            let current = Arc::new(move || Some(store.clone()));
            open.tasks.push(http_edge::spawn_task(messages::smtp::serve(listener, current, closing)));
        }
        open
    }

    /// Opens any free ports for the world that a test server itself is.
    pub(crate) async fn open_for_tests(router: TestRouter, closing: ShutdownSignal) -> Self {
        let ports = MailboxPorts { http: Some(0), smtp: Some(0) };
        let mut open = Self::default();
        if let Some((listener, address)) = bind(ports.http, "port of [local_smtp] or [inbucket]").await {
            open.url = Some(format!("http://{address}"));
            let (router, closing) = (router.clone(), closing.clone());
            let answer = move |request| {
                let router = router.clone();
                async move { router.answer_mailbox(request).await }
            };
            open.tasks.push(http_edge::spawn_task(http_edge::serve(listener, closing, HttpLimits::default(), answer)));
        }
        if let Some((listener, address)) = bind(ports.smtp, "smtp_port of [local_smtp] or [inbucket]").await {
            open.smtp_port = Some(address.port());
            let current = Arc::new(move || router.messages());
            open.tasks.push(http_edge::spawn_task(messages::smtp::serve(listener, current, closing)));
        }
        open
    }
}

async fn bind(port: Option<u16>, setting: &str) -> Option<(TcpListener, SocketAddr)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port?));
    let bound = TcpListener::bind(address).await.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound
        .inspect_err(|error| tracing::warn!(setting, %address, %error, "port not opened: is another server there?"))
        .ok()
}

/// Answers a request to the port of the APIs.
async fn answer(mailboxes: MailboxApis, access: Access, request: Request) -> axum::response::Response {
    let rule = AccessRule::LocalOrToken;
    if !access.is_allowed(&request, rule).await {
        return text(StatusCode::FORBIDDEN, access.denial_message(rule));
    }
    mailboxes.handle(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_where_they_can_be_read() {
        use MailDestination::{Discarded, Inbox, Server};
        for (has_mail_server, is_development, has_token, destination, is_keeping_sms, has_inbox) in [
            (false, true, false, Inbox, true, true),
            (false, false, true, Inbox, false, true),
            (false, false, false, Discarded, false, false),
            (true, false, false, Server, false, false),
            (true, false, true, Server, false, false),
            (true, true, false, Server, true, true),
        ] {
            let expected = KeptMessages { destination, is_keeping_sms, has_inbox };
            assert_eq!(KeptMessages::new(has_mail_server, is_development, has_token), expected);
        }
    }
}
