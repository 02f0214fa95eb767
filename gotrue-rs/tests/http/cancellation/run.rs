//! One request, interrupted at every place: what must hold after each interruption.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use gotrue_rs::journal::Step;
use gotrue_rs::testing::{Answer, WorldBuilder, dropped_at, dropped_when, out_of_time_at, written};
use tokio::time::timeout;

use super::asked::Asked;
use super::place::{PATIENCE, Place};

/// Brings a state about in which the request that is returned succeeds. The number is another each time.
pub type Arrange = for<'a> fn(&'a Place, usize) -> BoxFuture<'a, Asked>;

/// A row of the route table with a request that succeeds.
pub struct Case {
    /// Method and path as the route table has them.
    pub route: &'static str,
    /// Which of the route's requests this is.
    pub variant: &'static str,
    pub arrange: Arrange,
    /// How the world differs.
    pub differing: fn(WorldBuilder) -> WorldBuilder,
    /// How the same request may be refused once it was done: status and code.
    pub again: &'static [&'static str],
    /// What may stand when only some of its writes were done, because it deliberately commits in steps.
    pub steps: &'static [&'static [&'static str]],
    /// How a failing statement is answered where that is no 5xx, as recorded.
    pub failures: &'static [&'static str],
}

/// How a request is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
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

/// What a request does when nothing interrupts it.
struct Complete {
    outcome: String,
    written: Vec<String>,
    steps: Vec<Step>,
}

/// What came of one interruption.
struct Interruption {
    /// How many steps the request had taken.
    steps: usize,
    /// Whether it was interrupted at all.
    is_struck: bool,
    /// Whether the state is as it was.
    is_unchanged: bool,
}

/// A case while it runs.
pub struct Run<'c> {
    case: &'c Case,
    place: Place,
    arranged: usize,
    writes: usize,
    complete: Complete,
    /// How many steps had been taken at each wait, as far as it is known.
    waits: BTreeMap<usize, usize>,
    pub interruptions: usize,
    pub faults: Vec<String>,
}

impl<'c> Run<'c> {
    pub async fn new(case: &'c Case) -> Self {
        let place = Place::new(case.differing).await;
        let complete = Complete { outcome: String::new(), written: Vec::new(), steps: Vec::new() };
        let (waits, faults) = (BTreeMap::new(), Vec::new());
        let mut run = Self { case, place, arranged: 0, writes: 0, complete, waits, interruptions: 0, faults };
        let asked = run.arrange().await;
        let before = run.place.ledger.rows().await;
        let answer = run.place.world.send(asked.request()).await;
        assert!(
            answer.status.as_u16() < 400 && code(&answer).is_empty(),
            "{} {}: {} {}",
            case.route,
            case.variant,
            outcome(&answer),
            answer.text
        );
        let steps = run.place.world.journal().steps();
        run.place.ledger.rest(&run.place.world.app.pool).await.expect("at rest");
        let written = written(&before, &run.place.ledger.rows().await);
        run.complete = Complete { outcome: outcome(&answer), written, steps };
        run
    }

    async fn arrange(&mut self) -> Asked {
        self.arranged += 1;
        // Whoever asked before has waited long enough to ask again.
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        let asked = (self.case.arrange)(&self.place, self.arranged).await;
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        asked
    }

    /// Interrupts the request at every place of that kind.
    pub async fn all(&mut self, blow: Blow) {
        if matches!(blow, Blow::Panic | Blow::Fail) {
            return self.at_every_step(blow, blow == Blow::Panic).await;
        }
        let mut reached = BTreeSet::new();
        self.at_every_wait(blow, &mut reached).await;
        if blow == Blow::Drop {
            self.after_missed(reached).await;
        }
    }

