//! Interrupts one request at every point and checks the state after each interruption.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use gotrue_rs::testing::WorldBuilder;
use platform::journal::Step;
use platform::testing::{Answer, diff_rows, drop_at_poll, drop_when, expire_at_poll};
use tokio::time::timeout;

use super::fixture::{Fixture, REQUEST_TIMEOUT};
use super::request::TestRequest;

/// How often each statement that no wait has reached is tried.
const USUAL_ROUNDS: usize = 10;
/// How often it is tried while most statements have not been reached.
const MAX_ROUNDS: usize = 100;

/// Prepares a state in which the returned request succeeds; the number differs in each call.
pub(super) type Arrange = for<'a> fn(&'a Fixture, usize) -> BoxFuture<'a, TestRequest>;

/// A row of the route table with a request that succeeds.
pub(super) struct Case {
    /// Method and path as the route table has them.
    pub route: &'static str,
    /// Which of the route's requests this is.
    pub variant: &'static str,
    pub arrange: Arrange,
    /// The changes of the default world.
    pub differing: fn(WorldBuilder) -> WorldBuilder,
    /// The status and code with which a repeated request may be refused.
    pub again: &'static [&'static str],
    /// The partial writes that are allowed, because the request commits in several transactions.
    pub steps: &'static [&'static [&'static str]],
    /// The responses to a failing statement that are not 5xx, as recorded.
    pub failures: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptionKind {
    /// It is dropped when it waits for the n-th time.
    Drop,
    /// It is dropped when it waits after its n-th step.
    DropAfter,
    /// Its time is up when it waits for the n-th time.
    Deadline,
    /// It panics at its n-th step.
    Panic,
    /// Its n-th step fails.
    Fail,
}

/// The result of an uninterrupted request.
pub(super) struct Complete {
    pub outcome: String,
    pub written: Vec<String>,
    pub steps: Vec<Step>,
}

/// The result of one interruption.
struct Interruption {
    /// The number of steps that the request had taken.
    steps: usize,
    /// Whether the request was interrupted.
    is_struck: bool,
    /// Whether the state is unchanged.
    is_unchanged: bool,
}

/// A running case.
pub(super) struct CaseRun<'c> {
    pub case: &'c Case,
    pub place: Fixture,
    arranged: usize,
    writes: usize,
    pub complete: Complete,
    /// The number of steps at each wait, as far as known.
    waits: BTreeMap<usize, usize>,
    pub interruptions: usize,
    pub faults: Vec<String>,
}

impl<'c> CaseRun<'c> {
    pub(super) async fn new(case: &'c Case) -> Self {
        let place = Fixture::new(case.differing).await;
        let complete = Complete { outcome: String::new(), written: Vec::new(), steps: Vec::new() };
        let (waits, faults) = (BTreeMap::new(), Vec::new());
        let mut run = Self { case, place, arranged: 0, writes: 0, complete, waits, interruptions: 0, faults };
        let response = run.arrange().await;
        let before = run.place.ledger.rows().await;
        let answer = run.place.world.send(response.request()).await;
        assert!(
            answer.status.as_u16() < 400 && code(&answer).is_empty(),
            "{} {}: {} {}",
            case.route,
            case.variant,
            outcome(&answer),
            answer.text
        );
        let steps = run.place.world.journal().steps();
        run.place.ledger.wait_until_idle(&run.place.world.app.pool).await.expect("at rest");
        let written = diff_rows(&before, &run.place.ledger.rows().await);
        run.complete = Complete { outcome: outcome(&answer), written, steps };
        run
    }

    /// Prepares the next request that succeeds.
    pub(super) async fn arrange(&mut self) -> TestRequest {
        self.arranged += 1;
        // The mail frequency allows another request.
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        let response = (self.case.arrange)(&self.place, self.arranged).await;
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        response
    }

    /// Interrupts the request at every point of that kind.
    pub(super) async fn interrupt_at_all_points(&mut self, blow: InterruptionKind) {
        if matches!(blow, InterruptionKind::Panic | InterruptionKind::Fail) {
            return self.interrupt_at_every_step(blow, blow == InterruptionKind::Panic).await;
        }
        let mut reached = BTreeSet::new();
        self.interrupt_at_every_wait(blow, &mut reached).await;
        if blow == InterruptionKind::Drop {
            self.interrupt_missed_statements(reached).await;
        }
    }

