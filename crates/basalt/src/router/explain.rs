//! Explains what the router itself refuses: API keys, preflights and services that are not served.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use foundation::explanation::DecisionRecord;
use gotrue_rs::app::App;
use gotrue_rules::domain::explanation::tokens::explain_token;
use http::Method;
use http_edge::request::{REQUEST_ID, cors, requested_path};
use platform::explanation::{self, EdgeRefusal, ExplainedRequest, RefusedResponse, insert_link};
use postgrest_rs::error::Error;
use postgrest_rs::service::explanation::{Cause, Explanation, Policy};
use storage_rs::error::policy_refusal::PolicyRefusal;

use crate::api_keys::{PresentedKey, SECRET_PREFIX};

/// What API keys look like that are none.
const EMPTY_KEY: &str = "empty key";
const UNKNOWN_KEY: &str = "unknown form of key";

/// Explains refusals of the router by the settings of the auth API.
#[derive(Default)]
pub(crate) struct RouterExplanations(Option<Arc<App>>);

impl RouterExplanations {
    /// Explains as this application does.
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self(Some(app))
    }

    /// Explains a request without an API key.
    pub(super) fn missing_key(&self, request: &Request, response: Response) -> Response {
        let decision = || {
            DecisionRecord::refused("api_key.missing", "The request has no API key.")
                .with_remedy("Send a key of `basalt status` in the header `apikey`; supabase-js does so by itself.")
        };
        self.explain(request, response, "No API key found in request", decision)
    }

    /// Explains a request with an invalid API key.
    pub(super) fn invalid_key(
        &self,
        request: &Request,
        presented: Option<&PresentedKey>,
        response: Response,
    ) -> Response {
        let decision = || self.describe_key(presented);
        self.explain(request, response, "Invalid API key", decision)
    }

    fn describe_key(&self, presented: Option<&PresentedKey>) -> DecisionRecord {
        let Some(PresentedKey { text, place }) = presented else {
            return DecisionRecord::refused("api_key.invalid", "The API key cannot be read.");
        };
        let kind = describe_kind(text);
        let decision = if let (Some(app), "token") = (&self.0, kind) {
            let now = app.clock.now();
            let reason = app.keys.verify(text, now).err().map(|error| error.to_string());
            explain_token(text, &reason.unwrap_or_default(), now)
        } else {
            let reason = match kind {
                EMPTY_KEY => format!("There is nothing in {place}."),
                UNKNOWN_KEY => {
                    format!("What is in {place} is no API key: neither a publishable key, a secret key nor a token.")
                }
                kind => format!("The {kind} in {place} is not one of this server."),
            };
            DecisionRecord::refused("api_key.invalid", reason)
                .with_value(kind)
                .with_remedy("Send a key that `basalt status` prints; keys of another project are not valid here.")
        };
        decision.with_input("place", *place).with_input("kind", kind).with_input("length", text.len())
    }

    /// Explains a request for a service of Supabase that is not served.
    pub(super) fn not_served(&self, request: &Request, mount: &str, response: Response) -> Response {
        let decision = || {
            DecisionRecord::refused("service.not_served", format!("Basalt does not serve {mount}."))
                .with_value(mount)
                .with_remedy("Point the client of that service at a Supabase project.")
        };
        self.explain(request, response, "Basalt does not serve this path", decision)
    }

    /// Records a request to the data API, and explains which policy or privilege made its response empty or refused.
    pub(super) fn data_api(&self, request: &AnsweredRequest, mut response: Response) -> Response {
        let Some(app) = &self.0 else { return response };
        let explanation = response.extensions_mut().remove::<Arc<Explanation>>();
        let error = response.extensions_mut().remove::<Arc<Error>>();
        if explanation.is_none() && error.is_none() && !app.explanations.needs_trace() {
            return response;
        }
        let journal = app.explanations.start_journal();
        match (explanation.as_deref(), error.as_deref()) {
            (Some(explanation), error) => journal.record_decision(describe(explanation, error.is_some())),
            (None, Some(error)) => journal.record_decision(describe_error(error)),
            (None, None) => {}
        }
        let explained = ExplainedRequest {
            id: &request.id,
            method: request.method.as_str(),
            path: &request.path,
            status: response.status().as_u16(),
            error: error.as_deref().map(|error| RefusedResponse { code: Some(&error.code), message: &error.message }),
            now: app.clock.now(),
            finished_at: app.clock.now(),
            client: None,
            user_agent: None,
        };
        insert_link(response.headers_mut(), app.explanations.finish_request(&explained, &journal));
        response
    }

    /// Explains which policies a refused request to the storage API lacks.
    pub(super) fn storage(&self, request: &AnsweredRequest, mut response: Response) -> Response {
        let Some(app) = &self.0 else { return response };
        let Some(refusal) = response.extensions_mut().remove::<Arc<PolicyRefusal>>() else { return response };
        let decision = DecisionRecord::refused("storage.row_security", format!("{}.", refusal.reason()))
            .with_value(format!("storage.{}", refusal.table))
            .with_remedy(refusal.remedy())
            .with_input("role", refusal.role.as_str())
            .with_input("operation", refusal.operation)
            .with_input("table", format!("storage.{}", refusal.table))
            .with_input("needed", refusal.needed.clone())
            .with_input("missing", refusal.missing.clone());
        let refused = EdgeRefusal {
            id: &request.id,
            method: request.method.as_str(),
            path: &request.path,
            status: response.status().as_u16(),
            code: Some("AccessDenied"),
            message: "new row violates row-level security policy",
            now: app.clock.now(),
        };
        insert_link(response.headers_mut(), app.explanations.explain_decision(&refused, decision));
        response
    }

    /// Explains what of a preflight is not allowed.
    pub(super) fn preflight(&self, request: &Request, response: Response) -> Response {
        let Some(refusal) = cors::GATEWAY.find_refusal(request.headers()) else { return response };
        let decision = || explanation::explain_preflight(&refusal, None);
        self.explain(request, response, "The browser refuses the request of the page.", decision)
    }

    fn explain(
        &self,
        request: &Request,
        mut response: Response,
        message: &str,
        decision: impl FnOnce() -> DecisionRecord,
    ) -> Response {
        let Some(app) = &self.0 else { return response };
        let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let refused = EdgeRefusal {
            id,
            method: request.method().as_str(),
            path: requested_path(request),
            status: response.status().as_u16(),
            code: None,
            message,
            now: app.clock.now(),
        };
        insert_link(response.headers_mut(), app.explanations.explain_decision(&refused, decision()));
        response
    }
}

