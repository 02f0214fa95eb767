//! A request of the owner for submissions.

use functions_rs::submissions::export::ExportFormat;
use functions_rs::submissions::filter::{SubmissionFilter, SubmissionPage};
use http::Method;

use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::query::Query;

/// The parameter of an export with its format.
const FORMAT: &str = "format";

/// What a request of the owner asks for.
pub(super) struct SubmissionsCall {
    pub method: Method,
    pub segments: Vec<String>,
    pub query: Query,
    pub body: JsonBody,
    /// The owner's address.
    pub author: String,
}

impl SubmissionsCall {
    /// Parses filter and position of a list.
    pub(super) fn page(&self) -> Result<SubmissionPage, DeskError> {
        Ok(SubmissionPage::parse(self.query.list())?)
    }

    /// Parses format and filter of an export.
    pub(super) fn export(&self) -> Result<(ExportFormat, SubmissionFilter), DeskError> {
        let format = ExportFormat::parse(self.query.get(FORMAT).unwrap_or("csv"))?;
        let others = self.query.list().filter(|(name, _)| *name != FORMAT);
        Ok((format, SubmissionPage::parse(others)?.filter))
    }
}
