//! Parameters of the requests to the simulator, from a query or a form.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use platform::request_info::parse_pairs;

use crate::responses;

/// Maximum size of a form, in bytes.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// Parameters of a query or a form; the first of duplicates counts.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses an encoded query or form.
    pub(crate) fn parse(text: &str) -> Self {
        Self(parse_pairs(text))
    }

    /// Returns the value of a parameter; empty if it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Reads a form; the error is the response to a form that is too long.
    pub(crate) async fn read_form(body: Body) -> Result<Self, Response> {
        let read = axum::body::to_bytes(body, MAX_FORM_BYTES).await;
        let bytes = read.map_err(|_| responses::text(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long\n"))?;
        Ok(Self::parse(&String::from_utf8_lossy(&bytes)))
    }
}
