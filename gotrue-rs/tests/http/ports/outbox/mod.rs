//! The outbox and its worker, on a real table.

mod desk;
mod inbox;
mod leases;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox, Rhythm};
use gotrue_rs::ports::mail::{MailError, Mailer, Message};
use gotrue_rs::store::Connection;
use gotrue_rs::store::outbox::{self, OutboxState, Table};
use gotrue_rs::store::{Pool, PoolOptions};
use gotrue_rs::testing::{FakeClock, TestDatabase};

use self::desk::{Desk, Server, message, noon};

fn unreachable() -> MailError {
    MailError::Failed("connection refused".to_owned())
}

#[tokio::test]
async fn a_mail_arrives_whole_and_what_was_secret_is_forgotten() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    assert_eq!(desk.state().await, OutboxState { waiting: 1, ..OutboxState::default() });
    assert_eq!(desk.round().await, 1);
    let sent = Message { code: None, link: None, ..message("ada", noon()) };
    assert_eq!(desk.server.taken(), [sent]);
    assert_eq!(desk.state().await, OutboxState { sent: 1, ..OutboxState::default() });
    let kept = desk
        .database
        .query("SELECT html || coalesce(text, '') || coalesce(code, '') || coalesce(link, '') FROM basalt.outbox")
        .await;
    assert_eq!(kept, [""]);
    assert_eq!(desk.round().await, 0);
}

#[tokio::test]
async fn a_mail_of_a_transaction_that_is_not_committed_never_goes_out() {
    let desk = Desk::new(Destination::Server).await;
    let pool = desk.database.auth_pool();
    let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
    desk.outbox.put(&mut open, &message("ada", noon())).await.expect("a mail is written down");
    assert_eq!(desk.round().await, 0);
    open.rollback().await.expect("undone");
    let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
    desk.outbox.put(&mut open, &message("bob", noon())).await.expect("a mail is written down");
    open.commit().await.expect("committed");
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.server.taken()[0].to, "bob@Example.com");
}

#[tokio::test]
async fn a_mail_waits_out_a_server_that_is_down() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.server.refuse(Some(unreachable()));
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.state().await, OutboxState { retrying: 1, ..OutboxState::default() });
    assert_eq!(desk.round().await, 0, "not before its time");
    for _ in 0..10 {
        desk.clock.advance(TimeDelta::hours(2));
        assert_eq!(desk.round().await, 1);
    }
    let troubles = desk.outbox.troubles().await.expect("the table answers");
    assert_eq!(troubles[0].attempts, 11);
    assert_eq!(troubles[0].last_error.as_deref(), Some("the mail server could not be used: connection refused"));
    desk.server.refuse(None);
    desk.clock.advance(TimeDelta::hours(2));
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.server.taken().len(), 1);
    assert_eq!(desk.state().await, OutboxState { sent: 1, ..OutboxState::default() });
}

#[tokio::test]
async fn a_mail_is_given_up_after_three_days_and_kept() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.server.refuse(Some(unreachable()));
    for _ in 0..40 {
        desk.round().await;
        desk.clock.advance(TimeDelta::hours(2));
    }
    assert_eq!(desk.state().await, OutboxState { failed: 1, ..OutboxState::default() });
    desk.server.refuse(None);
    assert_eq!(desk.round().await, 0);
    let kept =
        desk.database.query("SELECT html || ' ' || last_error FROM basalt.outbox WHERE failed_at IS NOT NULL").await;
    assert_eq!(kept, ["<p>hello</p> the mail server could not be used: connection refused"]);
}

