//! Fields of bodies and queries: their types, the conversions between them, and the texts of what is wrong.
//!
//! The texts and the conversions are those of the reference, where a JSON Schema validator with type coercion reads requests.

use serde_json::{Map, Value};

use super::query::Query;
use crate::error::Error;

/// The fields of a part of a request.
#[derive(Debug)]
pub struct Fields {
    part: String,
    members: Map<String, Value>,
}

impl Fields {
    /// The fields of a body.
    ///
    /// # Errors
    /// It is no object.
    pub fn of_body(body: Option<Value>) -> Result<Self, Error> {
        match body {
            Some(Value::Object(members)) => Ok(Self { part: "body".to_owned(), members }),
            _ => Err(Error::validation("body must be object")),
        }
    }

    /// The fields of a query.
    pub fn of_query(query: &Query) -> Self {
        let mut members = Map::new();
        for (name, value) in query.pairs() {
            match members.get_mut(name) {
                None => {
                    members.insert(name.to_owned(), value.into());
                }
                // A parameter that is repeated is a list.
                Some(Value::Array(values)) => values.push(value.into()),
                Some(former) => *former = Value::Array(vec![former.take(), value.into()]),
            }
        }
        Self { part: "querystring".to_owned(), members }
    }

    /// Whether there is a field, null or not.
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Whether a field is null.
    pub fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_null)
    }

    /// Demands that these fields are there.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn require(&self, names: &[&str]) -> Result<(), Error> {
        match names.iter().find(|name| !self.has(name)) {
            Some(name) => Err(Error::validation(format!("{} must have required property '{name}'", self.part))),
            None => Ok(()),
        }
    }

    fn refuse(&self, name: &str, problem: impl std::fmt::Display) -> Error {
        Error::validation(format!("{}/{name} {problem}", self.part))
    }

    /// The error of a field that a part of its own checks.
    pub fn problem(&self, name: &str, problem: &str) -> Error {
        if problem == "is required" {
            return Error::validation(format!("{} must have required property '{name}'", self.part));
        }
        self.refuse(name, problem)
    }

    /// The value of a field; a list of one counts as that one.
    fn scalar(&self, name: &str) -> Option<&Value> {
        self.members.get(name).map(single)
    }

    /// A text. Numbers and truth values count as texts, null as an empty one.
    ///
    /// # Errors
    /// It is an object or a list.
    pub fn text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.scalar(name) {
            None => Ok(None),
            Some(value) => convert_text(value).map(Some).ok_or_else(|| self.refuse(name, "must be string")),
        }
    }

    /// A text that is one of these.
    ///
    /// # Errors
    /// It is another one.
    pub fn choice(&self, name: &str, choices: &[&str]) -> Result<Option<String>, Error> {
        match self.text(name)? {
            Some(text) if !choices.contains(&text.as_str()) => {
                Err(self.refuse(name, "must be equal to one of the allowed values"))
            }
            text => Ok(text),
        }
    }

    /// A whole number of at least `minimum`. Texts of digits count as numbers.
    ///
    /// # Errors
    /// It is something else, or less.
    pub fn integer(&self, name: &str, minimum: i64) -> Result<Option<i64>, Error> {
        let Some(value) = self.scalar(name) else { return Ok(None) };
        let number = convert_integer(value).ok_or_else(|| self.refuse(name, "must be integer"))?;
        if number < minimum {
            return Err(self.refuse(name, format_args!("must be >= {minimum}")));
        }
        Ok(Some(number))
    }

    /// A whole number between two others.
    ///
    /// # Errors
    /// It is something else, less or more.
    pub fn bounded_integer(&self, name: &str, minimum: i64, maximum: i64) -> Result<Option<i64>, Error> {
        match self.integer(name, minimum)? {
            Some(number) if number > maximum => Err(self.refuse(name, format_args!("must be <= {maximum}"))),
            number => Ok(number),
        }
    }

    /// A truth value. The texts `true` and `false` count as such, and the numbers 1 and 0.
    ///
    /// # Errors
    /// It is something else.
    pub fn truth(&self, name: &str) -> Result<Option<bool>, Error> {
        let Some(value) = self.scalar(name) else { return Ok(None) };
        let truth = match value {
            Value::Bool(truth) => Some(*truth),
            Value::Null => Some(false),
            Value::String(text) if text == "true" => Some(true),
            Value::String(text) if text == "false" => Some(false),
            Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
            _ => None,
        };
        truth.map(Some).ok_or_else(|| self.refuse(name, "must be boolean"))
    }

    /// A list of texts. A single text counts as a list of one.
    ///
    /// # Errors
    /// It is something else, or has too few or too many elements.
    pub fn texts(&self, name: &str, minimum: usize, maximum: usize) -> Result<Option<Vec<String>>, Error> {
        let elements = match self.members.get(name) {
            None => return Ok(None),
            Some(Value::Array(elements)) => elements.clone(),
            Some(Value::Object(_)) => return Err(self.refuse(name, "must be array")),
            Some(scalar) => vec![scalar.clone()],
        };
        if elements.len() > maximum {
            return Err(self.refuse(name, format_args!("must NOT have more than {maximum} items")));
        }
        if elements.len() < minimum {
            return Err(self.refuse(name, format_args!("must NOT have fewer than {minimum} items")));
        }
        let texts = elements.iter().enumerate().map(|(index, element)| {
            convert_text(single(element)).ok_or_else(|| self.refuse(&format!("{name}/{index}"), "must be string"))
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// The fields of an object in a field.
    ///
    /// # Errors
    /// It is something else.
    pub fn object(&self, name: &str) -> Result<Option<Self>, Error> {
        match self.members.get(name) {
            None => Ok(None),
            Some(Value::Object(members)) => {
                Ok(Some(Self { part: format!("{}/{name}", self.part), members: members.clone() }))
            }
            Some(_) => Err(self.refuse(name, "must be object")),
        }
    }

    /// A field as it was sent.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }
}

/// The element of a list of one, or the value.
fn single(value: &Value) -> &Value {
    match value {
        Value::Array(elements) if elements.len() == 1 => &elements[0],
        value => value,
    }
}

fn convert_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A whole number. Those beyond 64 bits become the greatest or the least one.
pub(crate) fn convert_integer(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    let whole = |float: f64| (float.is_finite() && float.fract() == 0.0).then_some(float as i64);
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) if !text.is_empty() => {
            let trimmed = text.trim();
            if trimmed.is_empty() {
                return Some(0);
            }
            trimmed.parse().ok().or_else(|| trimmed.parse::<f64>().ok().and_then(whole))
        }
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Null => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(body: Value) -> Fields {
        Fields::of_body(Some(body)).unwrap()
    }

    fn message<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
        outcome.unwrap_err().message.into_owned()
    }

    #[test]
    fn types_are_converted() {
        let body = fields(json!({"a": "60", "b": 5, "c": "true", "d": [7], "e": null, "f": "x"}));
        assert_eq!(body.integer("a", 1), Ok(Some(60)));
        assert_eq!(body.text("b"), Ok(Some("5".to_owned())));
        assert_eq!(body.truth("c"), Ok(Some(true)));
        assert_eq!(body.integer("d", 1), Ok(Some(7)));
        assert_eq!(body.text("e"), Ok(Some(String::new())));
        assert_eq!(body.texts("f", 1, 9), Ok(Some(vec!["x".to_owned()])));
    }

    #[test]
    fn problems_are_named() {
        let body = fields(json!({"a": "two", "b": 0, "c": "yes", "d": [], "e": {"column": "size"}, "f": 1.5}));
        assert_eq!(message(Fields::of_body(None)), "body must be object");
        assert_eq!(message(body.require(&["a", "z"])), "body must have required property 'z'");
        assert_eq!(message(body.integer("a", 1)), "body/a must be integer");
        assert_eq!(message(body.integer("b", 1)), "body/b must be >= 1");
        assert_eq!(message(body.integer("f", 1)), "body/f must be integer");
        assert_eq!(message(body.truth("c")), "body/c must be boolean");
        assert_eq!(message(body.texts("d", 1, 9)), "body/d must NOT have fewer than 1 items");
        let inner = body.object("e").unwrap().unwrap();
        assert_eq!(
            message(inner.choice("column", &["name"])),
            "body/e/column must be equal to one of the allowed values"
        );
    }
}
