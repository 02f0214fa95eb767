//! The outbox and its worker, on a real table.

mod fixture;
mod inbox;
mod leases;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use gotrue_rs::testing::clone_migrated;
use platform::entropy::Entropy;
use platform::mail::outbox::{DeliverySchedule, MailDestination, Outbox};
use platform::mail::{EmailMessage, MailError, Mailer};
use platform::store::Connection;
use platform::store::outbox::{self, OutboxCounts, OutboxTable};
use platform::store::{Pool, PoolOptions};
use platform::testing::FakeClock;

use self::fixture::{FakeMailServer, OutboxFixture, message, noon};

fn unreachable() -> MailError {
    MailError::Failed("connection refused".to_owned())
}

#[tokio::test]
async fn delivered_mail_is_complete_and_its_content_is_deleted() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    assert_eq!(desk.state().await, OutboxCounts { waiting: 1, oldest: Some(noon()), ..OutboxCounts::default() });
    assert_eq!(desk.run_worker_once().await, 1);
    let sent = EmailMessage { code: None, link: None, ..message("ada", noon()) };
    assert_eq!(desk.server.sent_messages(), [sent]);
    assert_eq!(desk.state().await, OutboxCounts { sent: 1, ..OutboxCounts::default() });
    let kept = desk
        .database
        .query("SELECT html || coalesce(text, '') || coalesce(code, '') || coalesce(link, '') FROM basalt.outbox")
        .await;
    assert_eq!(kept, [""]);
    assert_eq!(desk.run_worker_once().await, 0);
}

#[tokio::test]
async fn mail_of_rolled_back_transaction_is_not_sent() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    let pool = desk.database.auth_pool();
    let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
    desk.outbox.enqueue(&mut open, &message("ada", noon())).await.expect("a mail is written down");
    assert_eq!(desk.run_worker_once().await, 0);
    open.rollback().await.expect("undone");
    let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
    desk.outbox.enqueue(&mut open, &message("bob", noon())).await.expect("a mail is written down");
    open.commit().await.expect("committed");
    assert_eq!(desk.run_worker_once().await, 1);
    assert_eq!(desk.server.sent_messages()[0].to, "bob@Example.com");
}

#[tokio::test]
async fn mail_is_retried_while_the_server_is_down() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.refuse(Some(unreachable()));
    assert_eq!(desk.run_worker_once().await, 1);
    assert_eq!(desk.state().await, OutboxCounts { retrying: 1, oldest: Some(noon()), ..OutboxCounts::default() });
    assert_eq!(desk.run_worker_once().await, 0, "not before its time");
    for _ in 0..10 {
        desk.clock.advance(TimeDelta::hours(2));
        assert_eq!(desk.run_worker_once().await, 1);
    }
    let troubles = desk.outbox.list_failing().await.expect("the table answers");
    assert_eq!(troubles[0].attempts, 11);
    assert_eq!(troubles[0].last_error.as_deref(), Some("the mail server could not be used: connection refused"));
    desk.server.refuse(None);
    desk.clock.advance(TimeDelta::hours(2));
    assert_eq!(desk.run_worker_once().await, 1);
    assert_eq!(desk.server.sent_messages().len(), 1);
    assert_eq!(desk.state().await, OutboxCounts { sent: 1, ..OutboxCounts::default() });
}

#[tokio::test]
async fn mail_is_abandoned_after_three_days_and_kept() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.refuse(Some(unreachable()));
    for _ in 0..40 {
        desk.run_worker_once().await;
        desk.clock.advance(TimeDelta::hours(2));
    }
    assert_eq!(desk.state().await, OutboxCounts { failed: 1, ..OutboxCounts::default() });
    desk.server.refuse(None);
    assert_eq!(desk.run_worker_once().await, 0);
    let kept =
        desk.database.query("SELECT html || ' ' || last_error FROM basalt.outbox WHERE failed_at IS NOT NULL").await;
    assert_eq!(kept, ["<p>hello</p> the mail server could not be used: connection refused"]);
}

#[tokio::test]
async fn permanent_errors_are_tried_three_times_and_invalid_recipients_once() {
    let refused = MailError::Refused("550 no such user".to_owned());
    for (refusal, attempts) in [(refused, "3"), (MailError::Address, "1")] {
        let desk = OutboxFixture::new(MailDestination::Server).await;
        desk.write("ada").await;
        desk.server.refuse(Some(refusal));
        for _ in 0..6 {
            desk.run_worker_once().await;
            desk.clock.advance(TimeDelta::hours(2));
        }
        assert_eq!(
            desk.database.query("SELECT attempts FROM basalt.outbox WHERE failed_at IS NOT NULL").await,
            [attempts]
        );
    }
}

