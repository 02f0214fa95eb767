//! An outbox on a table of its own, and a mail server that does as it is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use gotrue_rs::ports::clock::Clock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox};
use gotrue_rs::ports::mail::{MailError, Mailer, Message};
use gotrue_rs::store::outbox::{OutboxState, Table};
use gotrue_rs::testing::{FakeClock, TestDatabase};
use tokio::sync::Notify;

/// A mail server: keeps what it took, refuses or hangs when told to.
#[derive(Default)]
pub struct Server {
    taken: Mutex<Vec<Message>>,
    refusal: Mutex<Option<MailError>>,
    pub hangs: AtomicBool,
    pub panics: AtomicBool,
    pub tried: Notify,
}

impl Server {
    pub fn refuse(&self, with: Option<MailError>) {
        *self.refusal.lock().expect("no test panics here") = with;
    }

    pub fn taken(&self) -> Vec<Message> {
        self.taken.lock().expect("no test panics here").clone()
    }
}

impl Mailer for Server {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            self.tried.notify_one();
            assert!(!self.panics.load(Ordering::Relaxed), "told to");
            if self.hangs.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            if let Some(refusal) = self.refusal.lock().expect("no test panics here").clone() {
                return Err(refusal);
            }
            self.taken.lock().expect("no test panics here").push(message.clone());
            Ok(())
        })
    }
}

pub struct Desk {
    pub database: TestDatabase,
    pub clock: FakeClock,
    pub outbox: Outbox,
    pub server: Arc<Server>,
}

impl Desk {
    pub async fn new(destination: Destination) -> Self {
        let database = TestDatabase::migrated().await;
        let clock = FakeClock::at(noon());
        let table = Table::new(database.auth_pool());
        let outbox = Outbox::new(table, Arc::new(clock.clone()), Entropy::from_seed(7), destination);
        Self { database, clock, outbox, server: Arc::default() }
    }

    pub async fn write(&self, name: &str) {
        self.outbox.send(&message(name, self.clock.now())).await.expect("a mail is written down");
    }

    /// One round of a new worker; returns how many mails were tried.
    pub async fn round(&self) -> usize {
        self.outbox.worker(self.server.clone()).round().await.expect("the table answers")
    }

    pub async fn state(&self) -> OutboxState {
        self.outbox.state().await.expect("the table answers")
    }
}

pub fn noon() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().expect("a time")
}

pub fn message(name: &str, date: DateTime<Utc>) -> Message {
    Message {
        purpose: "confirmation".into(),
        to: format!("{name}@Example.com"),
        subject: format!("Hello {name}"),
        html: "<p>hello</p>".to_owned(),
        text: Some("hello".to_owned()),
        message_id: format!("{name}@shop.example"),
        date,
        headers: vec![("Reply-To".to_owned(), "owner@shop.example".to_owned())],
        code: Some("123456".to_owned()),
        link: Some("https://shop.example/verify?token=abc".to_owned()),
    }
}
