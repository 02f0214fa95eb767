//! What the database of a project lacks: statements that were skipped, and functions that hooks call.

use std::fmt::Write as _;
use std::process::ExitCode;

use gotrue_rs::config::Notice;
use platform::store::migrate::SkippedStatement;
use serde::Serialize;
use serde_json::{Value, json};

/// The exit status of a test run on a database that lacks statements of the project.
pub(crate) const INCOMPLETE_STATUS: u8 = 4;
/// The largest number of statements in a text for a terminal.
const MAX_SHOWN: usize = 20;
/// Where extensions are explained and installed.
const EXTENSIONS_POINTER: &str = "`basalt db extensions` lists the extensions of the project and what installs them";
/// The longest reason, in characters.
const MAX_REASON: usize = 300;

/// What the database of a project lacks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectReport {
    /// Statements that were skipped.
    pub skipped: Vec<SkippedStatement>,
    /// Hooks whose functions do not exist.
    pub missing_functions: Vec<Notice>,
}

/// A skipped statement in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct SkippedLine<'a> {
    file: &'a str,
    line: usize,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
    /// Whether nothing else of the project depends on the statement.
    note: bool,
}

impl ProjectReport {
    /// Returns whether the project may work differently than on Supabase.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.skipped.iter().any(|skipped| !skipped.is_note)
    }

    /// Returns the skipped statements for JSON.
    pub(crate) fn list_skipped<'a>(&'a self) -> Vec<SkippedLine<'a>> {
        let build = |skipped: &'a SkippedStatement| SkippedLine {
            file: &skipped.path,
            line: skipped.line,
            reason: shorten(&skipped.reason),
            missing: skipped.find_missing_object().map(|object| object.to_string()),
            remedy: skipped.remedy.as_deref(),
            note: skipped.is_note,
        };
        self.skipped.iter().map(build).collect()
    }

    /// Returns the details for `/readyz`: the statements only where development pages are served.
    pub(crate) fn readiness_details(&self, is_development: bool) -> Option<Value> {
        if self.skipped.is_empty() {
            return None;
        }
        let count = self.skipped.iter().filter(|skipped| !skipped.is_note).count();
        let mut details = json!({ "skipped_statements": count });
        if is_development {
            details["skipped"] = json!(self.list_skipped());
        }
        Some(details)
    }

    /// Returns a line for each skipped statement and each missing function.
    pub(crate) fn lines(&self) -> Vec<String> {
        let skipped = self.skipped.iter().map(format_skipped);
        skipped.chain(self.missing_functions.iter().map(ToString::to_string)).collect()
    }

    /// Names the command for extensions if a statement failed without one: only these have a remedy.
    pub(crate) fn extensions_pointer(&self) -> Option<&'static str> {
        self.skipped.iter().any(|skipped| skipped.remedy.is_some()).then_some(EXTENSIONS_POINTER)
    }

    /// Returns a text for a terminal; empty if nothing is missing.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let (notes, skipped): (Vec<_>, Vec<_>) = self.skipped.iter().partition(|skipped| skipped.is_note);
        let lists = [
            (skipped, "statements of the project were skipped; the rest was applied:"),
            (notes, "extensions are not there, which nothing else of the project needs:"),
        ];
        for (list, title) in lists {
            if list.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{} {title}", list.len());
            for skipped in list.iter().take(MAX_SHOWN) {
                let _ = writeln!(text, "  {}", format_skipped(skipped));
            }
            if list.len() > MAX_SHOWN {
                let _ = writeln!(text, "  and {} more: `basalt check` lists them all", list.len() - MAX_SHOWN);
            }
        }
        if let Some(pointer) = self.extensions_pointer() {
            let _ = writeln!(text, "{pointer}");
        }
        for notice in &self.missing_functions {
            let _ = writeln!(text, "{notice}");
        }
        text
    }

    /// Returns the exit status of a test run that was successful otherwise, and reports on standard error what is missing.
    pub(crate) fn exit_code(&self, is_allowed: bool) -> ExitCode {
        if is_allowed || !self.is_incomplete() {
            return ExitCode::SUCCESS;
        }
        eprint!("{}", self.to_text());
        eprintln!(
            "basalt: exit status {INCOMPLETE_STATUS} because of the skipped statements; --allow-skipped ignores them"
        );
        ExitCode::from(INCOMPLETE_STATUS)
    }
}

/// Formats file, line, reason, missing object and remedy.
fn format_skipped(skipped: &SkippedStatement) -> String {
    let mut line = format!("{}:{}: {}", skipped.path, skipped.line, shorten(&skipped.reason));
    let is_there = skipped.reason.contains(" already exists");
    if let Some(object) = skipped.find_missing_object().filter(|_| !is_there) {
        let _ = write!(line, " [without {object}]");
    }
    if let Some(remedy) = &skipped.remedy {
        let _ = write!(line, " ({remedy})");
    }
    line
}

/// Returns the first line of a message, of limited length.
fn shorten(reason: &str) -> String {
    reason.chars().map(|next| if next.is_control() { ' ' } else { next }).take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(line: usize, is_note: bool) -> SkippedStatement {
        SkippedStatement {
            path: "supabase/migrations/1_a.sql".to_owned(),
            ordinal: line,
            line,
            statement: "create policy p on t".to_owned(),
            reason: "relation \"t\" does\nnot exist".to_owned(),
            remedy: None,
            is_note,
        }
    }

    #[test]
    fn text_lists_statements_apart_from_notes() {
        let report =
            ProjectReport { skipped: vec![skipped(3, false), skipped(9, true)], missing_functions: Vec::new() };
        let text = report.to_text();
        let line = "  supabase/migrations/1_a.sql:3: relation \"t\" does not exist [without policy p on t]";
        assert!(
            text.starts_with("1 statements of the project were skipped; the rest was applied:\n")
                && text.contains(line)
        );
        assert!(text.contains("\n1 extensions are not there") && report.is_incomplete());
        assert_eq!(report.readiness_details(false), Some(json!({ "skipped_statements": 1 })));
        assert_eq!(report.readiness_details(true).expect("details")["skipped"][0]["line"], 3);
        let notes = ProjectReport { skipped: vec![skipped(9, true)], missing_functions: Vec::new() };
        assert!(!notes.is_incomplete() && ProjectReport::default().to_text().is_empty());
    }

    #[test]
    fn long_lists_are_shortened() {
        let report =
            ProjectReport { skipped: (1..30).map(|n| skipped(n, false)).collect(), ..ProjectReport::default() };
        let text = report.to_text();
        assert_eq!(text.lines().count(), MAX_SHOWN + 2);
        assert!(text.ends_with("  and 9 more: `basalt check` lists them all\n"), "{text}");
    }
}
