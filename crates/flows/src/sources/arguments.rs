//! Arguments of sources.

use serde_json::Value;

use crate::FlowError;

/// Returns a member of arguments as text.
pub(crate) fn text_argument<'a>(arguments: &'a Value, source: &str, name: &str) -> Result<&'a str, FlowError> {
    arguments[name].as_str().ok_or_else(|| wanted(source, &format!("{{\"{name}\": text}}")))
}

/// The arguments of a source are of another form.
pub fn wanted(source: &str, form: &str) -> FlowError {
    FlowError::new(
        format!("the arguments of the source {source} cannot be used"),
        format!("write \"@{source}\": {form}"),
    )
}
