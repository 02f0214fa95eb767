//! The texts of messages: Go text templates over `.Code`.
//!
//! Parsed at start; the configuration check reports errors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gotmpl::{MissingKey, Template, Value};

/// The template of a message.
pub struct SmsTemplate(Result<Template, SmsTemplateError>);

/// A text cannot be rendered. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template of the text cannot be filled in: {0}")]
pub struct SmsTemplateError(String);

impl SmsTemplate {
    /// Parses a template. An invalid one fails when it is rendered.
    pub fn parse(text: &str) -> Self {
        let parsed = Template::new("text").missing_key(MissingKey::Error).parse(text);
        Self(parsed.map_err(|reason| SmsTemplateError(reason.to_string())))
    }

    /// Renders the text with this code.
    pub fn render(&self, code: &str) -> Result<String, SmsTemplateError> {
        let template = self.0.as_ref().map_err(Clone::clone)?;
        let values: BTreeMap<Arc<str>, Value> = [("Code".into(), Value::String(code.into()))].into();
        let filled = template.execute_to_string(&Value::Map(Arc::new(values)));
        filled.map_err(|reason| SmsTemplateError(reason.to_string()))
    }
}

impl fmt::Debug for SmsTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextTemplate")
    }
}
