//! Several workers, and workers that die.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use futures::future::join_all;
use platform::mail::outbox::MailDestination;
use platform::store::outbox::OutboxCounts;

use super::fixture::{OutboxFixture, noon};

#[tokio::test]
async fn mail_of_crashed_worker_is_resent_with_same_message_id() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    tokio::select! {
        _ = desk.run_worker_once() => panic!("the server hangs"),
        () = desk.server.tried.notified() => (), // and the worker is dropped in the middle of its attempt
    }
    desk.server.hangs.store(false, Ordering::Relaxed);
    desk.clock.advance(TimeDelta::seconds(5));
    assert_eq!(desk.run_worker_once().await, 0, "the lease holds");
    desk.clock.advance(TimeDelta::seconds(2));
    assert_eq!(desk.run_worker_once().await, 1);
    assert_eq!(desk.server.sent_messages()[0].message_id, "ada@shop.example");
    assert_eq!(desk.database.query("SELECT attempts FROM basalt.outbox").await, ["2"]);
}

#[tokio::test]
async fn slow_worker_renews_its_lease() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    let slow = desk.outbox.build_worker(desk.server.clone());
    let (tried, ()) = tokio::join!(slow.deliver_due(), async {
        desk.server.tried.notified().await;
        for _ in 0..10 {
            let before = leased_until(&desk).await;
            desk.clock.advance(TimeDelta::seconds(2));
            while leased_until(&desk).await == before {
                tokio::task::yield_now().await;
            }
            assert_eq!(desk.run_worker_once().await, 0, "it is the other's");
        }
        desk.clock.advance(TimeDelta::seconds(41));
    });
    assert_eq!(tried.expect("the table answers"), 1);
    assert_eq!(desk.state().await, OutboxCounts { retrying: 1, oldest: Some(noon()), ..OutboxCounts::default() });
}

async fn leased_until(desk: &OutboxFixture) -> Vec<String> {
    desk.database.query("SELECT leased_until FROM basalt.outbox").await
}

#[tokio::test]
async fn late_worker_does_not_overwrite_another_workers_result() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    desk.write("ada").await;
    desk.server.hangs.store(true, Ordering::Relaxed);
    let late = desk.outbox.build_worker(desk.server.clone());
    let (late, ()) = tokio::join!(late.deliver_due(), async {
        desk.server.tried.notified().await;
        desk.server.hangs.store(false, Ordering::Relaxed);
        desk.database.query("UPDATE basalt.outbox SET leased_until = leased_until - interval '1 hour'").await;
        assert_eq!(desk.run_worker_once().await, 1);
        desk.clock.advance(TimeDelta::minutes(2)); // the late one's attempt ends: too long
    });
    assert_eq!(late.expect("the table answers"), 1);
    assert_eq!(desk.state().await, OutboxCounts { sent: 1, ..OutboxCounts::default() });
}

#[tokio::test]
async fn two_workers_never_hold_the_same_mail() {
    let desk = OutboxFixture::new(MailDestination::Server).await;
    for n in 0..40 {
        desk.write(&format!("reader-{n}")).await;
    }
    let workers: Vec<_> = (0..4).map(|_| desk.outbox.build_worker(desk.server.clone())).collect();
    let drained =
        workers.iter().map(|worker| async move { while worker.deliver_due().await.expect("the table answers") > 0 {} });
    join_all(drained).await;
    let taken = desk.server.sent_messages();
    let ids: HashSet<_> = taken.iter().map(|message| &message.message_id).collect();
    assert_eq!((taken.len(), ids.len()), (40, 40));
    assert_eq!(desk.state().await.sent, 40);
}
