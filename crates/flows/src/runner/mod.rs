//! Replays one flow: sends its requests, compares responses and notes.

mod capture;
mod exact;
mod observe;
mod parallel;
mod request;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

pub(crate) use self::exact::{ExactRequest, send as send_exactly};
pub(crate) use self::observe::{CONTENT_HEADERS, ResponseParts, observe, observe_parts};
pub use self::observe::{RECORDED_HEADERS, ReceivedResponse};
pub(crate) use self::parallel::send_all;

use crate::FlowError;
use crate::compare::{Comparison, Difference, compare_values};
use crate::expressions::as_text;
use crate::format::{Action, Flow, HeaderComparison, RequestStep, Step};
use crate::sources::{Scope, resolve};

/// The outcome of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutcome {
    /// The number of the step in the file, from 0.
    pub number: usize,
    /// Its name.
    pub title: String,
    /// Where it differs from the recording.
    pub differences: Vec<Difference>,
    /// What was observed, for `--update`; `None` for steps without a recording.
    pub observed: Option<Value>,
}

/// What a replay of one flow found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowOutcome {
    /// The recorded steps that ran, in order.
    pub steps: Vec<StepOutcome>,
    /// Why it ended early: the step and the problem.
    pub error: Option<FlowError>,
}

impl FlowOutcome {
    /// Returns whether the flow ran to its end without a difference.
    pub fn is_success(&self) -> bool {
        self.error.is_none() && self.steps.iter().all(|step| step.differences.is_empty())
    }
}

