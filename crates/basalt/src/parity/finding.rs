//! Findings: what becomes of a setting.

/// What becomes of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It has the same effect.
    Honoured,
    /// It has no effect, for a reason.
    NoEffect(String),
    /// It has an effect that differs from that in the reference.
    Different {
        /// The difference.
        how: &'static str,
        /// The first cell of its row in `docs/compatibility.md`.
        row: &'static str,
    },
    /// Neither the reference nor Basalt knows it; perhaps another name is meant.
    Unknown(Option<String>),
}

/// A setting and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The name of the variable or key.
    pub name: String,
    /// The line of a key, from 1.
    pub line: Option<usize>,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Whether to look at it before switching.
    pub matters: bool,
}

impl Finding {
    /// Creates a finding of a setting that has its usual effect.
    pub(super) fn honoured(name: &str) -> Self {
        Self { name: name.to_owned(), line: None, verdict: Verdict::Honoured, matters: false }
    }

    /// Creates a finding of a setting without effect.
    pub(super) fn no_effect(name: &str, why: impl Into<String>, matters: bool) -> Self {
        Self { name: name.to_owned(), line: None, verdict: Verdict::NoEffect(why.into()), matters }
    }

    /// Creates a finding of an unknown name.
    pub(super) fn unknown(name: &str, suggestion: Option<String>) -> Self {
        Self { name: name.to_owned(), line: None, verdict: Verdict::Unknown(suggestion), matters: true }
    }

    /// Adds the line.
    pub(super) fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}
