//! Submissions interrupted at every step: dropped, timed out, panicking, or with a failing statement.

use std::sync::Arc;

use platform::journal::{Journal, Step};
use platform::testing::{DatabaseInspector, FaultPlan, diff_rows, drop_when, expire_at_poll};

use crate::shop::{Submission, TestShop, accepted_id};
use crate::support::TestResponse;

/// A shop with one connection, and the rows that an accepted submission writes.
struct InterruptionTest {
    shop: TestShop,
    ledger: DatabaseInspector,
    complete: Vec<String>,
    steps: Vec<Step>,
}

impl InterruptionTest {
    async fn new() -> Self {
        let shop = TestShop::with_one_connection().await;
        let ledger = DatabaseInspector::connect(&shop.database).await;
        let mut test = Self { shop, ledger, complete: Vec::new(), steps: Vec::new() };
        accepted_id(
            &test.shop.send_submission(submission("192.0.2.251", "The first of all, from eve@example.com")).await,
        );
        let before = test.ledger.rows().await;
        let journal = Arc::new(Journal::default());
        accepted_id(
            &test
                .shop
                .send_submission_with_journal(
                    submission("192.0.2.250", "Complete, from ada@example.com"),
                    journal.clone(),
                )
                .await,
        );
        test.complete = diff_rows(&before, &test.ledger.rows().await);
        test.steps = journal.steps();
        test
    }

    /// Interrupts a submission and checks that it was written completely or not at all.
    /// A retry then stores it once.
    async fn interrupt_submission<F, R>(&self, n: usize, interrupt: F)
    where
        F: AsyncFnOnce(Submission<'_>) -> R,
        R: Into<Option<TestResponse>>,
    {
        let (peer, text) = (format!("192.0.2.{n}"), format!("Number {n}, from ada{n}@example.com"));
        let before = self.ledger.rows().await;
        let seen = interrupt(submission(&peer, &text)).await.into();
        self.ledger.wait_until_idle(&self.shop.pool).await.expect("at rest");
        let changes = diff_rows(&before, &self.ledger.rows().await);
        assert!(changes.is_empty() || changes == self.complete, "{n}: partly written {changes:?}");
        if let Some(seen) = seen {
            assert!(seen.status == 200 || seen.status.is_server_error(), "{n}: {}", seen.status);
            assert!(seen.status != 200 || !changes.is_empty(), "{n}: acknowledged and not written");
        }
        accepted_id(&self.shop.send_submission(submission(&peer, &text)).await);
        assert_eq!(diff_rows(&before, &self.ledger.rows().await), self.complete, "{n}: sent again");
        // A new connection has no prepared statements, so the next attempt awaits equally often.
        self.ledger.replace_connection(&self.shop.pool).await.expect("a new connection");
    }
}

fn submission<'a>(peer: &'a str, text: &'a str) -> Submission<'a> {
    Submission { peer, ..Submission::with_text(text) }
}

/// Attempts per step: a database that responds immediately is not awaited.
const ATTEMPTS_PER_STEP: usize = 12;

#[tokio::test]
async fn dropped_submission_is_stored_completely_or_not_at_all() {
    let test = InterruptionTest::new().await;
    let mut dropped = 0;
    for step in 1..=test.steps.len() {
        for attempt in 0..ATTEMPTS_PER_STEP {
            let journal = Arc::new(Journal::default());
            let is_at_step = || journal.steps().len() >= step;
            let mut is_dropped = false;
            test.interrupt_submission(step * ATTEMPTS_PER_STEP + attempt, async |visit| {
                let seen = drop_when(is_at_step, test.shop.send_submission_with_journal(visit, journal.clone())).await;
                is_dropped = seen.is_none();
                seen
            })
            .await;
            if is_dropped {
                dropped += 1;
                break;
            }
        }
    }
    assert!(dropped > 2, "it was dropped at {dropped} of {} steps only", test.steps.len());
}

#[tokio::test]
async fn timed_out_submission_is_stored_completely_or_not_at_all() {
    let test = InterruptionTest::new().await;
    let mut is_struck = true;
    for n in 1..250 {
        test.interrupt_submission(n, async |visit| {
            let (seen, struck) = expire_at_poll(n, &test.shop.clock, test.shop.send_submission(visit)).await;
            is_struck = struck;
            seen
        })
        .await;
        if !is_struck {
            return;
        }
    }
    panic!("the submission does not end");
}

#[tokio::test]
async fn failing_submission_is_stored_completely_or_not_at_all() {
    let test = InterruptionTest::new().await;
    let mut n = 0;
    for plan in [FaultPlan::panic_any, FaultPlan::fail_any] {
        // Steps before the function's call belong to the gateway.
        let is_guard = |at: &usize| matches!(test.steps[at - 1], Step::Guard(_));
        for at in (1..=test.steps.len()).filter(|at| !is_guard(at)) {
            n += 1;
            let faults = Arc::new(FaultPlan::default());
            plan(&faults, at);
            let journal = Arc::new(Journal::with_faults(faults));
            test.interrupt_submission(n, async |visit| test.shop.send_submission_with_journal(visit, journal).await)
                .await;
        }
    }
}
