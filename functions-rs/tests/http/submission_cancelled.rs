//! Submissions that are interrupted at every place: dropped, out of time, in a panic, or because a statement fails.

use std::sync::Arc;

use gotrue_rs::journal::{Journal, Step};
use gotrue_rs::testing::{FaultPlan, Ledger, dropped_when, out_of_time_at, written};

use crate::shop::{Shop, Visit, taken};
use crate::support::Seen;

/// A shop with one connection, and what is written when a submission is taken.
struct Place {
    shop: Shop,
    ledger: Ledger,
    complete: Vec<String>,
    steps: Vec<Step>,
}

impl Place {
    async fn new() -> Self {
        let shop = Shop::with_one_connection().await;
        let ledger = Ledger::of(&shop.database).await;
        let mut place = Self { shop, ledger, complete: Vec::new(), steps: Vec::new() };
        taken(&place.shop.visit(visit("192.0.2.251", "The first of all, from eve@example.com")).await);
        let before = place.ledger.rows().await;
        let journal = Arc::new(Journal::default());
        taken(&place.shop.visit_noting(visit("192.0.2.250", "Complete, from ada@example.com"), journal.clone()).await);
        place.complete = written(&before, &place.ledger.rows().await);
        place.steps = journal.steps();
        place
    }

    /// Interrupts one submission, and sees whether it was taken as a whole or not at all. It is sent again: it is there once.
    async fn interrupted<F, R>(&self, n: usize, interrupt: F)
    where
        F: AsyncFnOnce(Visit<'_>) -> R,
        R: Into<Option<Seen>>,
    {
        let (peer, text) = (format!("192.0.2.{n}"), format!("Number {n}, from ada{n}@example.com"));
        let before = self.ledger.rows().await;
        let seen = interrupt(visit(&peer, &text)).await.into();
        self.ledger.rest(&self.shop.pool).await.expect("at rest");
        let changes = written(&before, &self.ledger.rows().await);
        assert!(changes.is_empty() || changes == self.complete, "{n}: partly written {changes:?}");
        if let Some(seen) = seen {
            assert!(seen.status == 200 || seen.status.is_server_error(), "{n}: {}", seen.status);
            assert!(seen.status != 200 || !changes.is_empty(), "{n}: acknowledged and not written");
        }
        taken(&self.shop.visit(visit(&peer, &text)).await);
        assert_eq!(written(&before, &self.ledger.rows().await), self.complete, "{n}: sent again");
        // Another connection, which knows no statement yet, so that the next one waits as often.
        self.ledger.renew(&self.shop.pool).await.expect("a new connection");
    }
}

fn visit<'a>(peer: &'a str, text: &'a str) -> Visit<'a> {
    Visit { peer, ..Visit::saying(text) }
}

/// Tries for each step: a database that answers at once is not waited for.
const TRIES: usize = 12;

#[tokio::test]
async fn a_submission_that_is_dropped_anywhere_is_stored_with_its_mails_or_not_at_all() {
    let place = Place::new().await;
    let mut dropped = 0;
    for step in 1..=place.steps.len() {
        for attempt in 0..TRIES {
            let journal = Arc::new(Journal::default());
            let is_at_step = || journal.steps().len() >= step;
            let mut is_dropped = false;
            place
                .interrupted(step * TRIES + attempt, async |visit| {
                    let seen = dropped_when(is_at_step, place.shop.visit_noting(visit, journal.clone())).await;
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
    assert!(dropped > 2, "it was dropped at {dropped} of {} steps only", place.steps.len());
}

#[tokio::test]
async fn a_submission_that_is_out_of_time_anywhere_is_stored_with_its_mails_or_not_at_all() {
    let place = Place::new().await;
    let mut is_struck = true;
    for n in 1..250 {
        place
            .interrupted(n, async |visit| {
                let (seen, struck) = out_of_time_at(n, &place.shop.clock, place.shop.visit(visit)).await;
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
async fn a_submission_that_breaks_anywhere_is_stored_with_its_mails_or_not_at_all() {
    let place = Place::new().await;
    let mut n = 0;
    for plan in [FaultPlan::panic_any, FaultPlan::fail_any] {
        // A step before the function is called is the gateway's own.
        let is_guard = |at: &usize| matches!(place.steps[at - 1], Step::Guard(_));
        for at in (1..=place.steps.len()).filter(|at| !is_guard(at)) {
            n += 1;
            let faults = Arc::new(FaultPlan::default());
            plan(&faults, at);
            let journal = Arc::new(Journal::with_faults(faults));
            place.interrupted(n, async |visit| place.shop.visit_noting(visit, journal).await).await;
        }
    }
}