/// A request whose response is explained.
pub(super) struct AnsweredRequest {
    id: String,
    method: Method,
    path: String,
}

impl AnsweredRequest {
    /// Keeps what an explanation shows of a request whose path is below a mount.
    pub(super) fn new(request: &Request, mount: &str) -> Self {
        let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        Self { id, method: request.method().clone(), path: format!("{mount}{}", request.uri().path()) }
    }
}

/// The decision that an explanation of the data API is about.
fn describe(explanation: &Explanation, is_refused: bool) -> DecisionRecord {
    let name = match explanation.cause {
        Cause::Privilege { .. } => "data_api.privilege",
        Cause::RowSecurity { .. } => "data_api.row_security",
    };
    let reason = explanation.reason();
    let decision =
        if is_refused { DecisionRecord::refused(name, reason) } else { DecisionRecord::adjusted(name, reason) };
    let decision = decision
        .with_remedy(explanation.remedy())
        .with_input("role", explanation.role.as_str())
        .with_input("command", explanation.command);
    let decision = match &explanation.intermediary {
        Some(intermediary) => decision
            .with_input("through", format!("{} {}", intermediary.kind, intermediary.name))
            .with_input("checked_role", explanation.checked_role()),
        None => decision,
    };
    let list = |policies: &[Policy]| serde_json::to_value(policies).unwrap_or_default();
    match &explanation.cause {
        Cause::Privilege { kind, name } => decision.with_input("kind", kind.as_str()).with_input("name", name.as_str()),
        Cause::RowSecurity { table, policies, others } => decision
            .with_value(format!("{}.{}", table.schema, table.name))
            .with_input("table", format!("{}.{}", table.schema, table.name))
            .with_input("policies", list(policies))
            .with_input("other_policies", list(others))
            .with_input("rows_without_policies", explanation.hidden_rows),
    }
}

/// The decision of a response with an error that no policy or privilege explains.
fn describe_error(error: &Error) -> DecisionRecord {
    let decision = DecisionRecord::refused("data_api.error", error.message.clone())
        .with_input("code", error.code.as_ref())
        .with_input("details", error.details.clone());
    match &error.hint {
        Some(hint) => decision.with_remedy(hint.clone()),
        None => decision,
    }
}

/// Returns what an API key looks like.
fn describe_kind(key: &str) -> &'static str {
    match key {
        "" => EMPTY_KEY,
        key if key.starts_with("sb_publishable_") => "publishable key",
        key if key.starts_with(SECRET_PREFIX) => "secret key",
        key if key.matches('.').count() == 2 => "token",
        _ => UNKNOWN_KEY,
    }
}
