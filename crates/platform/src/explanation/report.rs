//! The report about one refused or adjusted request: a log line, and the JSON of an explanation.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use foundation::error::{ErrorCode, ErrorCodeSection, setting_of_code};
use foundation::explanation::{DecisionEffect, DecisionRecord};
use foundation::time::Time;
use serde_json::{Map, Value, json};

use crate::events::{EventKind, NewEvent};
use crate::journal::{Fact, Journal, Step};

/// Where the configuration sets a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLocation {
    /// The name in the configuration: `auth.additional_redirect_urls`.
    pub name: String,
    /// The file; `None` for a variable of the environment.
    pub file: Option<String>,
    /// The line, from 1; `None` if the file does not set it.
    pub line: Option<usize>,
    /// Whether a switch of the configuration means the opposite of the variable.
    pub is_negated: bool,
}

impl SettingLocation {
    /// Returns a value of the variable as the configuration writes it.
    fn show_value(&self, value: String) -> String {
        match value.as_str() {
            "true" if self.is_negated => "false".to_owned(),
            "false" if self.is_negated => "true".to_owned(),
            _ => value,
        }
    }
}

/// Names settings as the operator configures them.
pub trait SettingNames: fmt::Debug + Send + Sync + 'static {
    /// Finds where a variable such as `GOTRUE_URI_ALLOW_LIST` is set; `None` if only as a variable.
    fn locate(&self, variable: &str) -> Option<SettingLocation>;

    /// Replaces the variables in a sentence by the operator's names.
    fn rename(&self, sentence: &str) -> String;
}

/// A request and its response.
#[derive(Debug, Clone, Copy)]
pub struct ExplainedRequest<'a> {
    pub id: &'a str,
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The status of the response.
    pub status: u16,
    /// The error of the response, if it has one.
    pub error: Option<RefusedResponse<'a>>,
    /// The start by the clock of the backend.
    pub now: Time,
    /// The end by the same clock.
    pub finished_at: Time,
    /// The client's address.
    pub client: Option<IpAddr>,
    pub user_agent: Option<&'a str>,
}

/// The public part of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedResponse<'a> {
    /// The error code, if there is one.
    pub code: Option<&'a str>,
    pub message: &'a str,
}

/// Code, status and message of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    code: Option<String>,
    status: u16,
    message: Option<String>,
}

impl ExplainedRequest<'_> {
    /// Returns the refusal that the client received, as a response or in a URL.
    pub(super) fn refused(&self, journal: &Journal) -> Option<Refused> {
        if let Some(error) = self.error {
            let (code, message) = (error.code.map(str::to_owned), Some(error.message.to_owned()));
            return Some(Refused { code, status: self.status, message });
        }
        if let Some(error) = journal.redirected_error() {
            return Some(Refused { code: Some(error.code), status: error.status, message: Some(error.message) });
        }
        let is_refused = self.status >= 400;
        is_refused.then_some(Refused { code: None, status: self.status, message: None })
    }

    /// Returns method and path template.
    pub(super) fn route(&self, journal: &Journal) -> String {
        let route = journal.trace(|trace| trace.route.clone()).flatten();
        format!("{} {}", self.method, route.as_deref().unwrap_or("-"))
    }

    /// Returns an event of this request.
    pub(super) fn new_event(&self, journal: &Journal, kind: EventKind, data: Value) -> NewEvent {
        let user_id = journal.trace(|trace| trace.user_id).flatten();
        NewEvent { kind, at: self.finished_at, request_id: self.id.to_owned(), user_id, data }
    }
}

/// Returns the operator's name of a setting.
pub(super) fn name_setting(names: Option<&dyn SettingNames>, variable: Option<&str>) -> Option<String> {
    let variable = variable?;
    Some(names.and_then(|names| names.locate(variable)).map_or_else(|| variable.to_owned(), |found| found.name))
}

/// Replaces `{setting}` by the name of the setting.
pub(super) fn fill_setting(remedy: &str, name: Option<&str>) -> String {
    remedy.replace("{setting}", name.unwrap_or("the setting"))
}

/// The report about a request.
pub(super) struct Report<'a> {
    request: &'a ExplainedRequest<'a>,
    journal: &'a Journal,
    refused: Option<Refused>,
    decisions: &'a [DecisionRecord],
    names: Option<&'a dyn SettingNames>,
}

impl<'a> Report<'a> {
    /// Collects what is known about a request.
    pub(super) fn new(
        request: &'a ExplainedRequest<'a>,
        journal: &'a Journal,
        refused: Option<Refused>,
        decisions: &'a [DecisionRecord],
        names: Option<&'a dyn SettingNames>,
    ) -> Self {
        Self { request, journal, refused, decisions, names }
    }

    /// Whether the request was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Whether there is something to explain.
    pub(super) fn has_content(&self) -> bool {
        self.refused.is_some() || self.decision().is_some()
    }

    /// Returns an event of this request.
    pub(super) fn new_event(&self, kind: EventKind, data: Value) -> NewEvent {
        self.request.new_event(self.journal, kind, data)
    }

    /// Logs a refusal. Internal errors are logged where they are answered.
    pub(super) fn log_refusal(&self) {
        let Some(refused) = self.refused.as_ref().filter(|refused| refused.status < 500) else { return };
        let decision = self.decision();
        let setting = name_setting(self.names, self.setting().as_deref());
        let value = self.value();
        tracing::info!(
            request.id = self.request.id,
            status = refused.status,
            code = refused.code.as_deref(),
            decision = decision.map(|decision| decision.name),
            setting,
            value,
            remedy = self.remedy().as_deref(),
            "request refused"
        );
    }