    /// Interrupts at the statements that no wait has reached.
    ///
    /// The number of waits varies, since a response that is already there is not waited for. On a busy machine most are,
    /// so that statements are tried more often until half of them were interrupted.
    async fn interrupt_missed_statements(&mut self, mut reached: BTreeSet<usize>) {
        let all = self.missed_statements(&BTreeSet::new());
        for round in 0..MAX_ROUNDS {
            let missed = self.missed_statements(&reached);
            // A database that always responds at once is never waited for; other cases interrupt the same statement.
            let are_enough = missed.len() * 2 <= all.len();
            if missed.is_empty() || round >= USUAL_ROUNDS && are_enough {
                return;
            }
            for step in missed {
                let request = self.arrange().await;
                let Interruption { steps, is_struck, .. } =
                    self.interrupt_once(InterruptionKind::DropAfter, step, &request).await;
                if is_struck {
                    reached.insert(steps);
                }
            }
        }
        let missed = self.missed_statements(&reached);
        let steps: Vec<_> = missed.iter().map(|step| self.complete.steps[step - 1]).collect();
        self.faults.push(format!("never dropped in {steps:?}"));
    }

    /// Interrupts at every statement, or for waits at the start and end of each transaction.
    pub(super) async fn interrupt_at_selected_points(&mut self, blow: InterruptionKind) {
        if blow == InterruptionKind::Panic {
            return self.interrupt_at_every_step(blow, false).await;
        }
        let last = |steps: usize| steps.checked_sub(1).and_then(|at| self.complete.steps.get(at));
        let is_transaction = |steps: usize| matches!(last(steps), Some(Step::Transaction(_)));
        let waits = self.waits.iter().filter(|(_, steps)| is_transaction(**steps));
        let waits: Vec<usize> = waits.map(|(n, _)| *n).collect();
        let mut request = self.arrange().await;
        for n in waits {
            if !self.interrupt_once(blow, n, &request).await.is_unchanged {
                request = self.arrange().await;
            }
        }
    }

    async fn interrupt_at_every_step(&mut self, blow: InterruptionKind, are_others_meant: bool) {
        let mut request = self.arrange().await;
        for (at, step) in self.complete.steps.clone().into_iter().enumerate() {
            let can_fail = matches!(step, Step::Statement(_) | Step::Transaction("BEGIN" | "COMMIT"));
            if (are_others_meant || can_fail) && !self.interrupt_once(blow, at + 1, &request).await.is_unchanged {
                request = self.arrange().await;
            }
        }
    }

    async fn interrupt_at_every_wait(&mut self, blow: InterruptionKind, reached: &mut BTreeSet<usize>) {
        let mut request = self.arrange().await;
        for n in 1..1000 {
            let Interruption { steps, is_struck, is_unchanged } = self.interrupt_once(blow, n, &request).await;
            if !is_struck {
                return;
            }
            reached.insert(steps);
            self.waits.insert(n, steps);
            if !is_unchanged {
                request = self.arrange().await;
            }
        }
        self.faults.push(format!("{blow:?}: the request does not end"));
    }

    /// The numbers of the statements that no interruption has reached.
    fn missed_statements(&self, reached: &BTreeSet<usize>) -> Vec<usize> {
        let steps = self.complete.steps.iter().zip(1..);
        let statements = steps.filter(|(step, _)| matches!(step, Step::Statement(_) | Step::Transaction(_)));
        statements.map(|(_, number)| number).filter(|number| !reached.contains(number)).collect()
    }

    /// Runs the request once with one interruption.
    async fn interrupt_once(&mut self, blow: InterruptionKind, n: usize, request: &TestRequest) -> Interruption {
        self.interruptions += 1;
        if matches!(blow, InterruptionKind::Drop | InterruptionKind::DropAfter | InterruptionKind::Deadline) {
            // With a connection that knows no statement yet, so that the n-th wait is the same each time.
            let renewed = self.place.ledger.replace_connection(&self.place.world.app.pool).await;
            renewed.unwrap_or_else(|reported| {
                panic!("{} {}, {blow:?} {n}: {reported}", self.case.route, self.case.variant)
            });
        }
        let before = self.place.ledger.rows().await;
        let (answer, is_struck) = self.apply_interruption(blow, n, request).await;
        let steps = self.place.world.journal().steps();
        let place = format!("{blow:?} {n} (last step {:?})", steps.last());
        let rested = self.place.ledger.wait_until_idle(&self.place.world.app.pool).await;
        rested.unwrap_or_else(|reported| panic!("{} {}, {place}: {reported}", self.case.route, self.case.variant));
        let changes = diff_rows(&before, &self.place.ledger.rows().await);
        let is_unchanged = changes.is_empty();
        self.check_state(&place, answer.as_ref(), &changes, is_struck);
        self.writes += 1;
        if let Err(reported) = self.place.assert_write_persists(self.writes).await {
            self.faults.push(format!("{place}: {reported}"));
        }
        if !is_unchanged && is_struck {
            self.repeat_request(&place, request).await;
        }
        Interruption { steps: steps.len(), is_struck, is_unchanged }
    }

