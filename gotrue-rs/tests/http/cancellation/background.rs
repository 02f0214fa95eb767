//! Work behind the requests that is dropped at every place: the outbox's worker and the clean-up.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::Quota;
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::services::cleanup;
use gotrue_rs::testing::World;
use platform::store::outbox::OutboxCounts;
use platform::testing::{DatabaseInspector, Mailbox, drop_at_poll};
use serde_json::json;

#[tokio::test]
async fn outbox_worker_cancelled_at_any_point_loses_no_mail() {
    let mailbox = Arc::new(Mailbox::default());
    let many = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
    let builder = World::builder().connections(1).with_outbox().with_mailer(mailbox.clone());
    let world = builder.policy(|policy| policy.limits.email_sent = many).build().await;
    let EmailDelivery::Outbox(outbox) = &world.app.delivery else { panic!("the world has an outbox") };
    let ledger = DatabaseInspector::connect(&world.database).await;
    let mut written = 0;
    for n in 1..1000 {
        for name in ["ann", "bob"] {
            let to = format!("{name}{n}@example.com");
            world.post("/otp", json!({ "email": to })).await.expect(200);
            written += 1;
        }
        ledger.replace_connection(&world.app.pool).await.expect("a new connection");
        let worker = outbox.build_worker(mailbox.clone());
        let is_done = drop_at_poll(n, worker.deliver_due()).await.is_some();
        ledger.wait_until_idle(&world.app.pool).await.expect("at rest");
        // The lease of the worker that was dropped ends.
        world.advance(TimeDelta::seconds(7));
        outbox.build_worker(mailbox.clone()).deliver_due().await.expect("the table answers");
        let state = outbox.count_by_state().await.expect("the table answers");
        assert_eq!(state, OutboxCounts { sent: written, ..OutboxCounts::default() }, "dropped at {n}");
        for name in ["ann", "bob"] {
            let to = format!("{name}{n}@example.com");
            let mut ids: Vec<_> =
                mailbox.all().into_iter().filter(|mail| mail.to == to).map(|mail| mail.message_id).collect();
            ids.dedup();
            assert_eq!(ids.len(), 1, "one mail, perhaps more than once: {to}");
        }
        if is_done {
            return;
        }
    }
    panic!("the round does not end");
}

#[tokio::test]
async fn idle_outbox_worker_cancelled_at_any_point_leaves_its_connection_idle() {
    let mailbox = Arc::new(Mailbox::default());
    let world = World::builder().connections(1).with_outbox().with_mailer(mailbox.clone()).build().await;
    let EmailDelivery::Outbox(outbox) = &world.app.delivery else { panic!("the world has an outbox") };
    let ledger = DatabaseInspector::connect(&world.database).await;
    for n in 1..1000 {
        ledger.replace_connection(&world.app.pool).await.expect("a new connection");
        let is_done = drop_at_poll(n, outbox.build_worker(mailbox.clone()).run(ready(()))).await.is_some();
        ledger.wait_until_idle(&world.app.pool).await.expect("at rest");
        if is_done {
            return;
        }
    }
    panic!("the worker does not stop");
}

#[tokio::test]
async fn cleanup_cancelled_at_any_point_resumes_later() {
    let world = World::builder().connections(1).policy(|policy| policy.operation.cleanup_enabled = true).build().await;
    let ann = world.create_user("ann@example.com").await;
    let old = "UPDATE auth.sessions SET not_after = created_at - interval '30 days'";
    world.database.query(old).await;
    let ledger = DatabaseInspector::connect(&world.database).await;
    let mut n = 1;
    for _ in 0..300 {
        world.app.cleanup_signal.notify();
        let turn = world.app.cleanup_signal.kind_index();
        ledger.replace_connection(&world.app.pool).await.expect("a new connection");
        let is_done = drop_at_poll(n, cleanup::run(world.app.clone(), ready(()))).await.is_some();
        ledger.wait_until_idle(&world.app.pool).await.expect("at rest");
        n = if is_done { 1 } else { n + 1 };
        if is_done && turn > 25 {
            assert_eq!(world.database.query("SELECT count(*) FROM auth.sessions").await, ["0"]);
            assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
            return;
        }
    }
    panic!("the clean-up does not come round");
}
