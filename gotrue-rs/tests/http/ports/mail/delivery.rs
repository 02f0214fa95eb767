//! From the outbox to a mail server over the wire.

use std::sync::Arc;

use chrono::TimeDelta;
use foundation::secret::Secret;
use gotrue_rs::testing::clone_migrated;
use platform::clock::Clock;
use platform::entropy::Entropy;
use platform::mail::compose::MailSender;
use platform::mail::outbox::{MailDestination, Outbox, Worker};
use platform::mail::smtp::{SmtpMailer, SmtpServer};
use platform::mail::{EmailMessage, Mailer};
use platform::store::outbox::{OutboxCounts, OutboxTable};
use platform::testing::FakeClock;
use tokio::net::TcpListener;

use super::compose::message;
use super::server::{MailServer, ServerBehavior};

fn worker(outbox: &Outbox, port: u16) -> Worker {
    let settings = SmtpServer {
        host: "127.0.0.1".to_owned(),
        port,
        user: String::new(),
        password: Secret::default(),
        hello: "api.example.com".to_owned(),
        trusted_roots: None,
    };
    let sender = MailSender::new("Shop", "auth@example.com", &[]).expect("a sender");
    outbox.build_worker(Arc::new(SmtpMailer::new(settings, sender).expect("a client")))
}

#[tokio::test]
async fn mail_is_delivered_after_the_server_recovers() {
    let database = clone_migrated().await;
    let clock = FakeClock::at("2026-11-21T12:00:00Z".parse().expect("a time"));
    let table = OutboxTable::new(database.auth_pool());
    let outbox = Outbox::new(table, Arc::new(clock.clone()), Entropy::from_seed(7), MailDestination::Server);
    let mail = EmailMessage { text: Some("Hello".to_owned()), date: clock.now(), ..message("ann@example.com") };
    outbox.send(&mail).await.expect("written down");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let deserted = listener.local_addr().expect("an address").port();
    drop(listener);
    let busy =
        MailServer::start(ServerBehavior { refuses: Some(("RCPT", "451 later")), ..ServerBehavior::default() }).await;
    for (attempt, port) in [deserted, busy.port, busy.port, busy.port, deserted].into_iter().enumerate() {
        assert_eq!(worker(&outbox, port).deliver_due().await.expect("the table answers"), 1, "attempt {attempt}");
        let state = outbox.count_by_state().await.expect("the table answers");
        assert_eq!(
            state,
            OutboxCounts { retrying: 1, oldest: state.oldest, ..OutboxCounts::default() },
            "attempt {attempt}"
        );
        clock.advance(TimeDelta::hours(2));
    }

    let back = MailServer::start(ServerBehavior::default()).await;
    assert_eq!(worker(&outbox, back.port).deliver_due().await.expect("the table answers"), 1);
    assert_eq!(back.count("RCPT TO:<ann@example.com>"), 1);
    assert_eq!(back.count(&format!("  Message-ID: <{}>", mail.message_id)), 1);
    assert_eq!(back.count("  Date: Sat, 21 Nov 2026 12:00:00"), 1, "when it was written");
    assert_eq!(
        outbox.count_by_state().await.expect("the table answers"),
        OutboxCounts { sent: 1, ..OutboxCounts::default() }
    );
}
