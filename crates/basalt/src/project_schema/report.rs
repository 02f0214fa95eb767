//! What the database of a project lacks: statements that were skipped, and functions that hooks call.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use gotrue_rs::config::Notice;
use platform::store::migrate::SkippedStatement;
use serde::Serialize;
use serde_json::{Value, json};

use crate::logging::log_notices;
use crate::plural::format_count;

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
    /// The SQL files beside the migrations that were left out for their names.
    pub left_out: Option<Notice>,
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
    /// Whether roles may do more because the statement did not run.
    restricts_access: bool,
}

impl ProjectReport {
    /// Returns whether the project may work differently than on Supabase.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.skipped.iter().any(|skipped| !skipped.is_note)
    }

    /// Logs the statements that were skipped and the files that were left out, for a server.
    pub(crate) fn log(&self) {
        for skipped in &self.skipped {
            let (file, line, reason) = (&skipped.path, skipped.line, skipped.reason.as_str());
            if skipped.is_note {
                tracing::info!(
                    file,
                    line,
                    reason,
                    "left out or changed a statement that nothing else of the project needs"
                );
            } else {
                tracing::warn!(file, line, reason, "skipped a statement of the project");
            }
        }
        log_notices(self.left_out.as_slice());
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
            restricts_access: skipped.restricts_access(),
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

    /// Returns a line for each skipped statement and each missing function: first those that restrict access, all of them,
    /// then those with the same cause together.
    ///
    /// Without `is_complete`, a cause has at most 20 statements.
    pub(crate) fn lines(&self, is_complete: bool) -> Vec<String> {
        let sections = self.sections(is_complete).into_iter().flat_map(|(_, lines)| lines);
        sections.chain(self.missing_functions.iter().map(ToString::to_string)).collect()
    }

    /// Returns the same lines, each kind of statements indented below a title.
    pub(crate) fn titled_lines(&self, is_complete: bool) -> Vec<String> {
        let mut titled = Vec::new();
        for (title, lines) in self.sections(is_complete) {
            titled.push(title);
            titled.extend(lines.into_iter().map(|line| format!("  {line}")));
        }
        titled.extend(self.missing_functions.iter().map(ToString::to_string));
        titled
    }

    /// Returns title and lines of each kind of statements that there are.
    fn sections(&self, is_complete: bool) -> Vec<(String, Vec<String>)> {
        let most = if is_complete { usize::MAX } else { MAX_SHOWN };
        let mut sections = Vec::new();
        let mut remedies = HashSet::new();
        for (list, title) in self.lists() {
            if list.is_empty() {
                continue;
            }
            let mut lines = Vec::new();
            for cause in group_by_cause(&list) {
                let most = if cause.statements[0].restricts_access() { usize::MAX } else { most };
                lines.extend(cause.statements.iter().take(most).map(|skipped| format_skipped(skipped, &mut remedies)));
                let more = cause.statements.len().saturating_sub(most);
                if more > 0 {
                    lines.push(format!("  and {more} more{}: `basalt check --all` lists them", cause.describe()));
                }
            }
            sections.push((title, lines));
        }
        sections
    }

    /// Returns the skipped statements that restrict access, the others and the notes, each with a title.
    fn lists(&self) -> [(Vec<&SkippedStatement>, String); 3] {
        let (notes, skipped): (Vec<_>, Vec<_>) = self.skipped.iter().partition(|skipped| skipped.is_note);
        let (restricting, others): (Vec<&SkippedStatement>, Vec<_>) =
            skipped.into_iter().partition(|skipped| skipped.restricts_access());
        let title = |list: &[&SkippedStatement], one: &str, several: &str| {
            format!("{} {}", format_count(list.len(), "statement"), if list.len() == 1 { one } else { several })
        };
        let titles = [
            title(
                &restricting,
                "that restricts access was skipped, without which roles may do more:",
                "that restrict access were skipped, without which roles may do more:",
            ),
            title(
                &others,
                "of the project was skipped; the rest was applied:",
                "of the project were skipped; the rest was applied:",
            ),
            title(
                &notes,
                "was left out or changed that nothing else of the project needs:",
                "were left out or changed that nothing else of the project needs:",
            ),
        ];
        let [first, second, third] = titles;
        [(restricting, first), (others, second), (notes, third)]
    }

    /// Names the command for extensions if a statement failed without one: only these have a remedy.
    pub(crate) fn extensions_pointer(&self) -> Option<&'static str> {
        self.skipped.iter().any(|skipped| skipped.remedy.is_some()).then_some(EXTENSIONS_POINTER)
    }

    /// Returns a text for a terminal; empty if nothing is missing.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut remedies = HashSet::new();
        for (list, title) in self.lists() {
            if list.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{title}");
            for skipped in list.iter().take(MAX_SHOWN) {
                let _ = writeln!(text, "  {}", format_skipped(skipped, &mut remedies));
            }
            if list.len() > MAX_SHOWN {
                let _ = writeln!(text, "  and {} more: `basalt check --all` lists them all", list.len() - MAX_SHOWN);
            }
        }
        if let Some(pointer) = self.extensions_pointer() {
            let _ = writeln!(text, "{pointer}");
        }
        for notice in self.left_out.iter().chain(&self.missing_functions) {
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

/// Statements that were skipped for one reason.
struct SkippedCause<'a> {
    /// In the order in which they would have run.
    statements: Vec<&'a SkippedStatement>,
}

