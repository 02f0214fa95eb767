//! What differs from run to run in an answer, replaced by marks as in the recordings.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

/// The users of the recordings: their ids stay.
const KEPT: [&str; 3] = [
    "ada00000-1111-4111-8111-00000000ada0",
    "be400000-2222-4222-8222-000000000be4",
    "c1e00000-3333-4333-8333-00000000c1e0",
];

/// Replaces what differs from run to run.
pub(crate) struct Normalisation {
    base: String,
    uuids: HashMap<String, String>,
    patterns: [Regex; 5],
}

/// JSON as Python writes it.
pub(crate) fn python_json(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("{}: {}", json!(name), python_json(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(python_json).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn describe_token(token: &str) -> String {
    let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<Map<String, Value>> = payload.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(mut claims) = claims else { return "<jwt?>".to_owned() };
    let life = match (
        claims.remove("exp").and_then(|value| value.as_i64()),
        claims.remove("iat").and_then(|value| value.as_i64()),
    ) {
        (Some(end), Some(start)) => (end - start).to_string(),
        _ => "None".to_owned(),
    };
    claims.sort_keys();
    format!("<jwt {} life={life}>", python_json(&Value::Object(claims)))
}

impl Normalisation {
    pub(crate) fn new(base: &str) -> Self {
        let patterns = [
            r"eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
            "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
            r"[0-9]{4}-[0-9][0-9]-[0-9][0-9][T ][0-9][0-9]:[0-9][0-9]:[0-9][0-9](?:\.[0-9]+)?(?:Z|[+-][0-9][0-9](?::?[0-9][0-9])?)?",
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9][0-9] [A-Za-z]{3} [0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9][0-9] GMT",
            "(/upload/resumable(?:/sign)?/)[A-Za-z0-9_%=-]{12,}",
        ];
        Self {
            base: base.to_owned(),
            uuids: HashMap::new(),
            patterns: patterns.map(|pattern| Regex::new(pattern).unwrap()),
        }
    }

    /// Begins an answer: its ids are counted anew.
    pub(crate) fn begin(&mut self) {
        self.uuids.clear();
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        let text = text.replace(&self.base, "<base>");
        let [tokens, uuids, times, dates, uploads] = &self.patterns;
        let text = tokens.replace_all(&text, |found: &Captures<'_>| describe_token(&found[0]));
        let known = &mut self.uuids;
        let text = uuids.replace_all(&text, |found: &Captures<'_>| {
            let id = found[0].to_owned();
            if KEPT.contains(&id.to_lowercase().as_str()) {
                return id;
            }
            let number = known.len() + 1;
            known.entry(id).or_insert_with(|| format!("<uuid{number}>")).clone()
        });
        let text = times.replace_all(&text, "<time>");
        let text = dates.replace_all(&text, "<date>");
        uploads.replace_all(&text, "${1}<id>").into_owned()
    }

    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(elements) => elements.iter().map(|element| self.value(element)).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let is_cursor = name == "nextCursor" && value.as_str().is_some_and(|text| !text.is_empty());
                    (name.clone(), if is_cursor { "<cursor>".into() } else { self.value(value) })
                });
                Value::Object(members.collect())
            }
            other => other.clone(),
        }
    }

    /// XML as the recordings have it: an object with the name of the element, and its children or its text.
    pub(crate) fn xml(&mut self, text: &str) -> Option<Value> {
        let document = roxmltree::Document::parse(text).ok()?;
        Some(self.element(document.root_element()))
    }

    fn element(&mut self, element: roxmltree::Node<'_, '_>) -> Value {
        let name = element.tag_name().name();
        let children: Vec<_> = element.children().filter(roxmltree::Node::is_element).collect();
        if !children.is_empty() {
            return json!({ name: children.into_iter().map(|child| self.element(child)).collect::<Vec<_>>() });
        }
        let text = element.text().unwrap_or_default().trim().to_owned();
        let is_id = ["RequestId", "HostId", "UploadId", "VersionId", "NextContinuationToken", "ContinuationToken"];
        let text = if is_id.contains(&name) && !text.is_empty() { "<id>".to_owned() } else { text };
        json!({ name: self.text(&text) })
    }
}
