//! An outbox with its own table, and a fake mail server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use gotrue_rs::testing::clone_migrated;
use platform::clock::Clock;
use platform::entropy::Entropy;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::mail::{EmailMessage, MailError, Mailer};
use platform::store::outbox::{OutboxCounts, OutboxTable};
use platform::testing::FakeClock;
use platform::testing::TestDatabase;
use tokio::sync::Notify;

/// A fake mail server that keeps, refuses or hangs.
#[derive(Default)]
pub(super) struct FakeMailServer {
    taken: Mutex<Vec<EmailMessage>>,
    refusal: Mutex<Option<MailError>>,
    pub hangs: AtomicBool,
    pub panics: AtomicBool,
    pub tried: Notify,
}

impl FakeMailServer {
    pub(super) fn refuse(&self, with: Option<MailError>) {
        *self.refusal.lock().expect("no test panics here") = with;
    }

    pub(super) fn sent_messages(&self) -> Vec<EmailMessage> {
        self.taken.lock().expect("no test panics here").clone()
    }
}

impl Mailer for FakeMailServer {
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            self.tried.notify_one();
            assert!(!self.panics.load(Ordering::Relaxed), "planned");
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

pub(super) struct OutboxFixture {
    pub database: TestDatabase,
    pub clock: FakeClock,
    pub outbox: Outbox,
    pub server: Arc<FakeMailServer>,
}

impl OutboxFixture {
    pub(super) async fn new(destination: MailDestination) -> Self {
        let database = clone_migrated().await;
        let clock = FakeClock::at(noon());
        let table = OutboxTable::new(database.auth_pool());
        let outbox = Outbox::new(table, Arc::new(clock.clone()), Entropy::from_seed(7), destination);
        Self { database, clock, outbox, server: Arc::default() }
    }

    pub(super) async fn write(&self, name: &str) {
        self.outbox.send(&message(name, self.clock.now())).await.expect("a mail is written down");
    }

    /// Runs a new worker once; returns the number of attempted mails.
    pub(super) async fn run_worker_once(&self) -> usize {
        self.outbox.build_worker(self.server.clone()).deliver_due().await.expect("the table answers")
    }

    pub(super) async fn state(&self) -> OutboxCounts {
        self.outbox.count_by_state().await.expect("the table answers")
    }
}

pub(super) fn noon() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().expect("a time")
}

pub(super) fn message(name: &str, date: DateTime<Utc>) -> EmailMessage {
    EmailMessage {
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
