//! What a text says: Go text template over `.Code`, the operator's or our own. Parsed when the server starts; the
//! configuration reports what is wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gotmpl::{MissingKey, Template, Value};

/// The text of a message.
pub struct TextTemplate(Result<Template, TemplateError>);

/// A text cannot be written. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template of the text cannot be filled in: {0}")]
pub struct TemplateError(String);

impl TextTemplate {
    /// Parses the operator's text. One that does not parse fails when it is filled in.
    pub fn parse(text: &str) -> Self {
        let parsed = Template::new("text").missing_key(MissingKey::Error).parse(text);
        Self(parsed.map_err(|reason| TemplateError(reason.to_string())))
    }

    /// The text with this code.
    pub fn fill(&self, code: &str) -> Result<String, TemplateError> {
        let template = self.0.as_ref().map_err(Clone::clone)?;
        let values: BTreeMap<Arc<str>, Value> = [("Code".into(), Value::String(code.into()))].into();
        let filled = template.execute_to_string(&Value::Map(Arc::new(values)));
        filled.map_err(|reason| TemplateError(reason.to_string()))
    }
}

impl fmt::Debug for TextTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextTemplate")
    }
}
