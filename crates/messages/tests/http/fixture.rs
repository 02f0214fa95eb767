//! A backend's messages in a database of their own.

use std::sync::Arc;

use axum::response::Response;
use chrono::{DateTime, Utc};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use messages::api::MessagesApi;
use messages::{MessageSender, MessageStore};
use platform::entropy::Entropy;
use platform::mail::inbox::NewMessage;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::mail::{EmailMessage, Mailer};
use platform::store::outbox::OutboxTable;
use platform::testing::FakeClock;
use platform::testing::TestDatabase;
use serde_json::Value;
use tokio::sync::watch;

pub(crate) const HASH: &str = "pkce_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(crate) struct Backend {
    pub outbox: Outbox,
    pub store: MessageStore,
    pub api: MessagesApi,
    pub closing: watch::Sender<bool>,
    pub database: TestDatabase,
}

impl Backend {
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::clone_basalt().await;
        let table = OutboxTable::new(database.auth_pool());
        let clock = Arc::new(FakeClock::at(noon()));
        let outbox = Outbox::new(table, clock, Entropy::from_seed(7), MailDestination::Inbox).keeping_sms(true);
        let sender = MessageSender { name: "Admin".to_owned(), address: "admin@email.com".to_owned() };
        let (closing, closed) = watch::channel(false);
        let store = MessageStore::new(outbox.inbox(), sender, closed);
        Self { outbox, api: MessagesApi::new(store.clone()), store, closing, database }
    }

    /// Keeps a confirmation mail to `name@example.com`.
    pub(crate) async fn mail(&self, name: &str) {
        self.mail_with(confirmation(name)).await;
    }

    pub(crate) async fn mail_with(&self, message: EmailMessage) {
        self.outbox.send(&message).await.expect("a mail is written");
    }

    /// Keeps a message of another origin.
    pub(crate) async fn keep(&self, change: impl FnOnce(&mut NewMessage)) {
        let inbox = self.outbox.inbox();
        let (id, created_at) = inbox.stamp();
        let mut message = NewMessage {
            id,
            purpose: "sms_otp",
            channel: "sms",
            sender: None,
            recipient: "491234567".to_owned(),
            subject: String::new(),
            html: String::new(),
            text: Some("Your code is 654321".to_owned()),
            headers: Vec::new(),
            code: Some("654321".to_owned()),
            message_id: format!("{id}@sms"),
            raw: None,
            attachment_count: 0,
            created_at,
        };
        change(&mut message);
        inbox.keep(&message).await.expect("a message is written");
    }

    pub(crate) async fn call(&self, method: Method, path: &str) -> (StatusCode, Value) {
        let response = self.respond(method, path).await;
        let status = response.status();
        (status, serde_json::from_str(&text(response).await).unwrap_or_default())
    }

    pub(crate) async fn respond(&self, method: Method, path: &str) -> Response {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        self.api.answer(&method, path, query).await
    }

    /// Returns the listed messages.
    pub(crate) async fn list(&self, query: &str) -> Vec<Value> {
        let (status, body) = self.call(Method::GET, query).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body["messages"].as_array().expect("a list").clone()
    }

    /// Returns one member of each listed message.
    pub(crate) async fn list_member(&self, query: &str, member: &str) -> Vec<String> {
        let messages = self.list(query).await;
        messages.iter().map(|message| message[member].as_str().unwrap_or_default().to_owned()).collect()
    }
}

pub(crate) async fn text(response: Response) -> String {
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

pub(crate) fn noon() -> DateTime<Utc> {
    "2026-11-22T12:00:00Z".parse().expect("a time")
}

pub(crate) fn confirmation(name: &str) -> EmailMessage {
    let link = format!("http://127.0.0.1:54321/auth/v1/verify?token={HASH}&type=signup&redirect_to=http://a.example");
    EmailMessage {
        purpose: "confirmation".into(),
        to: format!("{name}@example.com"),
        subject: format!("Welcome, {name}"),
        html: format!("<p>Hello</p><a href=\"{}\">Confirm</a><p>Code: 123456</p>", link.replace('&', "&amp;")),
        text: Some(format!("Hello\n\nConfirm: {link}\n\nCode: 123456")),
        message_id: format!("{name}-{}@shop.example", name.len()),
        date: noon(),
        headers: Vec::new(),
        code: Some("123456".to_owned()),
        link: Some(link),
    }
}
