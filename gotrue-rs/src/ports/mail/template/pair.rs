//! A parsed subject and body.

use gotmpl::html::Template;
use gotrue_rules::domain::policy::MailKind;

use super::super::branded::MailFrame;
use super::{builtin, check, limits};

/// A subject and the body that belongs to it.
pub(super) struct TemplatePair {
    pub subject: Template,
    pub body: Template,
    /// The document around the body, if the body is its content only.
    pub frame: Option<MailFrame>,
}

impl TemplatePair {
    /// Parses a pair with the built-in body if `body` is `None`.
    pub(super) fn parse(kind: MailKind, subject: &str, body: Option<&str>) -> Result<Self, String> {
        for (part, text) in [("subject", Some(subject)), ("body", body)] {
            if let Some(refusal) = text.and_then(|text| check::find_refusal(kind, text)) {
                return Err(format!("the {part}: line {}: {}", refusal.line, refusal.text));
            }
        }
        let parse = |name, text| Template::new(name).max_range_iters(limits::MAX_ITERATIONS).parse(text);
        let subject = parse("subject", subject).map_err(|error| format!("the subject: {error}"))?;
        let body = match body {
            Some(text) => parse("body", text).map_err(|error| format!("the body: {error}"))?,
            None => builtin::body(kind).map_err(|error| format!("the built-in body: {error}"))?,
        };
        Ok(Self { subject, body, frame: None })
    }
}

impl std::fmt::Debug for TemplatePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pair")
    }
}
