//! Requests that are refused before a service handles them.

use foundation::explanation::DecisionRecord;
use foundation::time::Time;
use http::{HeaderMap, HeaderValue};
pub use http_edge::request::cors::EXPLAIN_HEADER;
use http_edge::request::cors::PreflightRefusal;

/// A request that is refused before a service handles it.
#[derive(Debug, Clone, Copy)]
pub struct EdgeRefusal<'a> {
    /// The id of the request.
    pub id: &'a str,
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The status of the response.
    pub status: u16,
    /// The error code, if there is one.
    pub code: Option<&'a str>,
    /// The message of the response.
    pub message: &'a str,
    /// The time by the clock of the backend.
    pub now: Time,
}

/// Inserts the link to an explanation into a response.
pub fn insert_link(headers: &mut HeaderMap, link: Option<String>) {
    if let Some(link) = link.and_then(|link| HeaderValue::try_from(link).ok()) {
        headers.insert(EXPLAIN_HEADER, link);
    }
}

/// Explains a preflight that a browser takes as a refusal.
///
/// `setting` lists the headers that are allowed in addition, if there is such a setting.
pub fn explain_preflight(refusal: &PreflightRefusal, setting: Option<&'static str>) -> DecisionRecord {
    let PreflightRefusal { origin, method, headers } = refusal;
    let listed = headers.join(", ");
    let reason = match method {
        Some(method) => format!("Pages may not send requests with the method {method}."),
        None => format!("Pages may not send requests with these headers: {listed}."),
    };
    let decision = DecisionRecord::refused("cors.preflight", reason)
        .with_value(method.clone().unwrap_or_else(|| listed.clone()))
        .with_input("origin", origin.clone())
        .with_input("method", method.clone())
        .with_input("headers", headers.clone());
    match setting {
        Some(setting) => decision
            .with_setting(setting)
            .with_remedy(format!("Do not send them from pages, or add them to {{setting}}: {listed}")),
        None => decision.with_remedy("Send them from a server instead of a page."),
    }
}
