//! The inbox of kept messages: its page, its list, and the APIs that read the same messages.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use http::{Method, StatusCode};
use http_edge::ShutdownSignal;
use http_edge::request::{BODY_DEADLINE, read_body};
use messages::api::MessagesApi;
use messages::mailbox_apis::MailboxApis;
use messages::{Message, MessageSender, MessageStore};
use platform::mail::inbox::{Inbox, InboxMail, InboxQuery};
use platform::mail::outbox::Outbox;
use platform::request_info::parse_pairs;
use serde_json::{Value, json};
use uuid::Uuid;

use super::page;
use super::responses::{DEFAULT_POLICY, response, text};

/// The longest time that a client may wait for a mail.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Content Security Policy of a displayed mail: nothing external, and only the page frames it.
const MAIL_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";
/// Content Security Policy of the page, whose script reads the messages and frames one of them.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
                           img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The maximum number of bytes of a request body of the page.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// The maximum number of characters of a snippet.
const SNIPPET_LENGTH: usize = 160;
/// The response for a path below `/_dev` that is no page.
const NO_SUCH_PAGE: &str = "There is no such page. /_dev lists the pages of this server. Others are there after a start with [basalt.shop] \
                            (/_dev/payment), [auth.oauth_server] enabled (/_dev/consent) or [basalt.provider] stands_in_for \
                            (/_dev/provider).\n";
/// The path of the message API.
const MESSAGES: &str = "/_dev/messages";

/// The page and the APIs of the kept messages of one backend; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct InboxPages {
    inbox: Inbox,
    store: MessageStore,
    api: MessagesApi,
    mailboxes: MailboxApis,
    closing: ShutdownSignal,
}

impl InboxPages {
    /// Creates the pages of an outbox. `sender` is that of the auth API's mails.
    ///
    /// Requests stop waiting for messages once `closing` is true.
    pub(crate) fn new(outbox: &Arc<Outbox>, sender: MessageSender, closing: ShutdownSignal) -> Self {
        let store = MessageStore::new(outbox.inbox(), sender, closing.clone());
        let (api, mailboxes) = (MessagesApi::new(store.clone()), MailboxApis::new(store.clone()));
        Self { inbox: outbox.inbox(), store, api, mailboxes, closing }
    }

    /// Returns the messages.
    pub(crate) fn store(&self) -> &MessageStore {
        &self.store
    }

    /// Returns the APIs of Mailpit and Inbucket.
    pub(crate) fn mailboxes(&self) -> &MailboxApis {
        &self.mailboxes
    }

