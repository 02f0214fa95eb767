//! The outbox and its worker, on a real table, with a mail server that does as it is told.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::{BoxFuture, join_all};
use gotrue_rs::ports::clock::Clock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::inbox::Query;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox, Rhythm};
use gotrue_rs::ports::mail::{MailError, Mailer, Message};
use gotrue_rs::store::Connection;
use gotrue_rs::store::outbox::{self, OutboxState, Table};
use gotrue_rs::testing::{FakeClock, TestDatabase};
use sqlx::postgres::PgPoolOptions;
use tokio::sync::Notify;

/// A mail server: keeps what it took, refuses or hangs when told to.
#[derive(Default)]
struct Server {
    taken: Mutex<Vec<Message>>,
    refusal: Mutex<Option<MailError>>,
    hangs: AtomicBool,
    panics: AtomicBool,
    tried: Notify,
}

impl Server {
    fn refuse(&self, with: Option<MailError>) {
        *self.refusal.lock().expect("no test panics here") = with;
    }

    fn taken(&self) -> Vec<Message> {
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

struct Desk {
    database: TestDatabase,
    clock: FakeClock,
    outbox: Outbox,
    server: Arc<Server>,
}

impl Desk {
    async fn new(destination: Destination) -> Self {
        let database = TestDatabase::migrated().await;
        let clock = FakeClock::at(noon());
        let table = Table::new(database.pool().await);
        let outbox = Outbox::new(table, Arc::new(clock.clone()), Entropy::from_seed(7), destination);
        Self { database, clock, outbox, server: Arc::default() }
    }

    async fn write(&self, name: &str) {
        self.outbox.send(&message(name, self.clock.now())).await.expect("a mail is written down");
    }

    /// One round of a new worker; returns how many mails were tried.
    async fn round(&self) -> usize {
        self.outbox.worker(self.server.clone()).round().await.expect("the table answers")
    }

    async fn state(&self) -> OutboxState {
        self.outbox.state().await.expect("the table answers")
    }
}

fn noon() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().expect("a time")
}

fn message(name: &str, date: DateTime<Utc>) -> Message {
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
    let pool = desk.database.pool().await;
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
async fn a_mail_of_a_worker_that_died_goes_out_again_under_the_same_message_id() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    tokio::select! {
        _ = desk.round() => panic!("the server hangs"),
        () = desk.server.tried.notified() => (), // and the worker is dropped in the middle of its attempt
    }
    desk.server.hangs.store(false, Ordering::Relaxed);
    desk.clock.advance(TimeDelta::seconds(119));
    assert_eq!(desk.round().await, 0, "the lease holds");
    desk.clock.advance(TimeDelta::seconds(2));
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.server.taken()[0].message_id, "ada@shop.example");
    assert_eq!(desk.database.query("SELECT attempts FROM basalt.outbox").await, ["2"]);
}

#[tokio::test]
async fn a_worker_that_comes_back_late_does_not_undo_what_another_did() {
    let desk = Desk::new(Destination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    let late = desk.outbox.worker(desk.server.clone());
    let (late, ()) = tokio::join!(late.round(), async {
        desk.server.tried.notified().await;
        desk.server.hangs.store(false, Ordering::Relaxed);
        desk.database.query("UPDATE basalt.outbox SET leased_until = leased_until - interval '1 hour'").await;
        assert_eq!(desk.round().await, 1);
        desk.clock.advance(TimeDelta::minutes(2)); // the late one's attempt ends: too long
    });
    assert_eq!(late.expect("the table answers"), 1);
    assert_eq!(desk.state().await, OutboxState { sent: 1, ..OutboxState::default() });
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
    let alone = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5));
    let pool = alone.connect_with(database.admin_options()).await.expect("the test server answers");
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
async fn two_workers_never_hold_the_same_mail() {
    let desk = Desk::new(Destination::Server).await;
    for n in 0..40 {
        desk.write(&format!("reader-{n}")).await;
    }
    let workers: Vec<_> = (0..4).map(|_| desk.outbox.worker(desk.server.clone())).collect();
    let drained =
        workers.iter().map(|worker| async move { while worker.round().await.expect("the table answers") > 0 {} });
    join_all(drained).await;
    let taken = desk.server.taken();
    let ids: HashSet<_> = taken.iter().map(|message| &message.message_id).collect();
    assert_eq!((taken.len(), ids.len()), (40, 40));
    assert_eq!(desk.state().await.sent, 40);
}

#[tokio::test]
async fn a_worker_wakes_when_told_and_by_itself_and_stops_when_asked() {
    let desk = Desk::new(Destination::Server).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = desk.outbox.worker(desk.server.clone()).run(async { stopped.await.unwrap_or_default() });
    let pool = desk.database.pool().await;
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
async fn without_a_mail_server_a_mail_is_in_the_inbox_at_once() {
    let desk = Desk::new(Destination::Inbox).await;
    desk.write("ada").await;
    desk.write("bob").await;
    let inbox = desk.outbox.inbox();
    let all = inbox.list(&Query::default()).await.expect("the table answers");
    assert_eq!(all.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), ["Hello bob", "Hello ada"]);
    let to_ada = Query { to: Some("ADA@example.com".to_owned()), after: None };
    let mail = inbox.list(&to_ada).await.expect("the table answers").remove(0);
    assert_eq!((mail.to.as_str(), mail.kind.as_str()), ("ada@Example.com", "confirmation"));
    assert_eq!((mail.code.as_deref(), mail.text.as_deref()), (Some("123456"), Some("hello")));
    assert_eq!(mail.link.as_deref(), Some("https://shop.example/verify?token=abc"));
    assert_eq!(inbox.get(mail.id).await.expect("the table answers"), Some(mail.clone()));
    assert_eq!(desk.round().await, 0, "a mail server set up later does not get it");
    let after = Query { after: Some(mail.id), ..to_ada };
    assert!(inbox.list(&after).await.expect("the table answers").is_empty());
}

#[tokio::test]
async fn who_waits_at_the_inbox_sees_the_mail_when_it_comes_or_nothing_in_time() {
    let desk = Desk::new(Destination::Inbox).await;
    let inbox = desk.outbox.inbox();
    let query = Query { to: Some("ada@example.com".to_owned()), after: None };
    let (found, ()) = tokio::join!(inbox.wait(&query, Duration::from_secs(30)), async {
        desk.write("bob").await;
        desk.write("ada").await;
    });
    assert_eq!(found.expect("the table answers").len(), 1);
    let nobody = Query { to: Some("nobody@example.com".to_owned()), after: None };
    let waiting = inbox.wait(&nobody, Duration::from_secs(30));
    let ticking = async {
        loop {
            desk.clock.advance(TimeDelta::seconds(1));
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        found = waiting => assert!(found.expect("the table answers").is_empty()),
        () = ticking => (),
    }
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
