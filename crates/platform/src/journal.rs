//! The steps of one request in order: guards, decisions, statements, calls.
//!
//! Logs and tests read them; a step costs one push.

mod trace;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foundation::error::{Error, ErrorKind};
use foundation::explanation::DecisionRecord;
use futures::future::BoxFuture;

pub use self::trace::{EndedSessions, Fact, FactCondition, FactKind, SecretDigest, Trace, TracedStatement};

/// The maximum number of decision records of one request.
const MAX_DECISIONS: usize = 20;

/// One step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A guard of the route table ran.
    Guard(&'static str),
    /// A rule returned this outcome.
    Decision(&'static str),
    /// The statement of this name was sent to the database.
    Statement(&'static str),
    /// `BEGIN` or `COMMIT`; not counted as a statement.
    Transaction(&'static str),
    /// An external operation started: mail, a hook, hashing.
    Call(&'static str),
}

/// A fault that a test injects at a step.
pub enum Fault {
    /// The statement is not sent and fails.
    Fail,
    /// The statement is not sent, as if the connection to the database had just been lost.
    Disconnect,
    /// The statement is not sent, as if the database had rejected it with this SQLSTATE.
    Reject(&'static str),
    /// The request panics.
    Panic,
    /// The statement is sent when this completes.
    Wait(BoxFuture<'static, ()>),
}

/// Injects faults into requests, for tests and test environments.
pub trait FaultInjector: std::fmt::Debug + Send + Sync + 'static {
    /// The fault to inject at this step, which is about to run.
    fn fault_at(&self, step: Step) -> Option<Fault>;
}

/// The error of a step that an injected fault stopped.
#[derive(Debug, thiserror::Error)]
pub enum InjectedError {
    /// Caused by [`Fault::Fail`].
    #[error("injected fault")]
    Failed,
    /// Caused by [`Fault::Disconnect`].
    #[error("the connection was lost")]
    Disconnected,
    /// Caused by [`Fault::Reject`].
    #[error("injected fault with the SQLSTATE {0}")]
    Rejected(&'static str),
}

/// The steps of one request.
#[derive(Debug, Default)]
pub struct Journal {
    steps: Mutex<Vec<Step>>,
    has_lost_database: AtomicBool,
    faults: Option<Arc<dyn FaultInjector>>,
    decisions: Mutex<Vec<DecisionRecord>>,
    redirected_error: Mutex<Option<RedirectedError>>,
    trace: Option<Mutex<Trace>>,
    route: OnceLock<Arc<str>>,
}

/// An error that the client receives in the URL of a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectedError {
    /// The error code.
    pub code: String,
    /// The status that an error response would have.
    pub status: u16,
    /// The public message.
    pub message: String,
}

impl RedirectedError {
    /// Returns code, status and message of an error.
    pub fn new(error: &Error) -> Self {
        let code = match &error.kind {
            ErrorKind::OAuth { error, .. } => error.to_string(),
            _ => error.code().as_str().to_owned(),
        };
        Self { code, status: error.status(), message: error.message().to_owned() }
    }
}

impl Journal {
    /// A journal with injected faults; for tests and test environments.
    pub fn with_faults(faults: Arc<dyn FaultInjector>) -> Self {
        Self { faults: Some(faults), ..Self::default() }
    }

    /// Records a step that cannot fail.
    pub fn record(&self, step: Step) {
        self.push(step);
        if let Some(Fault::Panic) = self.fault(step) {
            panic!("injected fault at {step:?}");
        }
    }

    /// Records a step that is about to run and can be stopped by an injected fault.
    ///
    /// # Errors
    ///
    /// Returns the error of the injected fault.
    pub async fn record_fallible(&self, step: Step) -> Result<(), InjectedError> {
        self.push(step);
        match self.fault(step) {
            None => Ok(()),
            Some(Fault::Fail) => Err(InjectedError::Failed),
            Some(Fault::Disconnect) => Err(InjectedError::Disconnected),
            Some(Fault::Reject(sqlstate)) => Err(InjectedError::Rejected(sqlstate)),
            Some(Fault::Panic) => panic!("injected fault at {step:?}"),
            Some(Fault::Wait(until)) => {
                until.await;
                Ok(())
            }
        }
    }

    fn push(&self, step: Step) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    fn fault(&self, step: Step) -> Option<Fault> {
        self.faults.as_ref()?.fault_at(step)
    }

    /// Records that a statement failed because the database is unavailable.
    pub fn record_database_loss(&self) {
        self.has_lost_database.store(true, Ordering::Relaxed);
    }

    /// Whether a statement failed because the database is unavailable. Any later error is a consequence.
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

    /// Also records the details of the request.
    #[must_use]
    pub fn with_trace(self) -> Self {
        Self { trace: Some(Mutex::default()), ..self }
    }

    /// Whether the details of the request are recorded, which is so in development only.
    ///
    /// Work that differs between known and unknown accounts is done only then.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Reads or changes the details of the request, if they are recorded.
    pub fn trace<R>(&self, apply: impl FnOnce(&mut Trace) -> R) -> Option<R> {
        let trace = self.trace.as_ref()?;
        Some(apply(&mut trace.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Records the template of the route that was matched.
    pub fn record_route(&self, template: &Arc<str>) {
        let _ = self.route.set(Arc::clone(template));
    }

    /// The template of the route, if one was matched.
    pub fn route(&self) -> Option<&Arc<str>> {
        self.route.get()
    }

    /// Records a decision; of a refused request the last refusal counts.
    pub fn record_decision(&self, decision: DecisionRecord) {
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        if decisions.len() < MAX_DECISIONS {
            decisions.push(decision);
        }
    }

    /// The number of decisions so far.
    pub fn count_decisions(&self) -> usize {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Removes the decisions after the first `count`, which did not decide about the request.
    pub fn remove_decisions_after(&self, count: usize) {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).truncate(count);
    }

    /// All decisions so far.
    pub fn decisions(&self) -> Vec<DecisionRecord> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records an error that the client receives in the URL of a redirect.
    pub fn record_redirected_error(&self, error: &Error) {
        let redirected = Some(RedirectedError::new(error));
        *self.redirected_error.lock().unwrap_or_else(PoisonError::into_inner) = redirected;
    }

    /// The error that the client receives in the URL of a redirect.
    pub fn redirected_error(&self) -> Option<RedirectedError> {
        self.redirected_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
