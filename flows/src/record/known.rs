//! The values of a flow that a later request can repeat, with their expressions.

use std::collections::{HashMap, VecDeque};

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
    expressions: HashMap<String, String>,
    order: VecDeque<String>,
}

impl KnownValues {
    /// Returns the expression of a value.
    pub(super) fn find(&self, value: &str) -> Option<&str> {
        self.expressions.get(value).map(String::as_str)
    }

    /// Adds a value; the first expression of a value stays.
    pub(super) fn insert(&mut self, value: &str, expression: String) {
        if value.is_empty() || self.expressions.contains_key(value) {
            return;
        }
        if self.order.len() >= MAX_VALUES
            && let Some(oldest) = self.order.pop_front()
        {
            self.expressions.remove(&oldest);
        }
        self.order.push_back(value.to_owned());
        self.expressions.insert(value.to_owned(), expression);
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
        self.insert_below(value, expression, 0);
    }

    fn insert_below(&mut self, value: &Value, expression: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, item) in members.iter().filter(|(name, _)| is_path_segment(name)) {
                    self.insert_below(item, &format!("{expression}.{name}"), depth + 1);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.insert_below(item, &format!("{expression}.{at}"), depth + 1);
                }
            }
            Value::String(text)
                if text.len() >= MIN_LENGTH && !super::plain::is_word(text) || is_credential(expression) =>
            {
                if let Value::String(text) = value {
                    self.insert(text, expression.to_owned());
                }
            }
            _ => {}
        }
    }
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
