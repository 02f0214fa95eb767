//! What one request did, in order: guards, decisions, statements, calls. Logs and tests read it; it costs a push each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

/// One thing that a request did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A guard of the route table was passed.
    Guard(&'static str),
    /// A rule came to this outcome.
    Decision(&'static str),
    /// A statement of this name was sent to the database.
    Statement(&'static str),
    /// `BEGIN` or `COMMIT`; not counted as statements.
    Transaction(&'static str),
    /// Something outside was called: mail, a hook, hashing.
    Call(&'static str),
}

/// What happens at a step where a test says so.
pub enum Fault {
    /// The statement is not sent and fails.
    Fail,
    /// The statement is not sent, as if the connection to the database had just been lost.
    Disconnect,
    /// The request panics.
    Panic,
    /// The statement is sent when this completes.
    Wait(BoxFuture<'static, ()>),
}

/// The faults that a test has in store for requests.
pub trait Faults: std::fmt::Debug + Send + Sync + 'static {
    /// What is to happen at this step, which is about to be taken.
    fn strike(&self, step: Step) -> Option<Fault>;
}

/// A step was made to fail.
#[derive(Debug, thiserror::Error)]
pub enum Struck {
    /// By [`Fault::Fail`].
    #[error("a fault struck")]
    Failed,
    /// By [`Fault::Disconnect`].
    #[error("the connection was lost")]
    Disconnected,
}

/// The steps of one request.
#[derive(Debug, Default)]
pub struct Journal {
    steps: Mutex<Vec<Step>>,
    has_lost_database: AtomicBool,
    faults: Option<Arc<dyn Faults>>,
}

impl Journal {
    /// A journal of a request that faults may strike: for tests.
    pub fn with_faults(faults: Arc<dyn Faults>) -> Self {
        Self { faults: Some(faults), ..Self::default() }
    }

    /// Writes a step down.
    pub fn note(&self, step: Step) {
        self.write(step);
        if let Some(Fault::Panic) = self.fault(step) {
            panic!("a fault struck at {step:?}");
        }
    }

    /// Writes down a step that is about to be taken, and that a fault may keep from being taken.
    pub async fn reach(&self, step: Step) -> Result<(), Struck> {
        self.write(step);
        match self.fault(step) {
            None => Ok(()),
            Some(Fault::Fail) => Err(Struck::Failed),
            Some(Fault::Disconnect) => Err(Struck::Disconnected),
            Some(Fault::Panic) => panic!("a fault struck at {step:?}"),
            Some(Fault::Wait(until)) => {
                until.await;
                Ok(())
            }
        }
    }

    fn write(&self, step: Step) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    fn fault(&self, step: Step) -> Option<Fault> {
        self.faults.as_ref()?.strike(step)
    }

    /// Records that a statement failed because the database cannot be used.
    pub fn note_lost_database(&self) {
        self.has_lost_database.store(true, Ordering::Relaxed);
    }

    /// Whether a statement failed because the database cannot be used: any refusal after that is a consequence.
    pub fn has_lost_database(&self) -> bool {
        self.has_lost_database.load(Ordering::Relaxed)
    }

    /// All steps so far.
    pub fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of the statements so far, without `BEGIN` and `COMMIT`.
    pub fn statements(&self) -> Vec<&'static str> {
        let statement = |step| if let Step::Statement(name) = step { Some(name) } else { None };
        self.steps().into_iter().filter_map(statement).collect()
    }
}
