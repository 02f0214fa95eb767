//! Work behind the requests that is dropped at every place: the outbox's worker and the clean-up.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::app::Delivery;
use gotrue_rs::services::cleanup;
use gotrue_rs::store::outbox::OutboxState;
use gotrue_rs::testing::{Ledger, Mailbox, World, dropped_at};
use gotrue_rules::domain::policy::Quota;
use serde_json::json;

#[tokio::test]
async fn a_worker_of_the_outbox_that_is_dropped_anywhere_loses_no_mail() {
    let mailbox = Arc::new(Mailbox::default());
    let many = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
    let builder = World::builder().connections(1).with_outbox().mailed_by(mailbox.clone());
    let world = builder.policy(|policy| policy.limits.email_sent = many).build().await;
    let Delivery::Outbox(outbox) = &world.app.delivery else { panic!("the world has an outbox") };
    let ledger = Ledger::of(&world.database).await;
    let mut written = 0;
    for n in 1..1000 {
        for name in ["ann", "bob"] {
            let to = format!("{name}{n}@example.com");
            world.post("/otp", json!({ "email": to })).await.expect(200);
            written += 1;
        }
        ledger.renew(&world.app.pool).await.expect("a new connection");
        let worker = outbox.worker(mailbox.clone());
        let is_done = dropped_at(n, worker.round()).await.is_some();
        ledger.rest(&world.app.pool).await.expect("at rest");
        // The lease of the worker that was dropped ends.
        world.advance(TimeDelta::seconds(7));
        outbox.worker(mailbox.clone()).round().await.expect("the table answers");
        let state = outbox.state().await.expect("the table answers");
        assert_eq!(state, OutboxState { sent: written, ..OutboxState::default() }, "dropped at {n}");
        for name in ["ann", "bob"] {
            let to = format!("{name}{n}@example.com");
            let mut ids: Vec<_> = mailbox.all().into_iter().filter(|it| it.to == to).map(|it| it.message_id).collect();
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
async fn an_idle_worker_of_the_outbox_that_is_dropped_anywhere_leaves_its_connection_at_rest() {
    let mailbox = Arc::new(Mailbox::default());
    let world = World::builder().connections(1).with_outbox().mailed_by(mailbox.clone()).build().await;
    let Delivery::Outbox(outbox) = &world.app.delivery else { panic!("the world has an outbox") };
    let ledger = Ledger::of(&world.database).await;
    for n in 1..1000 {
        ledger.renew(&world.app.pool).await.expect("a new connection");
        let is_done = dropped_at(n, outbox.worker(mailbox.clone()).run(ready(()))).await.is_some();
        ledger.rest(&world.app.pool).await.expect("at rest");
        if is_done {
            return;
        }
    }
    panic!("the worker does not stop");
}

#[tokio::test]
async fn a_clean_up_that_is_dropped_anywhere_goes_on_later() {
    let world = World::builder().connections(1).policy(|policy| policy.operation.cleanup_enabled = true).build().await;
    let ann = world.person("ann@example.com").await;
    let old = "UPDATE auth.sessions SET not_after = created_at - interval '30 days'";
    world.database.query(old).await;
    let ledger = Ledger::of(&world.database).await;
    let mut n = 1;
    for _ in 0..300 {
        world.app.cleanup.tell();
        let turn = world.app.cleanup.turn();
        ledger.renew(&world.app.pool).await.expect("a new connection");
        let is_done = dropped_at(n, cleanup::run(world.app.clone(), ready(()))).await.is_some();
        ledger.rest(&world.app.pool).await.expect("at rest");
        n = if is_done { 1 } else { n + 1 };
        if is_done && turn > 25 {
            assert_eq!(world.database.query("SELECT count(*) FROM auth.sessions").await, ["0"]);
            assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
            return;
        }
    }
    panic!("the clean-up does not come round");
}