    async fn apply_interruption(
        &self,
        blow: InterruptionKind,
        n: usize,
        wanted: &TestRequest,
    ) -> (Option<Answer>, bool) {
        let world = &self.place.world;
        match blow {
            InterruptionKind::Drop => {
                let answer = drop_at_poll(n, world.send(wanted.request())).await;
                let is_struck = answer.is_none();
                (answer, is_struck)
            }
            InterruptionKind::DropAfter => {
                let kept = world.app.journals.all().len();
                let is_now = || {
                    let journals = world.app.journals.all();
                    journals.get(kept).is_some_and(|journal| journal.steps().len() == n)
                };
                let answer = drop_when(is_now, world.send(wanted.request())).await;
                let is_struck = answer.is_none();
                (answer, is_struck)
            }
            InterruptionKind::Deadline => {
                let (answer, is_struck) = expire_at_poll(n, &world.clock, world.send(wanted.request())).await;
                (Some(answer), is_struck)
            }
            InterruptionKind::Panic => {
                world.faults.panic_any(n);
                self.send_request(wanted).await
            }
            InterruptionKind::Fail => {
                world.faults.fail_any(n);
                self.send_request(wanted).await
            }
        }
    }

    async fn send_request(&self, wanted: &TestRequest) -> (Option<Answer>, bool) {
        let answer = timeout(REQUEST_TIMEOUT, self.place.world.send(wanted.request())).await.expect("an answer");
        (Some(answer), self.place.world.faults.clear_pending() == 0)
    }

    fn check_state(&mut self, place: &str, answer: Option<&Answer>, changes: &[String], is_struck: bool) {
        let is_complete = changes == self.complete.written;
        let outcome = answer.map(outcome);
        let is_acknowledged = outcome.as_ref() == Some(&self.complete.outcome);
        if is_acknowledged && !is_complete {
            self.faults.push(format!("{place}: acknowledged, but written {changes:?}"));
        } else if !is_complete && !changes.is_empty() && !self.case.steps.iter().any(|step| *step == changes) {
            self.faults.push(format!("{place}: partly written {changes:?}"));
        }
        let Some((answer, outcome)) = answer.zip(outcome).filter(|_| !is_acknowledged) else { return };
        let may_be_refused = answer.status.is_redirection() || outcome.ends_with("server_error");
        let is_failure = answer.status.is_server_error() || may_be_refused;
        if !is_struck || !(is_failure || self.case.failures.contains(&&*outcome)) {
            self.faults.push(format!("{place}: {outcome} instead of {}", self.complete.outcome));
        }
    }

    /// Repeats the request, as a client without a response does.
    async fn repeat_request(&mut self, place: &str, wanted: &TestRequest) {
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        let Ok(answer) = timeout(REQUEST_TIMEOUT, self.place.world.send(wanted.request())).await else {
            self.faults.push(format!("{place}: the same request hangs"));
            return;
        };
        let outcome = outcome(&answer);
        if outcome != self.complete.outcome && !self.case.again.contains(&&*outcome) {
            self.faults.push(format!("{place}: requested again, {outcome}: {}", answer.text));
        }
    }

    pub(super) fn summary(&self) -> String {
        let Complete { outcome, written, steps } = &self.complete;
        let (route, variant) = (self.case.route, self.case.variant);
        format!(
            "{route} {variant}: {outcome}, {} steps, {} interruptions, {written:?}",
            steps.len(),
            self.interruptions
        )
    }
}

/// The status and code; for a redirect without a code, its parameters.
pub(super) fn outcome(answer: &Answer) -> String {
    let code = code(answer);
    let reported = if code.is_empty() && answer.status.is_redirection() {
        redirect_parameters(answer).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(",")
    } else {
        code
    };
    format!("{} {reported}", answer.status.as_u16()).trim_end().to_owned()
}

fn code(answer: &Answer) -> String {
    let of_body = ["error_code", "error"].into_iter().map(|name| answer.str(name)).find(|code| !code.is_empty());
    if let Some(code) = of_body {
        return code.to_owned();
    }
    let mut codes = redirect_parameters(answer).into_iter().filter(|(name, _)| matches!(*name, "error" | "error_code"));
    codes.next_back().map(|(_, code)| code.to_owned()).unwrap_or_default()
}

fn redirect_parameters(answer: &Answer) -> Vec<(&str, &str)> {
    answer.header("location").split(['?', '#', '&']).filter_map(|pair| pair.split_once('=')).collect()
}
