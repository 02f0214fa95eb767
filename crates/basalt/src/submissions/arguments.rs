//! Arguments of the commands for submissions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use functions_rs::submissions::export::ExportFormat;
use functions_rs::submissions::filter::{SubmissionFilter, SubmissionStatus, parse_search, parse_time};
use uuid::Uuid;

/// Which submissions.
#[derive(Debug, Args)]
pub(crate) struct SubmissionFilterArguments {
    /// Only submissions of this status
    #[arg(long, value_name = "STATUS", value_parser = ["new", "answered", "closed", "spam"])]
    pub status: Option<String>,
    /// Only submissions about this template
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=9999))]
    pub template: Option<u16>,
    /// The first day (UTC), such as 2026-11-21, or a time with its zone
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// The last day (UTC), or the time before which they came
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

impl SubmissionFilterArguments {
    /// Returns the filter with a search.
    ///
    /// # Errors
    /// A value is invalid.
    pub(crate) fn to_filter(&self, search: Option<&str>) -> anyhow::Result<SubmissionFilter> {
        let refuse = |invalid: functions_rs::submissions::error::InvalidInput| anyhow::anyhow!("--{}", invalid.message);
        let time = |name, text: &Option<String>, is_end| text.as_deref().map(|text| parse_time(name, text, is_end));
        Ok(SubmissionFilter {
            search: search.map(parse_search).transpose().map_err(refuse)?,
            status: self.status.as_deref().map(SubmissionStatus::parse).transpose().map_err(refuse)?,
            template: self.template,
            from: time("from", &self.from, false).transpose().map_err(refuse)?,
            until: time("to", &self.to, true).transpose().map_err(refuse)?,
        })
    }
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct SubmissionListArguments {
    #[command(flatten)]
    pub filter: SubmissionFilterArguments,
    #[command(flatten)]
    pub output: SubmissionOutputArguments,
}

/// How lists are printed.
#[derive(Debug, Args)]
pub(crate) struct SubmissionOutputArguments {
    /// Maximum number of submissions to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// Print one submission per line, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct SubmissionSearchArguments {
    /// Words, or beginnings of words, that the text or the sender's address must all have
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub filter: SubmissionFilterArguments,
    #[command(flatten)]
    pub output: SubmissionOutputArguments,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct SubmissionShowArguments {
    /// The id of a submission
    #[arg(value_name = "ID")]
    pub id: Uuid,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct SubmissionExportArguments {
    /// The file, created readable by its owner only; - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The format [default: that of the file's name, otherwise csv]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<SubmissionFileFormat>,
    /// Only submissions that have all these words
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Write over an existing file
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filter: SubmissionFilterArguments,
}

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SubmissionFileFormat {
    /// Comma-separated values with a header line
    Csv,
    /// An array of objects
    Json,
}

impl SubmissionExportArguments {
    /// Returns the requested format, or that of the file's name.
    pub(crate) fn export_format(&self) -> ExportFormat {
        let is_json = self.file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        match self.format {
            Some(SubmissionFileFormat::Json) => ExportFormat::Json,
            None if is_json => ExportFormat::Json,
            Some(SubmissionFileFormat::Csv) | None => ExportFormat::Csv,
        }
    }
}

/// Arguments of `delete`.
#[derive(Debug, Args)]
pub(crate) struct SubmissionDeleteArguments {
    /// The ids of submissions
    #[arg(value_name = "ID", required = true, num_args = 1..=200)]
    pub ids: Vec<Uuid>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}
