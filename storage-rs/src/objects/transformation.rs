//! The options of a transformation: those of a request, and the header field that tells them.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use super::header_fields::insert;
use crate::error::Error;
use crate::image::Transformation;
use crate::request::Call;
use crate::request::fields::Fields;

const TRANSFORMATIONS: HeaderName = HeaderName::from_static("x-transformations");

/// The options of a transformation in a request.
///
/// # Errors
/// 400: one is not valid.
pub(super) fn check_options(fields: &Fields) -> Result<Transformation, Error> {
    let find = |name: &str| {
        fields.raw(name).map(|value| match value {
            Value::String(text) => Cow::Owned(text.clone()),
            other => Cow::Owned(other.to_string()),
        })
    };
    Transformation::parse(find).map_err(|problem| fields.problem(problem.option, problem.message))
}

/// Sets the header `X-Transformations` to the options that a request asks for. HEAD and info have it too, as in the reference.
pub(super) fn describe_options(call: &Call, asked: &Transformation, headers: &mut HeaderMap) {
    let options = asked.to_header_text(call.storage.images().limits());
    if !options.is_empty() {
        insert(headers, TRANSFORMATIONS, &options);
    }
}