impl SkippedCause<'_> {
    /// Returns the object without which the others fail, as the end of a sentence.
    fn describe(&self) -> String {
        let first = self.statements.first().and_then(|skipped| skipped.find_missing_object());
        first.map_or_else(|| " for this reason".to_owned(), |object| format!(" because of {object}"))
    }
}

/// Groups statements with the first one that failed and without whose object they fail, or by extension or reason.
fn group_by_cause<'a>(skipped: &[&'a SkippedStatement]) -> Vec<SkippedCause<'a>> {
    let mut causes: Vec<SkippedCause<'a>> = Vec::new();
    let mut of_object: HashMap<String, usize> = HashMap::new();
    let mut of_reason: HashMap<&str, usize> = HashMap::new();
    for statement in skipped {
        let key = statement.remedy.as_deref().unwrap_or(&statement.reason);
        let found = find_named_objects(&statement.reason).find_map(|name| of_object.get(name));
        let at = found.or_else(|| of_reason.get(key)).copied().unwrap_or_else(|| {
            causes.push(SkippedCause { statements: Vec::new() });
            causes.len() - 1
        });
        of_reason.entry(key).or_insert(at);
        causes[at].statements.push(statement);
        if let Some(object) = statement.find_missing_object() {
            of_object.entry(object.name).or_insert(at);
        }
    }
    causes
}

/// Returns the names, without schema, of the objects that a message says do not exist.
fn find_named_objects(reason: &str) -> impl Iterator<Item = &str> {
    let is_missing = reason.contains("does not exist");
    let quoted = reason.split('"').skip(1).step_by(2);
    let function = reason.strip_prefix("function ").and_then(|rest| rest.split('(').next());
    let names = quoted.chain(function).filter(move |_| is_missing);
    names.map(|name| name.rsplit('.').next().unwrap_or(name))
}

/// Formats file, line, reason, missing object and remedy, if that is not one of `remedies`, which have been said.
fn format_skipped<'a>(skipped: &'a SkippedStatement, remedies: &mut HashSet<&'a str>) -> String {
    let mut line = format!("{}:{}: {}", skipped.path, skipped.line, shorten(&skipped.reason));
    let is_there = skipped.reason.contains(" already exists");
    if let Some(object) = skipped.find_missing_object().filter(|_| !is_there) {
        let _ = write!(line, " [without {object}]");
    }
    if let Some(remedy) = skipped.remedy.as_deref().filter(|remedy| remedies.insert(remedy)) {
        let _ = write!(line, " ({remedy})");
    }
    if skipped.restricts_access() {
        line.push_str(" [it restricts access: without it roles may do more]");
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
        let report = ProjectReport { skipped: vec![skipped(3, false), skipped(9, true)], ..ProjectReport::default() };
        let text = report.to_text();
        let line = "  supabase/migrations/1_a.sql:3: relation \"t\" does not exist [without policy p on t]";
        assert!(
            text.starts_with("1 statement of the project was skipped; the rest was applied:\n") && text.contains(line)
        );
        let titled = report.titled_lines(false);
        assert_eq!(titled.len(), 4, "{titled:?}");
        assert!(titled[0].ends_with("the rest was applied:") && titled[1] == line, "{titled:?}");
        assert!(
            titled[2].starts_with("1 statement was left out") && titled[3].starts_with("  supabase/"),
            "{titled:?}"
        );
        assert!(text.contains("\n1 statement was left out or changed") && report.is_incomplete());
        assert_eq!(report.readiness_details(false), Some(json!({ "skipped_statements": 1 })));
        assert_eq!(report.readiness_details(true).expect("details")["skipped"][0]["line"], 3);
        let notes = ProjectReport { skipped: vec![skipped(9, true)], ..ProjectReport::default() };
        assert!(!notes.is_incomplete() && ProjectReport::default().to_text().is_empty());
    }

    #[test]
    fn files_that_were_left_out_are_named() {
        let left_out = Some(Notice::warning("supabase/migrations", "83 files are left out"));
        let report = ProjectReport { left_out, ..ProjectReport::default() };
        assert_eq!(report.to_text(), "supabase/migrations: 83 files are left out\n");
        assert!(!report.is_incomplete());
    }

    #[test]
    fn remedy_is_said_once() {
        let with_remedy =
            |line| SkippedStatement { remedy: Some("apt-get install x".to_owned()), ..skipped(line, false) };
        let report = ProjectReport { skipped: (1..4).map(with_remedy).collect(), ..ProjectReport::default() };
        for text in [report.to_text(), report.lines(true).join("\n")] {
            assert_eq!(text.matches("apt-get install x").count(), 1, "{text}");
        }
    }

    #[test]
    fn long_lists_are_shortened() {
        let report =
            ProjectReport { skipped: (1..30).map(|n| skipped(n, false)).collect(), ..ProjectReport::default() };
        let text = report.to_text();
        assert_eq!(text.lines().count(), MAX_SHOWN + 2);
        assert!(text.ends_with("  and 9 more: `basalt check --all` lists them all\n"), "{text}");
    }
}
