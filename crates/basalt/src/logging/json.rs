//! JSON members of log lines.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};

/// The field in which a record of the crate `log` names its target.
const LOG_TARGET: &str = "log.target";

/// Writes each field as `,"name":value`.
pub(super) struct JsonFields<'a> {
    line: &'a mut String,
    outcome: fmt::Result,
    logged_target: Option<String>,
}

impl<'a> JsonFields<'a> {
    /// Creates a visitor that appends to a line.
    pub(super) fn new(line: &'a mut String) -> Self {
        Self { line, outcome: Ok(()), logged_target: None }
    }

    /// Returns the target of a record of the crate `log`.
    ///
    /// # Errors
    ///
    /// The value of a field could not be formatted.
    pub(super) fn finish(self) -> Result<Option<String>, fmt::Error> {
        self.outcome.map(|()| self.logged_target)
    }

    fn write(&mut self, field: &Field, value: impl FnOnce(&mut String) -> fmt::Result) {
        if self.outcome.is_ok() {
            self.outcome = write!(self.line, ",\"{}\":", field.name()).and_then(|()| value(self.line));
        }
    }
}

impl Visit for JsonFields<'_> {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.write(field, |line| write!(line, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.write(field, |line| write!(line, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.write(field, |line| write!(line, "{value}"));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.write(field, |line| write!(line, "{}", serde_json::Value::from(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == LOG_TARGET {
            self.logged_target = Some(value.to_owned());
        }
        self.write(field, |line| write_string(line, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, |line| {
            line.push('"');
            write!(Escaped(line), "{value:?}")?;
            line.push('"');
            Ok(())
        });
    }
}

/// Writes a string with quotes.
pub(super) fn write_string(line: &mut String, text: &str) -> fmt::Result {
    line.push('"');
    Escaped(line).write_str(text)?;
    line.push('"');
    Ok(())
}

/// Escapes what is written for a JSON string.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain_from = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                8 => "\\b",
                12 => "\\f",
                0..0x20 => "",
                _ => continue,
            };
            self.0.push_str(&text[plain_from..at]);
            plain_from = at + 1;
            if escape.is_empty() { write!(self.0, "\\u{byte:04x}")? } else { self.0.push_str(escape) }
        }
        self.0.push_str(&text[plain_from..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_are_written_as_by_serde_json(text in any::<String>()) {
            let mut line = String::new();
            write_string(&mut line, &text).expect("memory can be written");
            prop_assert_eq!(line, serde_json::Value::from(text).to_string());
        }

        #[test]
        fn control_characters_are_escaped_as_by_serde_json(text in "[\u{0}-\u{7f}]{0,40}") {
            let mut line = String::new();
            write_string(&mut line, &text).expect("memory can be written");
            prop_assert_eq!(line, serde_json::Value::from(text).to_string());
        }
    }
}