    /// How often a request waits is not the same each time: what the database or others have answered already is not
    /// waited for. The statements that were left out are waited for by themselves.
    async fn after_missed(&mut self, mut reached: BTreeSet<usize>) {
        for _ in 0..10 {
            for step in self.missed(&reached) {
                let asked = self.arrange().await;
                let Interruption { steps, is_struck, .. } = self.once(Blow::DropAfter, step, &asked).await;
                if is_struck {
                    reached.insert(steps);
                }
            }
        }
        // A database that answers at once, try after try, is not waited for; the same statement is dropped in other cases.
        let (missed, all) = (self.missed(&reached), self.missed(&BTreeSet::new()));
        if missed.len() * 2 > all.len() {
            let steps: Vec<_> = missed.iter().map(|step| self.complete.steps[step - 1]).collect();
            self.faults.push(format!("never dropped in {steps:?}"));
        }
    }

    /// Interrupts it at every statement, or, where that is by waits, wherever a transaction begins or ends.
    pub async fn some(&mut self, blow: Blow) {
        if blow == Blow::Panic {
            return self.at_every_step(blow, false).await;
        }
        let last = |steps: usize| steps.checked_sub(1).and_then(|at| self.complete.steps.get(at));
        let is_transaction = |steps: usize| matches!(last(steps), Some(Step::Transaction(_)));
        let waits = self.waits.iter().filter(|(_, steps)| is_transaction(**steps));
        let waits: Vec<usize> = waits.map(|(n, _)| *n).collect();
        let mut asked = self.arrange().await;
        for n in waits {
            if !self.once(blow, n, &asked).await.is_unchanged {
                asked = self.arrange().await;
            }
        }
    }

    async fn at_every_step(&mut self, blow: Blow, are_others_meant: bool) {
        let mut asked = self.arrange().await;
        for (at, step) in self.complete.steps.clone().into_iter().enumerate() {
            let can_fail = matches!(step, Step::Statement(_) | Step::Transaction("BEGIN" | "COMMIT"));
            if (are_others_meant || can_fail) && !self.once(blow, at + 1, &asked).await.is_unchanged {
                asked = self.arrange().await;
            }
        }
    }

    async fn at_every_wait(&mut self, blow: Blow, reached: &mut BTreeSet<usize>) {
        let mut asked = self.arrange().await;
        for n in 1..1000 {
            let Interruption { steps, is_struck, is_unchanged } = self.once(blow, n, &asked).await;
            if !is_struck {
                return;
            }
            reached.insert(steps);
            self.waits.insert(n, steps);
            if !is_unchanged {
                asked = self.arrange().await;
            }
        }
        self.faults.push(format!("{blow:?}: the request does not end"));
    }

    /// The numbers of the statements in which no interruption has struck.
    fn missed(&self, reached: &BTreeSet<usize>) -> Vec<usize> {
        let steps = self.complete.steps.iter().zip(1..);
        let statements = steps.filter(|(step, _)| matches!(step, Step::Statement(_) | Step::Transaction(_)));
        statements.map(|(_, number)| number).filter(|number| !reached.contains(number)).collect()
    }

    /// Interrupts once.
    async fn once(&mut self, blow: Blow, n: usize, asked: &Asked) -> Interruption {
        self.interruptions += 1;
        if matches!(blow, Blow::Drop | Blow::DropAfter | Blow::Deadline) {
            // With a connection that knows no statement yet, so that the n-th wait is the same each time.
            let renewed = self.place.ledger.renew(&self.place.world.app.pool).await;
            renewed.unwrap_or_else(|said| panic!("{} {}, {blow:?} {n}: {said}", self.case.route, self.case.variant));
        }
        let before = self.place.ledger.rows().await;
        let (answer, is_struck) = self.strike(blow, n, asked).await;
        let steps = self.place.world.journal().steps();
        let place = format!("{blow:?} {n} (last step {:?})", steps.last());
        let rested = self.place.ledger.rest(&self.place.world.app.pool).await;
        rested.unwrap_or_else(|said| panic!("{} {}, {place}: {said}", self.case.route, self.case.variant));
        let changes = written(&before, &self.place.ledger.rows().await);
        let is_unchanged = changes.is_empty();
        self.judge(&place, answer.as_ref(), &changes, is_struck);
        self.writes += 1;
        if let Err(said) = self.place.write(self.writes).await {
            self.faults.push(format!("{place}: {said}"));
        }
        if !is_unchanged && is_struck {
            self.repeat(&place, asked).await;
        }
        Interruption { steps: steps.len(), is_struck, is_unchanged }
    }

