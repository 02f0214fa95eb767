//! The values of a flow that a later request can repeat, with their expressions.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

/// The most values of a flow; the oldest are forgotten.
const MAX_VALUES: usize = 20_000;
/// Shorter texts occur by chance.
const MIN_LENGTH: usize = 6;
/// The deepest member of a response that is searched.
const MAX_DEPTH: usize = 12;

/// Values and their expressions.
#[derive(Debug, Default)]
pub(super) struct KnownValues {
    expressions: HashMap<Arc<str>, String>,
    order: VecDeque<Arc<str>>,
}

impl KnownValues {
    /// Returns the expression of a value.
    pub(super) fn find(&self, value: &str) -> Option<&str> {
        self.expressions.get(value).map(String::as_str)
    }

    /// Adds a value; the first expression of a value stays.
    pub(super) fn insert(&mut self, value: &str, expression: String) {
        if !value.is_empty() && !self.expressions.contains_key(value) {
            self.insert_new(value, expression);
        }
    }

    fn insert_new(&mut self, value: &str, expression: String) {
        if self.order.len() >= MAX_VALUES
            && let Some(oldest) = self.order.pop_front()
        {
            self.expressions.remove(&oldest);
        }
        let value: Arc<str> = value.into();
        self.order.push_back(Arc::clone(&value));
        self.expressions.insert(value, expression);
    }

    /// Adds a value, in place of an earlier one.
    pub(super) fn replace(&mut self, value: &str, expression: String) {
        match self.expressions.get_mut(value) {
            Some(known) => *known = expression,
            None => self.insert(value, expression),
        }
    }

    /// Adds the texts of a JSON value below an expression.
    pub(super) fn insert_members(&mut self, value: &Value, expression: &str) {
        self.insert_below(value, &mut expression.to_owned(), 0);
    }

    fn insert_below(&mut self, value: &Value, expression: &mut String, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let length = expression.len();
        match value {
            Value::Object(members) => {
                for (name, item) in members.iter().filter(|(_, item)| has_text(item)) {
                    if is_path_segment(name) {
                        expression.push('.');
                        expression.push_str(name);
                        self.insert_below(item, expression, depth + 1);
                        expression.truncate(length);
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate().filter(|(_, item)| has_text(item)) {
                    let _ = write!(expression, ".{at}");
                    self.insert_below(item, expression, depth + 1);
                    expression.truncate(length);
                }
            }
            // Most texts of a response are known from an earlier one.
            Value::String(text)
                if !text.is_empty()
                    && !self.expressions.contains_key(text.as_str())
                    && (text.len() >= MIN_LENGTH && !super::plain::is_word(text) || is_credential(expression)) =>
            {
                self.insert_new(text, expression.clone());
            }
            _ => {}
        }
    }
}

/// Returns whether a value is a text or can have one below it.
fn has_text(value: &Value) -> bool {
    value.is_string() || value.is_object() || value.is_array()
}

/// Returns whether a member carries a credential, whatever form its value has.
fn is_credential(expression: &str) -> bool {
    let name = expression.rsplit('.').next().unwrap_or_default();
    matches!(
        name,
        "refresh_token"
            | "code"
            | "auth_code"
            | "email_otp"
            | "hashed_token"
            | "token_hash"
            | "secret"
            | "client_secret"
            | "challenge"
    )
}

/// Returns whether a name can be a segment of a path in a placeholder.
fn is_path_segment(name: &str) -> bool {
    super::plain::is_name(name) && !name.contains('.')
}
