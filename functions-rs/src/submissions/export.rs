//! Export of submissions as CSV (RFC 4180) or JSON, in parts.

use serde_json::{Value, json};

use super::error::InvalidInput;
use super::records::{SubmissionRecord, format_time};
use crate::functions::send_submission::TemplateTitles;

/// The columns, which are also the members of the JSON objects.
const COLUMNS: [&str; 10] = [
    "id",
    "created_at",
    "status",
    "template",
    "template_title",
    "senders",
    "replies",
    "delivery",
    "spam_score",
    "description",
];

/// A format of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values with a header line.
    Csv,
    /// An array of objects.
    Json,
}

impl ExportFormat {
    /// Finds a format by its name.
    ///
    /// # Errors
    /// There is no such format.
    pub fn parse(name: &str) -> Result<Self, InvalidInput> {
        match name {
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            _ => Err(InvalidInput::new("format must be csv or json")),
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
        }
    }

    /// Returns the header that names the file.
    pub fn disposition(self) -> &'static str {
        match self {
            Self::Csv => "attachment; filename=\"submissions.csv\"",
            Self::Json => "attachment; filename=\"submissions.json\"",
        }
    }

    /// Returns what precedes the first submission.
    pub fn start(self) -> String {
        match self {
            Self::Csv => COLUMNS.join(",") + "\r\n",
            Self::Json => "[".to_owned(),
        }
    }

    /// Returns what follows the last submission.
    pub fn end(self) -> &'static str {
        match self {
            Self::Csv => "",
            Self::Json => "\n]\n",
        }
    }

    /// Formats a submission; `is_first` says whether none precedes it.
    pub fn format(self, submission: &SubmissionRecord, titles: &TemplateTitles, is_first: bool) -> String {
        let values = list_values(submission, titles);
        match self {
            Self::Csv => {
                let cells: Vec<String> = values.iter().map(format_cell).collect();
                cells.join(",") + "\r\n"
            }
            Self::Json => {
                let members = COLUMNS.iter().map(|name| (*name).to_owned()).zip(values).collect();
                format!("{}\n{}", if is_first { "" } else { "," }, Value::Object(members))
            }
        }
    }
}

fn list_values(submission: &SubmissionRecord, titles: &TemplateTitles) -> [Value; COLUMNS.len()] {
    [
        json!(submission.id),
        json!(format_time(submission.created_at)),
        json!(submission.status.as_str()),
        json!(submission.template),
        json!(submission.template.and_then(|id| titles.find(id))),
        json!(submission.list_senders()),
        json!(submission.replies),
        json!(submission.delivery()),
        json!(submission.spam_score),
        json!(submission.description),
    ]
}

/// Formats a cell. A text that a spreadsheet would take for a formula gets an apostrophe in front.
fn format_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if guard.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        return text;
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads one line of cells (RFC 4180).
    fn read_cells(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' if is_quoted && rest.peek() == Some(&'"') => {
                    rest.next();
                    cell.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
                _ => cell.push(c),
            }
        }
        cells.push(cell);
        cells
    }

    #[test]
    fn formulas_are_text() {
        for (text, cell) in
            [("=1+1", "\"'=1+1\""), ("-x", "\"'-x\""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("ä", "ä")]
        {
            assert_eq!(format_cell(&json!(text)), cell);
        }
    }

    proptest! {
        #[test]
        fn cells_are_read_back(texts in proptest::collection::vec("[a-z,\"\n\r' =é]{0,12}", 1..5)) {
            let line: Vec<String> = texts.iter().map(|text| format_cell(&json!(text))).collect();
            let expected: Vec<String> = texts.iter().map(|text| {
                let guard = if text.starts_with(['=', '\r']) { "'" } else { "" };
                format!("{guard}{text}")
            }).collect();
            prop_assert_eq!(read_cells(&line.join(",")), expected);
        }
    }
}
