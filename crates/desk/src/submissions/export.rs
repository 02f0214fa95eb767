//! `GET export`: the selected submissions as a file, streamed.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use functions_rs::submissions::Submissions;
use functions_rs::submissions::export::ExportFormat;
use functions_rs::submissions::filter::SubmissionPage;
use futures::StreamExt;
use futures::stream;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::http::error::DeskError;
use crate::http::query::Query;

/// The parameter with the format.
const FORMAT: &str = "format";

/// Answers with the first part once it is there, so that a failed database is an error response.
pub(super) async fn answer(submissions: &Arc<Submissions>, query: &Query) -> Result<Response, DeskError> {
    let format = ExportFormat::parse(query.get(FORMAT).unwrap_or("csv"))?;
    let page = SubmissionPage::parse(query.list().filter(|(name, _)| *name != FORMAT))?;
    let mut parts = Arc::clone(submissions).export(page.filter, format);
    let first = parts.next().await.transpose()?.unwrap_or_default();
    let rest = parts.inspect(|part| {
        if let Err(error) = part {
            tracing::error!(error = %ErrorChain(error), "an export of submissions ended early");
        }
    });
    let mut response = Response::new(Body::from_stream(stream::iter([Ok(first)]).chain(rest)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(format.disposition()));
    Ok(response)
}
