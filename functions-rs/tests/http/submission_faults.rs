//! Submissions while things break: what is answered is stored with its mails, what is refused is not stored at all.

use std::time::Duration;

use chrono::TimeDelta;
use futures::FutureExt;

use crate::shop::{Shop, Visit, taken};

#[tokio::test]
async fn a_submission_whose_mails_cannot_be_written_is_not_stored() {
    let shop = Shop::open().await;
    shop.database
        .query("ALTER TABLE basalt.outbox ADD CONSTRAINT no_mails CHECK (purpose <> 'submission_notice')")
        .await;
    let seen = shop.visit(Visit::saying("Hello")).await;
    let (status, code, message) = seen.error();
    assert_eq!((status, code.as_str()), (500, "WORKER_ERROR"));
    assert!(!message.contains("no_mails"), "{message}");
    assert_eq!(shop.counts().await, (0, 0));
    shop.database.query("ALTER TABLE basalt.outbox DROP CONSTRAINT no_mails").await;
    shop.submit("Hello").await;
    assert_eq!(shop.counts().await, (1, 1));
}

#[tokio::test]
async fn a_call_that_is_out_of_time_stores_nothing() {
    let shop = Shop::open().await;
    shop.submit("First").await;
    let mut blocker = shop.database.pool().await.begin().await.expect("a transaction");
    sqlx::query("UPDATE basalt.limits SET room = room").execute(&mut *blocker).await.expect("locked");
    let late = shop.visit(Visit::saying("Late"));
    let time_passes = async {
        while waiting(&shop).await == 0 {
            tokio::task::yield_now().await;
        }
        shop.clock.advance(TimeDelta::seconds(11));
    };
    let (seen, ()) = tokio::join!(late, time_passes);
    assert_eq!((seen.error().0, seen.error().1.as_str()), (504, "IDLE_TIMEOUT"));
    blocker.rollback().await.expect("unlocked");
    while waiting(&shop).await > 0 {
        tokio::task::yield_now().await;
    }
    shop.submit("Third").await;
    let texts = shop.database.query("SELECT description FROM basalt.submissions ORDER BY created_at").await;
    assert_eq!(texts, ["First", "Third"]);
}

/// How many statements wait for a lock.
async fn waiting(shop: &Shop) -> usize {
    shop.database
        .query("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        .await
        .len()
}

#[tokio::test]
async fn a_caller_who_leaves_holds_nobody_up() {
    let shop = Shop::open().await;
    shop.submit("First").await;
    let mut blocker = shop.database.pool().await.begin().await.expect("a transaction");
    sqlx::query("UPDATE basalt.limits SET room = room").execute(&mut *blocker).await.expect("locked");
    let mut leaving = Box::pin(shop.visit(Visit::saying("Leaving")));
    while waiting(&shop).await == 0 {
        assert!((&mut leaving).now_or_never().is_none());
    }
    drop(leaving);
    let other = Visit { peer: "192.0.2.9", ..Visit::saying("Somebody else") };
    taken(&tokio::time::timeout(Duration::from_secs(20), shop.visit(other)).await.expect("an answer"));
    blocker.rollback().await.expect("unlocked");
    shop.submit("Second").await;
    assert_eq!(shop.counts().await.0, 3);
}

#[tokio::test]
async fn a_database_that_comes_back_is_used_again() {
    let shop = Shop::open().await;
    shop.submit("Before").await;
    let kill = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    shop.database.query(kill).await;
    let mut tries = 0;
    while shop.visit(Visit::saying("After")).await.status != 200 {
        tries += 1;
        assert!(tries < 10, "the pool did not recover");
    }
    assert_eq!(shop.counts().await, (2, 2));
}