#[tokio::test]
async fn hanging_or_panicking_mailer_costs_one_attempt() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    let (tried, ()) = tokio::join!(desk.run_worker_once(), async {
        desk.server.tried.notified().await;
        desk.clock.advance(TimeDelta::seconds(61));
    });
    assert_eq!(tried, 1);
    desk.server.panics.store(true, Ordering::Relaxed);
    desk.clock.advance(TimeDelta::minutes(1));
    assert_eq!(desk.run_worker_once().await, 1);
    assert_eq!(desk.state().await, OutboxCounts { retrying: 1, oldest: Some(noon()), ..OutboxCounts::default() });
}

#[tokio::test]
async fn sending_mails_holds_no_connection() {
    let database = clone_migrated().await;
    let pool = Pool::new(PoolOptions::new(database.admin_options()).with_max_connections(1));
    let clock = Arc::new(FakeClock::at(noon()));
    let outbox = Outbox::new(OutboxTable::new(pool), clock.clone(), Entropy::from_seed(7), MailDestination::Server);
    let server = Arc::new(FakeMailServer::default());
    server.hangs.store(true, Ordering::Relaxed);
    for name in ["ada", "bob"] {
        outbox.send(&message(name, noon())).await.expect("a mail is written down");
    }
    let worker = outbox.build_worker(server.clone());
    let (tried, ()) = tokio::join!(worker.deliver_due(), async {
        server.tried.notified().await;
        assert_eq!(outbox.count_by_state().await.expect("the one connection is free").waiting, 2);
        clock.advance(TimeDelta::minutes(2));
    });
    assert_eq!(tried.expect("the table answers"), 2);
}

#[tokio::test]
async fn worker_wakes_on_notification_or_timer_and_stops_on_shutdown() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = desk.outbox.build_worker(desk.server.clone()).run(async { stopped.await.unwrap_or_default() });
    let pool = desk.database.auth_pool();
    let steps = async {
        desk.write("told").await;
        desk.server.tried.notified().await;
        let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
        desk.outbox.enqueue(&mut open, &message("committed", noon())).await.expect("a mail is written down");
        open.commit().await.expect("committed");
        desk.server.tried.notified().await;
        // As if another process had stored it and crashed before the notification.
        let mut alone = Connection::pooled(pool.clone(), Arc::default());
        let row = desk.outbox.to_row(&message("untold", noon()));
        outbox::insert(&mut alone, &[row]).await.expect("a mail is written down");
        let ticking = async {
            loop {
                desk.clock.advance(TimeDelta::seconds(1));
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = desk.server.tried.notified() => (),
            () = ticking => (),
        }
        while desk.state().await.sent < 3 {
            tokio::task::yield_now().await;
        }
        stop.send(()).expect("the worker runs");
    };
    tokio::join!(worker, steps);
    let taken: Vec<_> = desk.server.sent_messages().into_iter().map(|message| message.message_id).collect();
    assert_eq!(taken, ["told@shop.example", "committed@shop.example", "untold@shop.example"]);
}

#[tokio::test]
async fn old_mails_are_deleted_and_abandoned_ones_kept() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.run_worker_once().await;
    desk.write("bob").await;
    desk.server.refuse(Some(MailError::Address));
    desk.run_worker_once().await;
    desk.clock.advance(TimeDelta::days(31));
    desk.outbox.build_worker(desk.server.clone()).run(std::future::ready(())).await;
    assert_eq!(desk.state().await, OutboxCounts { failed: 1, ..OutboxCounts::default() });
}

#[test]
fn backoff_doubles_up_to_a_maximum_with_jitter() {
    let rhythm = DeliverySchedule::default();
    let seconds = |attempts, chance| (rhythm.pause(attempts, chance).as_millis() + 500) / 1000;
    let middle: Vec<_> = (1..=12).map(|attempts| seconds(attempts, u32::MAX / 2)).collect();
    assert_eq!(middle, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    assert_eq!((seconds(20, 0), seconds(20, u32::MAX)), (2880, 4320));
    assert_eq!(seconds(u32::MAX, 0), 2880);
    assert_eq!(seconds(0, 0), 4);
}
