//! Parameters of the requests to the provider, from a query or a form.

use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::http::request_info::parse_pairs;
use http::StatusCode;

use crate::dev::responses;

/// Maximum size of a form, in bytes.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// Parameters of a query or a form; the first of duplicates counts.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses an encoded query or form.
    pub(super) fn parse(text: &str) -> Self {
        Self(parse_pairs(text))
    }

    /// Returns the value of a parameter; empty if it is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }
}

/// Parses the query of a request.
pub(super) fn parse_query(request: &Request) -> Parameters {
    Parameters::parse(request.uri().query().unwrap_or_default())
}

/// Parses the form in the body of a request; the error is the response to a form that is too long.
pub(super) async fn parse_form(request: Request) -> Result<Parameters, Response> {
    let read = axum::body::to_bytes(request.into_body(), MAX_FORM_BYTES).await;
    let bytes = read.map_err(|_| responses::text(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long\n"))?;
    Ok(Parameters::parse(&String::from_utf8_lossy(&bytes)))
}