/// Called before each request with its number; the upgrade replay changes the server here.
pub type BeforeStep<'a> = &'a (dyn Fn(usize) -> futures::future::BoxFuture<'a, Result<(), FlowError>> + Send + Sync);

/// Replays a flow.
///
/// A difference does not end it; a step that cannot run does.
pub async fn run_flow(flow: &Flow, scope: &Arc<Scope>, before_step: Option<BeforeStep<'_>>) -> FlowOutcome {
    let mut outcome = FlowOutcome::default();
    if flow.headers == HeaderComparison::Relevant {
        scope.hide_credentials();
    }
    if let Err(error) = generate_values(scope, &flow.values).await {
        outcome.error = Some(error.at("values"));
        return outcome;
    }
    let mut requests = 0;
    for (number, step) in flow.steps.iter().enumerate() {
        let prepared = match (&step.action, before_step) {
            (Action::Request(_), Some(before)) => {
                requests += 1;
                before(requests - 1).await
            }
            _ => Ok(()),
        };
        let ran = match prepared {
            Ok(()) => run_step(flow, step, scope).await,
            Err(error) => Err(error),
        };
        match ran {
            Ok(results) => {
                let title = step.title();
                outcome.steps.extend(results.into_iter().map(|(differences, observed)| StepOutcome {
                    number,
                    title: title.clone(),
                    differences,
                    observed: Some(observed),
                }));
            }
            Err(error) => {
                outcome.error = Some(error.at(&format!("step {number} ({})", step.title())));
                break;
            }
        }
    }
    outcome
}

/// Sends a request that prepares the server; it must succeed.
pub(crate) async fn send_setup(step: &RequestStep, scope: &Arc<Scope>) -> Result<(), FlowError> {
    let prepared = request::prepare(step, scope).await?;
    let response = request::send(&prepared, scope).await?;
    request::check_setup(step, &response)
}

/// The differences of a recorded step, and what was observed.
type Compared = Vec<(Vec<Difference>, Value)>;

async fn run_step(flow: &Flow, step: &Step, scope: &Arc<Scope>) -> Result<Compared, FlowError> {
    match &step.action {
        Action::Request(request) => run_request(flow, request, scope).await,
        Action::Note { value, expect, is_subset } => {
            let value = resolve(scope, value, 0).await?;
            let now = scope.now();
            let observed = scope.symbols().value(&value, "", now);
            Ok(vec![(compare_values(expect, &observed, *is_subset), observed)])
        }
        Action::Set(names) => {
            set_variables(scope, names).await?;
            Ok(Vec::new())
        }
        Action::Values(names) => {
            generate_values(scope, names).await?;
            Ok(Vec::new())
        }
        Action::Do(calls) => {
            for call in calls {
                resolve(scope, call, 0).await?;
            }
            Ok(Vec::new())
        }
        Action::Pause(seconds) => {
            tokio::time::sleep(Duration::from_secs_f64(*seconds)).await;
            Ok(Vec::new())
        }
        Action::Advance(by) => {
            advance(scope, by).await?;
            Ok(Vec::new())
        }
        Action::Learn(names) => {
            for (name, value) in names {
                let value = resolve(scope, value, 0).await?;
                scope.symbols().learn(&as_text(&value), name);
            }
            Ok(Vec::new())
        }
    }
}

async fn run_request(flow: &Flow, step: &RequestStep, scope: &Arc<Scope>) -> Result<Compared, FlowError> {
    let mut results = Vec::new();
    for _ in 0..step.repeat.max(1) {
        let prepared = request::prepare(step, scope).await?;
        let now = scope.now();
        let response = request::send(&prepared, scope).await?;
        scope.symbols().allow_time(scope.now());
        match &step.expect {
            None => {
                request::check_setup(step, &response)?;
                if let Some(body) = response.json() {
                    scope.symbols().learn_times(&body, now);
                }
            }
            Some(expect) => {
                let observed = {
                    let mut symbols = scope.symbols();
                    request::show(&prepared, &mut symbols, now);
                    observe(&response, step.service, &mut symbols, now)
                };
                let comparison = Comparison { headers: flow.headers, is_subset: step.is_subset };
                results.push((crate::compare::compare_responses(expect, &observed, comparison), observed));
            }
        }
        // What a note shows may have come with this request.
        scope.symbols().allow_time(now);
        capture::capture(step, &response, scope)?;
    }
    Ok(results)
}

async fn set_variables(scope: &Scope, names: &Map<String, Value>) -> Result<(), FlowError> {
    for (name, value) in names {
        let value = match scope.given(name) {
            Some(given) => given.clone(),
            None => resolve(scope, value, 0).await.map_err(|error| error.at(name))?,
        };
        scope.set(name, value);
    }
    Ok(())
}

/// Sets variables from sources and shows them by their names.
async fn generate_values(scope: &Scope, names: &Map<String, Value>) -> Result<(), FlowError> {
    for (name, call) in names {
        let value = match (scope.given(name), call.as_object().filter(|call| call.len() == 1)) {
            (Some(given), _) => given.clone(),
            (None, Some(call)) => {
                let call: Map<String, Value> =
                    call.iter().map(|(name, arguments)| (format!("@{name}"), arguments.clone())).collect();
                resolve(scope, &Value::Object(call), 0).await.map_err(|error| error.at(name))?
            }
            (None, None) => {
                let hint = "write {\"email\": \"ann\"} or another source with its arguments";
                return Err(FlowError::new(format!("{name}: a call of a source is wanted"), hint));
            }
        };
        match &value {
            Value::String(text) => scope.symbols().learn(text, name),
            Value::Number(number) => scope.symbols().learn_number(number, name),
            _ => {}
        }
        scope.set(name, value);
    }
    Ok(())
}

async fn advance(scope: &Scope, by: &Value) -> Result<(), FlowError> {
    let api = scope.target.test_api.as_ref().ok_or_else(|| {
        FlowError::new(
            "the clock of this server cannot be changed",
            "replay against a test server: this flow lets time pass",
        )
    })?;
    let clock = api.call("POST", "/clock", Some(&serde_json::json!({ "advance": by }))).await?;
    let now = clock["now"].as_str().and_then(|now| chrono::DateTime::parse_from_rfc3339(now).ok());
    if let Some(now) = now {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
        scope.set_now(now.timestamp_millis() as f64 / 1000.0);
    }
    Ok(())
}
