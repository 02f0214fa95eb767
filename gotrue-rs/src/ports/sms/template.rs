//! The texts of messages: Go text templates over `.Code`.
//!
//! Parsed at start; the configuration check reports errors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::ports::mail::template::limits;
use gotmpl::{MissingKey, Template, Value};

/// The template of a message.
pub struct SmsTemplate(Result<Template, SmsTemplateError>);

/// A text cannot be rendered. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template of the text cannot be filled in: {0}")]
pub struct SmsTemplateError(String);

impl SmsTemplateError {
    /// Why: a sentence without full stop.
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl SmsTemplate {
    /// Parses a template. An invalid one fails when it is rendered.
    pub fn parse(text: &str) -> Self {
        let template = Template::new("text").missing_key(MissingKey::Error).max_range_iters(limits::MAX_ITERATIONS);
        let parsed = template.parse(text).map_err(|reason| reason.to_string());
        let limited = parsed.and_then(|template| limits::require_limited_text(text).map(|()| template));
        Self(limited.map_err(SmsTemplateError))
    }

    /// Renders the text with this code.
    pub fn render(&self, code: &str) -> Result<String, SmsTemplateError> {
        let template = self.0.as_ref().map_err(Clone::clone)?;
        let values: BTreeMap<Arc<str>, Value> = [("Code".into(), Value::String(code.into()))].into();
        let values = Value::Map(Arc::new(values));
        let filled = limits::write_limited(|output| template.execute_fmt(output, &values));
        filled.map_err(|reason| SmsTemplateError(reason.to_string()))
    }
}

impl fmt::Debug for SmsTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextTemplate")
    }
}