#[tokio::test]
async fn what_the_server_refuses_for_good_is_tried_thrice_and_a_bad_address_once() {
    let refused = MailError::Refused("550 no such user".to_owned());
    for (refusal, attempts) in [(refused, "3"), (MailError::Address, "1")] {
        let desk = Desk::new(Destination::Server).await;
        desk.write("ada").await;
        desk.server.refuse(Some(refusal));
        for _ in 0..6 {
            desk.round().await;
            desk.clock.advance(TimeDelta::hours(2));
        }
        assert_eq!(
            desk.database.query("SELECT attempts FROM basalt.outbox WHERE failed_at IS NOT NULL").await,
            [attempts]
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_panics_costs_one_attempt() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    let (tried, ()) = tokio::join!(desk.round(), async {
        desk.server.tried.notified().await;
        desk.clock.advance(TimeDelta::seconds(61));
    });
    assert_eq!(tried, 1);
    desk.server.panics.store(true, Ordering::Relaxed);
    desk.clock.advance(TimeDelta::minutes(1));
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.state().await, OutboxState { retrying: 1, ..OutboxState::default() });
}

#[tokio::test]
async fn while_mails_travel_no_connection_is_held() {
    let database = TestDatabase::migrated().await;
    let pool = Pool::new(PoolOptions::new(database.admin_options()).max_connections(1));
    let clock = Arc::new(FakeClock::at(noon()));
    let outbox = Outbox::new(Table::new(pool), clock.clone(), Entropy::from_seed(7), Destination::Server);
    let server = Arc::new(Server::default());
    server.hangs.store(true, Ordering::Relaxed);
    for name in ["ada", "bob"] {
        outbox.send(&message(name, noon())).await.expect("a mail is written down");
    }
    let worker = outbox.worker(server.clone());
    let (tried, ()) = tokio::join!(worker.round(), async {
        server.tried.notified().await;
        assert_eq!(outbox.state().await.expect("the one connection is free").waiting, 2);
        clock.advance(TimeDelta::minutes(2));
    });
    assert_eq!(tried.expect("the table answers"), 2);
}

#[tokio::test]
async fn a_worker_wakes_when_told_and_by_itself_and_stops_when_asked() {
    let desk = Desk::new(Destination::Server).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = desk.outbox.worker(desk.server.clone()).run(async { stopped.await.unwrap_or_default() });
    let pool = desk.database.auth_pool();
    let steps = async {
        desk.write("told").await;
        desk.server.tried.notified().await;
        let mut open = Connection::begin(&pool, Arc::default()).await.expect("a transaction");
        desk.outbox.put(&mut open, &message("committed", noon())).await.expect("a mail is written down");
        open.commit().await.expect("committed");
        desk.server.tried.notified().await;
        // As if another process had written it and died before it could tell.
        let mut alone = Connection::pooled(pool.clone(), Arc::default());
        let row = desk.outbox.row(&message("untold", noon()));
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
    let taken: Vec<_> = desk.server.taken().into_iter().map(|message| message.message_id).collect();
    assert_eq!(taken, ["told@shop.example", "committed@shop.example", "untold@shop.example"]);
}

#[tokio::test]
async fn old_mails_are_forgotten_and_those_given_up_are_not() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.round().await;
    desk.write("bob").await;
    desk.server.refuse(Some(MailError::Address));
    desk.round().await;
    desk.clock.advance(TimeDelta::days(31));
    desk.outbox.worker(desk.server.clone()).run(std::future::ready(())).await;
    assert_eq!(desk.state().await, OutboxState { failed: 1, ..OutboxState::default() });
}

#[test]
fn pauses_double_up_to_the_longest_and_are_spread_by_a_fifth() {
    let rhythm = Rhythm::default();
    let seconds = |attempts, chance| (rhythm.pause(attempts, chance).as_millis() + 500) / 1000;
    let middle: Vec<_> = (1..=12).map(|attempts| seconds(attempts, u32::MAX / 2)).collect();
    assert_eq!(middle, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    assert_eq!((seconds(20, 0), seconds(20, u32::MAX)), (2880, 4320));
    assert_eq!(seconds(u32::MAX, 0), 2880);
    assert_eq!(seconds(0, 0), 4);
}
