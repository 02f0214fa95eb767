//! Export of submissions as CSV (RFC 4180) or JSON, in parts.

use foundation::csv::format_csv_cell;
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

/// Formats a value as a cell; an array is its texts, separated by spaces.
fn format_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    format_csv_cell(&text)
}
