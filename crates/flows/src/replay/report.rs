//! Reports: text for a terminal, JSON, and the XML of `JUnit`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::outcome::FileOutcome;

/// The most differences of a step that the text shows.
const MAX_SHOWN: usize = 8;

/// The outcome of all flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Flows without a difference.
    pub passed: usize,
    /// The others.
    pub failed: usize,
}

impl Report {
    /// Counts the outcomes.
    pub fn of(outcomes: &[FileOutcome]) -> Self {
        let passed = outcomes.iter().filter(|file| file.outcome.is_success()).count();
        Self { passed, failed: outcomes.len() - passed }
    }
}

/// Formats the outcome of one file: a line, and its differences.
pub fn format_text(file: &FileOutcome) -> String {
    let seconds = file.duration.as_secs_f64();
    let steps = file.outcome.steps.len();
    if file.outcome.is_success() {
        return format!("ok    {} ({steps} steps, {seconds:.1} s)", file.name);
    }
    let differing = file.outcome.steps.iter().filter(|step| !step.differences.is_empty());
    let mut text = format!("FAIL  {} ({}, {seconds:.1} s)", file.name, file.path.display());
    for step in differing {
        let _ = write!(text, "\n  step {} {}", step.number, step.title);
        for difference in step.differences.iter().take(MAX_SHOWN) {
            let _ = write!(text, "\n    {}", difference.to_lines().replace('\n', "\n    "));
        }
        if step.differences.len() > MAX_SHOWN {
            let _ = write!(text, "\n    and {} more differences", step.differences.len() - MAX_SHOWN);
        }
    }
    if let Some(error) = &file.outcome.error {
        let _ = write!(text, "\n  {}\n    {}", error.problem, error.hint);
    }
    text
}

/// Formats all outcomes as JSON.
pub fn format_json(outcomes: &[FileOutcome]) -> String {
    let flows: Vec<Value> = outcomes.iter().map(describe).collect();
    let Report { passed, failed } = Report::of(outcomes);
    format!("{}\n", json!({ "passed": passed, "failed": failed, "flows": flows }))
}

fn describe(file: &FileOutcome) -> Value {
    let differences = file.outcome.steps.iter().flat_map(|step| {
        step.differences.iter().map(|difference| {
            json!({
                "step": step.number, "title": step.title, "path": difference.path,
                "expected": difference.expected, "actual": difference.actual,
            })
        })
    });
    let error = file.outcome.error.as_ref().map(|error| json!({ "problem": error.problem, "hint": error.hint }));
    json!({
        "flow": file.name,
        "file": file.path.display().to_string(),
        "passed": file.outcome.is_success(),
        "steps": file.outcome.steps.len(),
        "seconds": file.duration.as_secs_f64(),
        "differences": differences.collect::<Vec<_>>(),
        "error": error,
    })
}

/// Formats all outcomes for CI systems that read the XML of `JUnit`.
pub fn format_junit(outcomes: &[FileOutcome]) -> String {
    let Report { failed, .. } = Report::of(outcomes);
    let seconds: f64 = outcomes.iter().map(|file| file.duration.as_secs_f64()).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"basalt replay\" tests=\"{}\" failures=\"{failed}\" time=\"{seconds:.3}\">\n",
        outcomes.len()
    );
    for file in outcomes {
        let (area, name) = file.name.split_once('.').unwrap_or(("flows", &file.name));
        let _ = write!(
            text,
            "  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3}\"",
            escape(area),
            escape(name),
            escape(&file.path.display().to_string()),
            file.duration.as_secs_f64()
        );
        if file.outcome.is_success() {
            text.push_str("/>\n");
        } else {
            let _ = write!(
                text,
                ">\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                escape(&summary(file)),
                escape(&format_text(file))
            );
        }
    }
    text.push_str("</testsuite>\n");
    text
}

fn summary(file: &FileOutcome) -> String {
    let count = file.outcome.steps.iter().filter(|step| !step.differences.is_empty()).count();
    match &file.outcome.error {
        Some(error) => error.problem.clone(),
        None => format!("{count} steps differ"),
    }
}

/// Escapes text for XML 1.0, which has no other control characters than these.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for each in text.chars() {
        match each {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(each),
            each if each.is_control() || matches!(each, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            each => escaped.push(each),
        }
    }
    escaped
}