    async fn strike(&self, blow: Blow, n: usize, asked: &Asked) -> (Option<Answer>, bool) {
        let world = &self.place.world;
        match blow {
            Blow::Drop => {
                let answer = dropped_at(n, world.send(asked.request())).await;
                let is_struck = answer.is_none();
                (answer, is_struck)
            }
            Blow::DropAfter => {
                let kept = world.app.journals.all().len();
                let is_now = || {
                    let journals = world.app.journals.all();
                    journals.get(kept).is_some_and(|journal| journal.steps().len() == n)
                };
                let answer = dropped_when(is_now, world.send(asked.request())).await;
                let is_struck = answer.is_none();
                (answer, is_struck)
            }
            Blow::Deadline => {
                let (answer, is_struck) = out_of_time_at(n, &world.clock, world.send(asked.request())).await;
                (Some(answer), is_struck)
            }
            Blow::Panic => {
                world.faults.panic_any(n);
                self.struck(asked).await
            }
            Blow::Fail => {
                world.faults.fail_any(n);
                self.struck(asked).await
            }
        }
    }

    async fn struck(&self, asked: &Asked) -> (Option<Answer>, bool) {
        let answer = timeout(PATIENCE, self.place.world.send(asked.request())).await.expect("an answer");
        (Some(answer), self.place.world.faults.clear() == 0)
    }

    fn judge(&mut self, place: &str, answer: Option<&Answer>, changes: &[String], is_struck: bool) {
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

    /// The client asks again, since it got no answer.
    async fn repeat(&mut self, place: &str, asked: &Asked) {
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        let Ok(answer) = timeout(PATIENCE, self.place.world.send(asked.request())).await else {
            self.faults.push(format!("{place}: the same request hangs"));
            return;
        };
        let outcome = outcome(&answer);
        if outcome != self.complete.outcome && !self.case.again.contains(&&*outcome) {
            self.faults.push(format!("{place}: asked again, {outcome}: {}", answer.text));
        }
    }

    pub fn summary(&self) -> String {
        let Complete { outcome, written, steps } = &self.complete;
        let (route, variant) = (self.case.route, self.case.variant);
        format!(
            "{route} {variant}: {outcome}, {} steps, {} interruptions, {written:?}",
            steps.len(),
            self.interruptions
        )
    }
}

/// Status and code; where a browser is sent on without a code, what is said to whoever it is sent to.
fn outcome(answer: &Answer) -> String {
    let code = code(answer);
    let said = if code.is_empty() && answer.status.is_redirection() {
        sent(answer).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(",")
    } else {
        code
    };
    format!("{} {said}", answer.status.as_u16()).trim_end().to_owned()
}

fn code(answer: &Answer) -> String {
    let of_body = ["error_code", "error"].into_iter().map(|name| answer.str(name)).find(|code| !code.is_empty());
    if let Some(code) = of_body {
        return code.to_owned();
    }
    let mut codes = sent(answer).into_iter().filter(|(name, _)| matches!(*name, "error" | "error_code"));
    codes.next_back().map(|(_, code)| code.to_owned()).unwrap_or_default()
}

/// What is in the address that a browser is sent to.
fn sent(answer: &Answer) -> Vec<(&str, &str)> {
    answer.header("location").split(['?', '#', '&']).filter_map(|pair| pair.split_once('=')).collect()
}
