//! Explains refused calls: an unknown function, a refused key or token, and errors of functions.

use axum::response::Response;
use chrono::{DateTime, Utc};
use foundation::explanation::DecisionRecord;
use gotrue_rules::domain::explanation::tokens::explain_token;
use http::header::AUTHORIZATION;
use http::{StatusCode, request};
use http_edge::request::{APIKEY, BearerWhitespace, REQUEST_ID, cors, single_header};
use platform::explanation::{self, EdgeRefusal, ExplainedRequest, Explanations, RefusedResponse, insert_link};
use platform::journal::Journal;

use super::paths::{ROUTE, split_path};
use crate::caller::AuthenticationError;
use crate::function::{Answer, FunctionError};

/// What is kept of a call for its explanation.
pub(super) struct CallSummary {
    id: String,
    method: String,
    path: String,
    started: DateTime<Utc>,
    /// The token of a user or the legacy key in `Authorization`, else the value of `apikey`.
    credential: Option<String>,
}

impl CallSummary {
    /// Reads the head of a call.
    pub(super) fn new(head: &request::Parts, started: DateTime<Utc>) -> Self {
        let bearer = single_header(&head.headers, &AUTHORIZATION).bearer(BearerWhitespace::Trimmed).present();
        let credential = bearer.or_else(|| single_header(&head.headers, &APIKEY).present());
        Self {
            id: request_id(head).to_owned(),
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            started,
            credential: credential.map(str::to_owned),
        }
    }
}

fn request_id(head: &request::Parts) -> &str {
    head.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default()
}

/// Logs and stores why a call was refused; returns the link to the explanation.
///
/// `served` are the names of the functions.
pub(super) fn explain_call(
    explanations: &Explanations,
    served: impl Iterator<Item = &'static str>,
    call: &CallSummary,
    journal: &Journal,
    outcome: &Result<Answer, FunctionError>,
    finished_at: DateTime<Utc>,
) -> Option<String> {
    journal.trace(|trace| trace.route = Some(ROUTE.to_owned()));
    let (status, error) = match outcome {
        Ok(answer) => (answer.status, None),
        Err(error) => {
            if let Some(decision) = explain_error(served, call, error) {
                journal.record_decision(decision);
            }
            (error.status, Some(RefusedResponse { code: Some(error.code), message: &error.message }))
        }
    };
    let request = ExplainedRequest {
        id: &call.id,
        method: &call.method,
        path: &call.path,
        status: status.as_u16(),
        error,
        now: call.started,
        finished_at,
        client: None,
        user_agent: None,
    };
    explanations.finish_request(&request, journal)
}

/// Returns the decision of the gateway; `None` for an error of a function, which its message explains.
fn explain_error(
    served: impl Iterator<Item = &'static str>,
    call: &CallSummary,
    error: &FunctionError,
) -> Option<DecisionRecord> {
    let is = |refused: AuthenticationError| error.code == refused.code();
    let (name, _) = split_path(&call.path);
    let names: Vec<&str> = served.collect();
    if error.status == StatusCode::NOT_FOUND && !names.contains(&name) {
        let served = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let decision = DecisionRecord::refused("function.unknown", "No function has this name.")
            .with_input("requested", name)
            .with_input("served", names)
            .with_remedy(format!(
                "Call one of the served functions ({served}). Functions of your own are served by the edge runtime of \
                 Supabase, not here."
            ));
        return Some(decision);
    }
    if is(AuthenticationError::Missing) {
        let decision = DecisionRecord::refused("api_key.missing", "The call has neither an API key nor a token.")
            .with_remedy("Send the publishable key as `apikey`, or the access token of the user in `Authorization`.");
        return Some(decision);
    }
    if is(AuthenticationError::Token) {
        let token = call.credential.as_deref().unwrap_or_default();
        return Some(explain_token(token, error.message.as_ref(), call.started));
    }
    if is(AuthenticationError::Scope) {
        let decision =
            DecisionRecord::refused("oauth_client.scope", "The token of an OAuth client has no scope for functions.")
                .with_remedy("Let the client request the scope `functions`, which its user then grants.");
        return Some(decision);
    }
    if is(AuthenticationError::Session) {
        let decision =
            DecisionRecord::refused("session.ended", "The user is deleted or banned, or the session has ended.")
                .with_remedy("Sign in again, or refresh the session: supabase-js does so when the session is read.");
        return Some(decision);
    }
    is(AuthenticationError::Key).then(|| {
        DecisionRecord::refused("api_key.invalid", "The API key is not one of this server.")
            .with_remedy("Send a key that `basalt status` prints; keys of another project are not valid here.")
    })
}

/// Explains what of a preflight is not allowed.
pub(super) fn explain_preflight(
    explanations: &Explanations,
    head: &request::Parts,
    now: DateTime<Utc>,
    mut response: Response,
) -> Response {
    if let Some(refusal) = cors::FUNCTIONS.find_refusal(&head.headers) {
        let refused = EdgeRefusal {
            id: request_id(head),
            method: head.method.as_str(),
            path: head.uri.path(),
            status: response.status().as_u16(),
            code: None,
            message: "The browser refuses the request of the page.",
            now,
        };
        let link = explanations.explain_decision(&refused, explanation::explain_preflight(&refusal, None));
        insert_link(response.headers_mut(), link);
    }
    response
}