    /// Answers a request that passed access control; `header` has the links to the other pages.
    pub(super) async fn answer(&self, request: Request, header: &str) -> Response {
        let path = request.uri().path().to_owned();
        if let Some(below) = path.strip_prefix(MESSAGES).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            let query = without_token(request.uri().query().unwrap_or_default());
            return self.api.answer(request.method(), below, &query).await;
        }
        if let Some(below) = path.strip_prefix("/_dev/inbox").filter(|rest| is_mailbox_path(rest)) {
            return self.mailboxes.handle_below(below, request).await;
        }
        let answered = match (request.method(), path.as_str()) {
            (&Method::POST, "/_dev/inbox/read") => self.mark_read(request).await,
            (&Method::GET | &Method::HEAD, path) => {
                let query = PageQuery::parse(request.uri().query().unwrap_or_default());
                self.answer_read(path, &query, header).await
            }
            _ => Ok(text(StatusCode::METHOD_NOT_ALLOWED, "these pages are only read\n")),
        };
        answered.unwrap_or_else(|error| {
            tracing::error!(error = %ErrorChain(error.as_ref()), "reading the messages failed");
            text(StatusCode::INTERNAL_SERVER_ERROR, "the messages cannot be read; see the log of the server\n")
        })
    }

    async fn answer_read(&self, path: &str, query: &PageQuery, header: &str) -> anyhow::Result<Response> {
        Ok(match path {
            "/_dev/inbox" | "/_dev" | "/_dev/" => {
                let body = page::format_inbox(query.token.as_deref(), header);
                response(StatusCode::OK, "text/html; charset=utf-8", PAGE_POLICY, body.into_bytes())
            }
            "/_dev/inbox.json" => self.list_mails(query).await?,
            "/_dev/inbox/list" => self.list().await?,
            "/_dev/inbox/page.js" => file("text/javascript; charset=utf-8", page::INBOX_SCRIPT),
            "/_dev/inbox/page.css" => file("text/css; charset=utf-8", page::INBOX_STYLE),
            path => match path.strip_prefix("/_dev/inbox/") {
                Some(id) => self.show_mail(id).await?,
                None => text(StatusCode::NOT_FOUND, NO_SUCH_PAGE),
            },
        })
    }

    /// Returns the newest mails first; with `wait`, waits until there is one.
    async fn list_mails(&self, query: &PageQuery) -> anyhow::Result<Response> {
        let selection = InboxQuery { to: query.to.clone(), after: None };
        let mut closing = self.closing.clone();
        let mails = tokio::select! {
            mails = self.inbox.wait(&selection, query.wait) => mails?,
            _ = closing.wait_for(|closing| *closing) => Vec::new(),
        };
        let mails: Vec<Value> = mails.into_iter().map(mail_json).collect();
        Ok(json_response(&json!({"messages": mails})))
    }

    /// Returns all messages for the page, newest first.
    async fn list(&self) -> anyhow::Result<Response> {
        let messages: Vec<Value> = self.store.list_latest(None).await?.iter().map(item_json).collect();
        Ok(json_response(&json!({"messages": messages})))
    }

    async fn show_mail(&self, id: &str) -> anyhow::Result<Response> {
        let id: Option<Uuid> = id.parse().ok();
        let found = match id {
            Some(id) => self.store.get(id).await?,
            None => None,
        };
        Ok(match found {
            Some(message) if !message.html.is_empty() => {
                response(StatusCode::OK, "text/html; charset=utf-8", MAIL_POLICY, message.html.into_bytes())
            }
            Some(message) => text(StatusCode::OK, &message.text),
            None => text(StatusCode::NOT_FOUND, "there is no such mail; the inbox is at /_dev/inbox\n"),
        })
    }

    /// Marks the messages of the body as read or unread: `{"ids": ["…"], "read": true}`.
    async fn mark_read(&self, request: Request) -> anyhow::Result<Response> {
        let refused = || text(StatusCode::BAD_REQUEST, "the body is {\"ids\": [\"…\"], \"read\": true}\n");
        let body = match read_body(request.into_body(), MAX_BODY_BYTES, BODY_DEADLINE).await {
            Ok(body) => body,
            Err(error) => return Ok(text(error.status(), "the body was not received in time or is too large\n")),
        };
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (Some(ids), Some(is_read)) = (body["ids"].as_array(), body["read"].as_bool()) else { return Ok(refused()) };
        let ids: Option<Vec<Uuid>> = ids.iter().map(|id| id.as_str()?.parse().ok()).collect();
        let Some(ids) = ids else { return Ok(refused()) };
        let count = self.store.mark_read(Some(&ids), is_read).await?;
        Ok(json_response(&json!({"changed": count})))
    }
}

/// Returns whether a path below the inbox belongs to the API of Mailpit or Inbucket.
fn is_mailbox_path(rest: &str) -> bool {
    rest.starts_with("/api/") || rest.starts_with("/view/")
}

/// Returns a query without the inbox token, which is no parameter of the API.
fn without_token(query: &str) -> String {
    query.split('&').filter(|pair| !pair.starts_with("token=")).collect::<Vec<_>>().join("&")
}

fn file(content_type: &'static str, content: &str) -> Response {
    response(StatusCode::OK, content_type, DEFAULT_POLICY, content.as_bytes().to_vec())
}

fn json_response(body: &Value) -> Response {
    response(StatusCode::OK, "application/json", DEFAULT_POLICY, body.to_string().into_bytes())
}

/// A mail of `/_dev/inbox.json`.
fn mail_json(mail: InboxMail) -> Value {
    json!({
        "id": mail.id,
        "to": mail.to,
        "subject": mail.subject,
        "kind": mail.kind,
        "link": mail.link,
        "code": mail.code,
        "text": mail.text.unwrap_or_default(),
        "html": mail.html,
    })
}

/// A message of the page's list.
fn item_json(message: &Message) -> Value {
    json!({
        "id": message.id,
        "channel": message.channel.as_str(),
        "at": message.at,
        "from": message.from,
        "to": message.to,
        "subject": message.subject,
        "kind": message.kind,
        "snippet": message.snippet(SNIPPET_LENGTH),
        "code": message.code,
        "link": message.link,
        "is_read": message.is_read,
        "has_html": !message.html.is_empty(),
        "attachments": message.attachment_count,
    })
}

/// Query parameters of the page and of `/_dev/inbox.json`.
#[derive(Default)]
struct PageQuery {
    to: Option<String>,
    wait: Duration,
    token: Option<String>,
}

impl PageQuery {
    fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in parse_pairs(text) {
            match name.as_str() {
                "to" if !value.is_empty() => query.to = Some(value),
                "wait" => query.wait = Duration::from_secs(value.parse().unwrap_or(0)).min(MAX_WAIT),
                "token" => query.token = Some(value),
                _ => {}
            }
        }
        query
    }
}
