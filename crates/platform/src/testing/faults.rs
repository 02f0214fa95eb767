//! Fault injection: a fault at the n-th step of a name, or a stop at every step.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use tokio::sync::{Semaphore, watch};

use crate::journal::{Fault, FaultInjector, Step};

/// The planned faults. Each happens once.
#[derive(Debug, Default)]
pub struct FaultPlan {
    planned: Mutex<Vec<Planned>>,
    stepper: Mutex<Option<Arc<Stepper>>>,
}

#[derive(Debug)]
struct Planned {
    target: Target,
    /// The number of matching steps before the fault.
    skipped: usize,
    kind: Kind,
}

/// The steps that a fault counts.
#[derive(Debug)]
enum Target {
    /// Steps with this name.
    Step(&'static str),
    /// Statements, `BEGIN` and `COMMIT`.
    AnyStatement,
    /// Every step.
    AnyStep,
}

impl Target {
    fn matches(&self, step: Step) -> bool {
        let (Step::Statement(name)
        | Step::Transaction(name)
        | Step::Call(name)
        | Step::Guard(name)
        | Step::Decision(name)) = step;
        match self {
            Self::Step(named) => *named == name,
            Self::AnyStatement => matches!(step, Step::Statement(_) | Step::Transaction("BEGIN" | "COMMIT")),
            Self::AnyStep => true,
        }
    }
}

#[derive(Debug)]
enum Kind {
    Fail,
    Disconnect,
    Panic,
    Wait(Arc<Gate>),
}

impl FaultPlan {
    /// The `n`-th step of that name from now on (1: the next) fails.
    pub fn fail(&self, name: &'static str, n: usize) {
        self.plan(Target::Step(name), n, Kind::Fail);
    }

    /// Makes the `n`-th step from now on (1: the next) fail if it is a statement, `BEGIN` or `COMMIT`.
    pub fn fail_any(&self, n: usize) {
        self.plan(Target::AnyStep, n, Kind::Fail);
    }

    /// The `n`-th step of any kind from now on panics.
    pub fn panic_any(&self, n: usize) {
        self.plan(Target::AnyStep, n, Kind::Panic);
    }

    /// Removes the faults that have not happened and returns their number.
    pub fn clear_pending(&self) -> usize {
        std::mem::take(&mut *self.planned.lock().unwrap_or_else(PoisonError::into_inner)).len()
    }

    /// The connection is lost at the `n`-th statement from now on, `BEGIN` and `COMMIT` included.
    pub fn disconnect(&self, n: usize) {
        self.plan(Target::AnyStatement, n, Kind::Disconnect);
    }

    /// The `n`-th step of that name from now on panics.
    pub fn panic(&self, name: &'static str, n: usize) {
        self.plan(Target::Step(name), n, Kind::Panic);
    }

    /// The `n`-th step of that name from now on waits at the gate.
    pub fn wait(&self, name: &'static str, n: usize) -> Arc<Gate> {
        let gate = Arc::new(Gate::default());
        self.plan(Target::Step(name), n, Kind::Wait(gate.clone()));
        gate
    }

    /// The `n`-th statement from now on, `BEGIN` and `COMMIT` included, waits at the gate.
    pub fn wait_any(&self, n: usize) -> Arc<Gate> {
        let gate = Arc::new(Gate::default());
        self.plan(Target::AnyStatement, n, Kind::Wait(gate.clone()));
        gate
    }

    /// Makes requests stop before every statement, `BEGIN` and `COMMIT` until the stepper resumes them.
    pub fn step_by_step(&self) -> Arc<Stepper> {
        let stepper = Arc::new(Stepper::default());
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = Some(stepper.clone());
        stepper
    }

    /// Makes requests stop nowhere, which is the default.
    pub fn run_freely(&self) {
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn stop(&self, step: Step) -> Option<Fault> {
        let (Step::Statement(name) | Step::Transaction(name)) = step else { return None };
        if name == "ROLLBACK" {
            return None;
        }
        let stepper = self.stepper.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(Fault::Wait(async move { stepper.stop(name).await }.boxed()))
    }

    fn plan(&self, target: Target, n: usize, kind: Kind) {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).push(Planned {
            target,
            skipped: n.max(1) - 1,
            kind,
        });
    }
}

impl FaultInjector for FaultPlan {
    fn fault_at(&self, step: Step) -> Option<Fault> {
        let mut plan = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut struck = None;
        for (at, planned) in plan.iter_mut().enumerate().filter(|(_, planned)| planned.target.matches(step)) {
            match planned.skipped.checked_sub(1) {
                Some(left) => planned.skipped = left,
                None => struck = struck.or(Some(at)),
            }
        }
        let Some(struck) = struck else { return self.stop(step) };
        let planned = plan.remove(struck);
        Some(match planned.kind {
            Kind::Fail => Fault::Fail,
            Kind::Disconnect => Fault::Disconnect,
            Kind::Panic => Fault::Panic,
            Kind::Wait(gate) => Fault::Wait(async move { gate.pass().await }.boxed()),
        })
    }
}

/// A point where a request waits until the test opens it.
#[derive(Debug)]
pub struct Gate {
    is_open: watch::Sender<bool>,
    is_reached: watch::Sender<bool>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { is_open: watch::Sender::new(false), is_reached: watch::Sender::new(false) }
    }
}

impl Gate {
    /// Lets the waiting request continue.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// Completes when a request waits at the gate.
    pub async fn wait_until_reached(&self) {
        let _ = self.is_reached.subscribe().wait_for(|is_reached| *is_reached).await;
    }

    async fn pass(&self) {
        self.is_reached.send_replace(true);
        let _ = self.is_open.subscribe().wait_for(|is_open| *is_open).await;
    }
}

/// Stops the only running request of a world at each of its steps.
#[derive(Debug)]
pub struct Stepper {
    stopped_at: watch::Sender<Option<&'static str>>,
    permits: Semaphore,
}

impl Default for Stepper {
    fn default() -> Self {
        Self { stopped_at: watch::Sender::new(None), permits: Semaphore::new(0) }
    }
}

impl Stepper {
    /// The step before which the request is stopped; `None` while it runs.
    pub fn stopped_at(&self) -> Option<&'static str> {
        *self.stopped_at.borrow()
    }

    /// Completes when the request is stopped before a step.
    pub async fn wait_until_stopped(&self) {
        let _ = self.stopped_at.subscribe().wait_for(Option::is_some).await;
    }

    /// Lets the request take the step before which it is stopped.
    pub fn resume(&self) {
        self.stopped_at.send_replace(None);
        self.permits.add_permits(1);
    }

    async fn stop(&self, name: &'static str) {
        self.stopped_at.send_replace(Some(name));
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }
}
