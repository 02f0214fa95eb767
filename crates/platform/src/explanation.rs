//! Explains to developers why a request was refused; a client learns no more than its response says.
//!
//! Every refusal is one log line. In development its explanation is stored, and the response links to it.

mod edge;
pub mod history;
mod report;
mod store;

use std::sync::Arc;

use foundation::explanation::{DecisionEffect, DecisionRecord};
use serde_json::json;

pub use self::edge::{EXPLAIN_HEADER, EdgeRefusal, explain_preflight, insert_link};
use self::history::{History, RequestRef};
use self::report::Report;
pub use self::report::{ExplainedRequest, RefusedResponse, SettingLocation, SettingNames};
pub use self::store::{EXPLANATION_PATH, ExplanationStore};
use crate::events::{EventKind, EventLog, NewEvent};
use crate::journal::{Fact, Journal};

/// Where explanations and events of a backend go. By default refusals are logged, and nothing is kept.
#[derive(Debug, Clone, Default)]
pub struct Explanations {
    names: Option<Arc<dyn SettingNames>>,
    store: Option<Arc<ExplanationStore>>,
    events: Option<EventLog>,
}

impl Explanations {
    /// Names settings by the configuration of the operator instead of by their variables.
    #[must_use]
    pub fn with_names(self, names: Arc<dyn SettingNames>) -> Self {
        Self { names: Some(names), ..self }
    }

    /// Keeps explanations in this store and links to them; for development only.
    #[must_use]
    pub fn with_store(self, store: Arc<ExplanationStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Records events in this log.
    #[must_use]
    pub fn with_events(self, events: EventLog) -> Self {
        Self { events: Some(events), ..self }
    }

    /// The store of explanations, if there is one.
    pub fn store(&self) -> Option<&Arc<ExplanationStore>> {
        self.store.as_ref()
    }

    /// The log of events, if there is one.
    pub fn events(&self) -> Option<&EventLog> {
        self.events.as_ref()
    }

    /// What became of secrets and sessions, if explanations are kept.
    pub fn history(&self) -> Option<&History> {
        self.store.as_deref().map(ExplanationStore::history)
    }

    /// Whether the journals of requests record their details.
    pub fn needs_trace(&self) -> bool {
        self.store.is_some() || self.events.is_some()
    }

    /// Creates the journal of a request outside the auth API.
    pub fn start_journal(&self) -> Arc<Journal> {
        Arc::new(if self.needs_trace() { Journal::default().with_trace() } else { Journal::default() })
    }

    /// Logs and stores why a request was refused or adjusted, and records its events.
    ///
    /// Returns the link to the explanation; `None` if nothing is to be explained, or explanations are not kept.
    pub fn finish_request(&self, request: &ExplainedRequest<'_>, journal: &Journal) -> Option<String> {
        let decisions = journal.decisions();
        let refused = request.refused(journal);
        if refused.is_none() && decisions.is_empty() && !self.needs_trace() {
            return None;
        }
        for adjusted in decisions.iter().filter(|decision| decision.effect == DecisionEffect::Adjusted) {
            self.log_adjustment(request, adjusted);
        }
        let report = Report::new(request, journal, refused, &decisions, self.names.as_deref());
        report.log_refusal();
        let link = self.explain(&report);
        if self.needs_trace() {
            self.record_facts(request, journal, report.is_refused());
            self.record_request(request, journal);
        }
        link
    }

    /// Logs and stores the decision that refused a request before a service handled it.
    ///
    /// Returns the link to the explanation, if explanations are kept.
    pub fn explain_decision(&self, refusal: &EdgeRefusal<'_>, decision: DecisionRecord) -> Option<String> {
        let journal = self.start_journal();
        journal.record_decision(decision);
        let request = ExplainedRequest {
            id: refusal.id,
            method: refusal.method,
            path: refusal.path,
            status: refusal.status,
            error: Some(RefusedResponse { code: refusal.code, message: refusal.message }),
            now: refusal.now,
            finished_at: refusal.now,
            client: None,
            user_agent: None,
        };
        self.finish_request(&request, &journal)
    }

    fn log_adjustment(&self, request: &ExplainedRequest<'_>, adjusted: &DecisionRecord) {
        let setting = report::name_setting(self.names.as_deref(), adjusted.setting.as_deref());
        let remedy = adjusted.remedy.as_deref().map(|remedy| report::fill_setting(remedy, setting.as_deref()));
        tracing::info!(
            request.id = request.id,
            decision = adjusted.name,
            setting = setting.as_deref(),
            value = adjusted.value.as_deref(),
            remedy = remedy.as_deref(),
            "requested value not used"
        );
    }

    /// Stores the explanation and records its event; returns the link.
    fn explain(&self, report: &Report<'_>) -> Option<String> {
        if !report.has_content() || !self.needs_trace() {
            return None;
        }
        let explanation = report.to_json();
        if let Some(events) = &self.events {
            let data = json!({
                "code": explanation["code"],
                "status": explanation["request"]["status"],
                "decision": explanation["decision"]["name"],
                "reason": explanation["decision"]["reason"],
                "setting": explanation["setting"]["name"],
                "remedy": explanation["remedy"],
            });
            events.record(&report.new_event(EventKind::Decision, data));
        }
        self.store.as_ref().map(|store| store.insert(explanation))
    }

    fn record_facts(&self, request: &ExplainedRequest<'_>, journal: &Journal, is_refused: bool) {
        let facts = journal.trace(|trace| trace.facts(is_refused)).unwrap_or_default();
        if facts.is_empty() {
            return;
        }
        let by = Arc::new(RequestRef {
            id: request.id.to_owned(),
            route: request.route(journal),
            at: request.now,
            client: request.client,
            user_agent: request.user_agent.map(str::to_owned),
        });
        for fact in facts {
            if let Some(history) = self.history() {
                history.record(&fact, &by);
            }
            if let Some(events) = &self.events
                && let Some(event) = fact_event(request, journal, fact)
            {
                events.record(&event);
            }
        }
    }

    fn record_request(&self, request: &ExplainedRequest<'_>, journal: &Journal) {
        let Some(events) = &self.events else { return };
        let data = json!({
            "method": request.method,
            "route": journal.trace(|trace| trace.route.clone()).flatten(),
            "status": request.status,
            "duration_ms": report::to_milliseconds((request.finished_at - request.now).to_std().unwrap_or_default()),
        });
        events.record(&request.new_event(journal, EventKind::Request, data));
    }
}

/// The event of a fact; `None` for facts that are not reported.
fn fact_event(request: &ExplainedRequest<'_>, journal: &Journal, fact: Fact) -> Option<NewEvent> {
    match fact {
        Fact::Audit { at, payload } => {
            let actor = payload["actor_id"].as_str().and_then(|id| id.parse().ok());
            let event = request.new_event(journal, EventKind::Audit, payload);
            Some(NewEvent { at, user_id: actor.or(event.user_id), ..event })
        }
        Fact::Message { channel, kind, to, subject } => {
            let data = json!({ "channel": channel, "kind": kind, "to": to, "subject": subject });
            Some(request.new_event(journal, EventKind::Message, data))
        }
        Fact::SessionsEnded(_) | Fact::SecretIssued { .. } | Fact::SecretUsed { .. } => None,
    }
}
