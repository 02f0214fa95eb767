//! Failures during submissions.
//! Acknowledged submissions are stored with their mails, rejected ones are not stored.

use std::time::Duration;

use chrono::TimeDelta;
use futures::FutureExt;

use crate::shop::{Submission, TestShop, accepted_id};

#[tokio::test]
async fn submission_is_rolled_back_with_its_mails() {
    let shop = TestShop::start().await;
    shop.database
        .query("ALTER TABLE basalt.outbox ADD CONSTRAINT no_mails CHECK (purpose <> 'submission_notice')")
        .await;
    let seen = shop.send_submission(Submission::with_text("Hello")).await;
    let (status, code, message) = seen.error();
    assert_eq!((status, code.as_str()), (500, "WORKER_ERROR"));
    assert!(!message.contains("no_mails"), "{message}");
    assert_eq!(shop.counts().await, (0, 0));
    shop.database.query("ALTER TABLE basalt.outbox DROP CONSTRAINT no_mails").await;
    shop.submit("Hello").await;
    assert_eq!(shop.counts().await, (1, 1));
}

#[tokio::test]
async fn timed_out_call_stores_nothing() {
    let shop = TestShop::start().await;
    shop.submit("First").await;
    let mut blocker = shop.database.pool().await.begin().await.expect("a transaction");
    sqlx::query("UPDATE basalt.limits SET room = room").execute(&mut *blocker).await.expect("locked");
    let late = shop.send_submission(Submission::with_text("Late"));
    let time_passes = async {
        while count_lock_waits(&shop).await == 0 {
            tokio::task::yield_now().await;
        }
        shop.clock.advance(TimeDelta::seconds(11));
    };
    let (seen, ()) = tokio::join!(late, time_passes);
    assert_eq!((seen.error().0, seen.error().1.as_str()), (504, "IDLE_TIMEOUT"));
    blocker.rollback().await.expect("unlocked");
    while count_lock_waits(&shop).await > 0 {
        tokio::task::yield_now().await;
    }
    shop.submit("Third").await;
    let texts = shop.database.query("SELECT description FROM basalt.submissions ORDER BY created_at").await;
    assert_eq!(texts, ["First", "Third"]);
}

/// Returns how many statements wait for a lock.
async fn count_lock_waits(shop: &TestShop) -> usize {
    shop.database
        .query("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        .await
        .len()
}

#[tokio::test]
async fn disconnected_caller_does_not_block_others() {
    let shop = TestShop::start().await;
    shop.submit("First").await;
    let mut blocker = shop.database.pool().await.begin().await.expect("a transaction");
    sqlx::query("UPDATE basalt.limits SET room = room").execute(&mut *blocker).await.expect("locked");
    let mut leaving = Box::pin(shop.send_submission(Submission::with_text("Leaving")));
    while count_lock_waits(&shop).await == 0 {
        assert!((&mut leaving).now_or_never().is_none());
    }
    drop(leaving);
    let other = Submission { peer: "192.0.2.9", ..Submission::with_text("Another user") };
    accepted_id(&tokio::time::timeout(Duration::from_secs(20), shop.send_submission(other)).await.expect("an answer"));
    blocker.rollback().await.expect("unlocked");
    shop.submit("Second").await;
    assert_eq!(shop.counts().await.0, 3);
}

#[tokio::test]
async fn pool_recovers_after_lost_connections() {
    let shop = TestShop::start().await;
    shop.submit("Before").await;
    let kill = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    shop.database.query(kill).await;
    let mut tries = 0;
    while shop.send_submission(Submission::with_text("After")).await.status != 200 {
        tries += 1;
        assert!(tries < 10, "the pool did not recover");
    }
    assert_eq!(shop.counts().await, (2, 2));
}
