//! Request and user of a request span, stored without an allocation.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};

/// The span field with the request id.
pub(super) const REQUEST_ID: &str = "request.id";
/// The span field with the user id.
pub(super) const USER_ID: &str = "user.id";

/// The span field and the member of a log line with the id of the trace
/// ([Trace Context in non-OTLP Log Formats](https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/)).
pub(super) const TRACE_ID: &str = "trace_id";

/// The length of a UUID.
const INLINE_LENGTH: usize = 36;

/// Request and user of a span.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    request: Option<ShortText>,
    user: Option<ShortText>,
    trace: Option<u128>,
}

impl RequestIds {
    /// Whether neither is known.
    pub(super) fn is_empty(&self) -> bool {
        self.request.is_none() && self.user.is_none() && self.trace.is_none()
    }

    /// Takes over what the other one knows.
    pub(super) fn update(&mut self, other: Self) {
        self.request = other.request.or(self.request.take());
        self.user = other.user.or(self.user.take());
        self.trace = other.trace.or(self.trace);
    }

    /// Returns the request id.
    pub(super) fn request(&self) -> Option<&str> {
        self.request.as_ref().map(ShortText::as_str)
    }

    /// Returns the user id.
    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_ref().map(ShortText::as_str)
    }

    /// Returns the id of the trace in hexadecimal digits.
    pub(super) fn trace(&self) -> Option<String> {
        self.trace.map(|trace| format!("{trace:032x}"))
    }

    fn slot(&mut self, field: &Field) -> Option<&mut Option<ShortText>> {
        match field.name() {
            REQUEST_ID => Some(&mut self.request),
            USER_ID => Some(&mut self.user),
            _ => None,
        }
    }
}

impl Visit for RequestIds {
    fn record_u128(&mut self, field: &Field, value: u128) {
        if field.name() == TRACE_ID {
            self.trace = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if let Some(slot) = self.slot(field) {
            *slot = Some(ShortText::format(format_args!("{value}")));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if let Some(slot) = self.slot(field) {
            *slot = Some(ShortText::format(format_args!("{value:?}")));
        }
    }
}

/// A text that is stored inline up to the length of a UUID.
#[derive(Debug)]
enum ShortText {
    Inline { bytes: [u8; INLINE_LENGTH], length: usize },
    Long(String),
}

impl ShortText {
    fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self::Inline { bytes: [0; INLINE_LENGTH], length: 0 };
        // Writing into memory does not fail; a value whose own formatting fails is cut.
        let _ = text.write_fmt(arguments);
        text
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Inline { bytes, length } => std::str::from_utf8(&bytes[..*length]).unwrap_or_default(),
            Self::Long(text) => text,
        }
    }
}

impl fmt::Write for ShortText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        match self {
            Self::Inline { bytes, length } if *length + more.len() <= INLINE_LENGTH => {
                bytes[*length..*length + more.len()].copy_from_slice(more.as_bytes());
                *length += more.len();
            }
            Self::Inline { .. } => *self = Self::Long([self.as_str(), more].concat()),
            Self::Long(text) => text.push_str(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn short_text_equals_the_parts_that_were_written(parts in proptest::collection::vec(".{0,20}", 0..5)) {
            let mut text = ShortText::format(format_args!(""));
            for part in &parts {
                text.write_str(part).expect("memory can be written");
            }
            prop_assert_eq!(text.as_str(), parts.concat());
        }
    }
}