    /// The decision that refused the request, or adjusted it.
    fn decision(&self) -> Option<&'a DecisionRecord> {
        let wanted = if self.is_refused() { DecisionEffect::Refused } else { DecisionEffect::Adjusted };
        self.decisions.iter().rev().find(|decision| decision.effect == wanted)
    }

    fn code(&self) -> Option<ErrorCode> {
        let code = self.refused.as_ref()?.code.as_deref()?;
        ErrorCode::SECTIONS.iter().flat_map(|section| section.codes).copied().find(|known| known.as_str() == code)
    }

    fn setting(&self) -> Option<String> {
        let recorded = self.decision().and_then(|decision| decision.setting.clone());
        let usual = || self.code().and_then(setting_of_code).map(|cause| cause.variable.into());
        recorded.or_else(usual).map(Cow::into_owned)
    }

    fn value(&self) -> Option<String> {
        let recorded = self.decision().and_then(|decision| decision.value.clone());
        let usual = || self.code().and_then(setting_of_code)?.value.map(str::to_owned);
        let value = recorded.or_else(usual)?;
        let location = self.names.zip(self.setting()).and_then(|(names, variable)| names.locate(&variable));
        Some(match location {
            Some(location) => location.show_value(value),
            None => value,
        })
    }

    fn remedy(&self) -> Option<String> {
        let recorded = self.decision().and_then(|decision| decision.remedy.clone());
        let remedy = recorded.map(Cow::into_owned).or_else(|| self.code().map(|code| code.cure().to_owned()))?;
        let remedy = fill_setting(&remedy, name_setting(self.names, self.setting().as_deref()).as_deref());
        Some(self.names.map_or_else(|| remedy.clone(), |names| names.rename(&remedy)))
    }

    /// Returns the explanation, without its id.
    pub(super) fn to_json(&self) -> Value {
        let request = self.request;
        let decision = self.decision();
        let other =
            self.decisions.iter().filter(|other| decision.is_none_or(|decisive| !std::ptr::eq(*other, decisive)));
        let reason = || self.code().map(|code| code.cause().to_owned());
        let mut explanation = json!({
            "at": request.now.to_rfc3339(),
            "request": {
                "id": request.id,
                "method": request.method,
                "path": request.path,
                "route": self.journal.trace(|trace| trace.route.clone()).flatten(),
                "status": request.status,
                "user_id": self.journal.trace(|trace| trace.user_id).flatten(),
            },
            "code": self.refused.as_ref().and_then(|refused| refused.code.clone()),
            "message": self.refused.as_ref().and_then(|refused| refused.message.clone()),
            "is_refused": self.is_refused(),
            "decision": {
                "name": decision.map(|decision| decision.name),
                "reason": decision.map(|decision| decision.reason.clone().into_owned()).or_else(reason),
                "inputs": decision.map_or_else(|| json!({}), inputs_json),
            },
            "decisions": other.map(decision_json).collect::<Vec<_>>(),
            "setting": self.setting_json(),
            "remedy": self.remedy(),
            "documentation": self.code().map(documentation_json),
        });
        self.add_steps(&mut explanation);
        explanation
    }

    fn setting_json(&self) -> Option<Value> {
        let variable = self.setting()?;
        let found = self.names.and_then(|names| names.locate(&variable));
        let location =
            found.unwrap_or(SettingLocation { name: variable.clone(), file: None, line: None, is_negated: false });
        Some(json!({
            "name": location.name,
            "variable": variable,
            "value": self.value(),
            "file": location.file,
            "line": location.line,
        }))
    }

    fn add_steps(&self, explanation: &mut Value) {
        let steps = self.journal.steps();
        let refusing = self.journal.trace(|trace| trace.refusing_guard).flatten();
        let guards = steps.iter().filter_map(|step| match step {
            Step::Guard(name) if Some(*name) != refusing => Some(*name),
            _ => None,
        });
        explanation["guards_passed"] = guards.collect();
        explanation["refusing_guard"] = json!(refusing);
        let calls = steps.iter().filter_map(|step| if let Step::Call(name) = step { Some(*name) } else { None });
        explanation["calls"] = calls.collect();
        let statements = self.journal.trace(|trace| trace.statements.clone()).unwrap_or_default();
        let statements = statements.iter().map(|statement| {
            json!({ "name": statement.name, "rows": statement.rows, "duration_ms": to_milliseconds(statement.duration), "error": statement.error })
        });
        explanation["statements"] = statements.collect();
        let facts = self.journal.trace(|trace| trace.facts(self.is_refused())).unwrap_or_default();
        let messages = facts.into_iter().filter_map(|fact| match fact {
            Fact::Message { channel, kind, to, subject } => {
                Some(json!({ "channel": channel, "kind": kind, "to": to, "subject": subject }))
            }
            _ => None,
        });
        explanation["messages"] = messages.collect();
    }
}

pub(super) fn to_milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn inputs_json(decision: &DecisionRecord) -> Value {
    let inputs = decision.inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Value::Object(inputs.collect::<Map<_, _>>())
}

fn decision_json(decision: &DecisionRecord) -> Value {
    json!({
        "name": decision.name,
        "reason": decision.reason,
        "setting": decision.setting,
        "value": decision.value,
        "inputs": inputs_json(decision),
        "remedy": decision.remedy.as_deref().map(|remedy| fill_setting(remedy, decision.setting.as_deref())),
    })
}

/// Returns the entry of `docs/errors.md`.
fn documentation_json(code: ErrorCode) -> Value {
    let contains = |section: &&ErrorCodeSection| section.codes.contains(&code);
    let section = ErrorCode::SECTIONS.iter().find(contains).map(|section| section.title.to_lowercase());
    let anchor = section.unwrap_or_default().replace(' ', "-");
    json!({ "file": format!("docs/errors.md#{anchor}"), "cause": code.cause(), "resolution": code.cure() })
}
