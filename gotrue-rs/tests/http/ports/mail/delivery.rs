//! From the outbox to a mail server over the wire.

use std::sync::Arc;

use chrono::TimeDelta;
use gotrue_rs::ports::clock::Clock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::compose::Sender;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox, Worker};
use gotrue_rs::ports::mail::smtp::{Server, Smtp};
use gotrue_rs::ports::mail::{Mailer, Message};
use gotrue_rs::store::outbox::{OutboxState, Table};
use gotrue_rs::testing::{FakeClock, TestDatabase};
use gotrue_rules::domain::secret::Secret;
use tokio::net::TcpListener;

use super::compose::message;
use super::server::{Habits, MailServer};

fn worker(outbox: &Outbox, port: u16) -> Worker {
    let settings = Server {
        host: "127.0.0.1".to_owned(),
        port,
        user: String::new(),
        password: Secret::default(),
        hello: "api.example.com".to_owned(),
        trusted_roots: None,
    };
    let sender = Sender::new("Shop", "auth@example.com", &[]).expect("a sender");
    outbox.worker(Arc::new(Smtp::new(settings, sender).expect("a client")))
}

#[tokio::test]
async fn a_mail_arrives_once_the_mail_server_is_back() {
    let database = TestDatabase::migrated().await;
    let clock = FakeClock::at("2026-11-21T12:00:00Z".parse().expect("a time"));
    let table = Table::new(database.auth_pool());
    let outbox = Outbox::new(table, Arc::new(clock.clone()), Entropy::from_seed(7), Destination::Server);
    let mail = Message { text: Some("Hello".to_owned()), date: clock.now(), ..message("ann@example.com") };
    outbox.send(&mail).await.expect("written down");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let deserted = listener.local_addr().expect("an address").port();
    drop(listener);
    let busy = MailServer::start(Habits { refuses: Some(("RCPT", "451 later")), ..Habits::default() }).await;
    for (attempt, port) in [deserted, busy.port, busy.port, busy.port, deserted].into_iter().enumerate() {
        assert_eq!(worker(&outbox, port).round().await.expect("the table answers"), 1, "attempt {attempt}");
        let state = outbox.state().await.expect("the table answers");
        assert_eq!(state, OutboxState { retrying: 1, ..OutboxState::default() }, "attempt {attempt}");
        clock.advance(TimeDelta::hours(2));
    }

    let back = MailServer::start(Habits::default()).await;
    assert_eq!(worker(&outbox, back.port).round().await.expect("the table answers"), 1);
    assert_eq!(back.count("RCPT TO:<ann@example.com>"), 1);
    assert_eq!(back.count(&format!("  Message-ID: <{}>", mail.message_id)), 1);
    assert_eq!(back.count("  Date: Sat, 21 Nov 2026 12:00:00"), 1, "when it was written");
    assert_eq!(outbox.state().await.expect("the table answers"), OutboxState { sent: 1, ..OutboxState::default() });
}
