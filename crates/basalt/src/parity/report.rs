//! The report: as text, as JSON, and as an exit status.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::database::DatabaseReport;
use super::finding::{Finding, Verdict};
use super::lists::{mark, write_list};
use super::services::{ServiceFinding, ServiceOutcome};
use super::switch::SwitchPlan;
use crate::plural::format_count;

/// Everything that is reported.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What was read.
    pub title: String,
    /// Whether the database alone was looked at.
    pub is_without_settings: bool,
    /// The settings.
    pub findings: Vec<Finding>,
    /// Variables of other programs.
    pub other_names: Vec<String>,
    /// Why settings may be missing in this report.
    pub unread: Vec<String>,
    /// Why Basalt would not start.
    pub problems: Vec<String>,
    /// What may not have the intended effect.
    pub warnings: Vec<String>,
    /// Statements of migrations and seed files that Basalt skips.
    pub skipped: Vec<String>,
    /// The services of a Compose file.
    pub services: Vec<ServiceFinding>,
    /// What the data API serves, of a `config.toml`.
    pub data_api: Option<String>,
    /// Providers that the settings do not enable.
    pub disabled_providers: Vec<String>,
    /// The database, if it was read.
    pub database: Option<DatabaseReport>,
    /// The commands to switch.
    pub switch: SwitchPlan,
}

impl Report {
    /// Returns whether anything is to be looked at before switching.
    pub(crate) fn matters(&self) -> bool {
        self.findings.iter().any(|finding| finding.matters)
            || !self.problems.is_empty()
            || !self.unread.is_empty()
            || !self.skipped.is_empty()
            || self.database.as_ref().is_some_and(DatabaseReport::matters)
    }

    fn select(&self, is_selected: fn(&Verdict) -> bool) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| is_selected(&finding.verdict)).collect()
    }

    fn honoured(&self) -> Vec<&Finding> {
        self.select(|verdict| *verdict == Verdict::Honoured)
    }
}

/// Writes the report for a reader.
pub(crate) fn write_text(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.is_without_settings {
        writeln!(out, "{}", report.title)?;
    } else {
        write_settings(report, out)?;
    }
    if let Some(database) = &report.database {
        database.write_text(out)?;
    }
    write_commands(out, "To switch", &report.switch.forward)?;
    write_commands(out, "To switch back", &report.switch.back)?;
    let conclusion =
        if report.matters() { "Look at the lines with ! before switching." } else { "Nothing stands in the way." };
    writeln!(out, "\n{conclusion}")
}

fn write_settings(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let honoured = report.honoured();
    let without_effect = report.select(|verdict| matches!(verdict, Verdict::NoEffect(_)));
    let different = report.select(|verdict| matches!(verdict, Verdict::Different { .. }));
    let unknown = report.select(|verdict| matches!(verdict, Verdict::Unknown(_)));
    writeln!(
        out,
        "{}: {} honoured, {} without effect, {} different, {} unknown",
        report.title,
        format_count(honoured.len(), "setting"),
        without_effect.len(),
        different.len(),
        unknown.len()
    )?;
    write_list(out, "Basalt would not start with this", &report.problems)?;
    write_list(out, "Not read, so that settings may be missing here", &mark(&report.unread))?;
    write_list(out, "Statements of the project that Basalt skips", &mark(&report.skipped))?;
    write_findings(out, "Unknown, here and in the reference", &unknown)?;
    write_findings(out, "Different (the rows are in docs/compatibility.md)", &different)?;
    write_findings(out, "Without effect", &without_effect)?;
    write_list(out, "Warnings", &report.warnings)?;
    let names: Vec<String> = honoured.iter().map(|finding| finding.name.clone()).collect();
    write_list(out, "Honoured", &names)?;
    if !report.other_names.is_empty() {
        writeln!(out, "\nNot read by the auth server: {}", report.other_names.join(", "))?;
    }
    let services = report.services.iter().map(|service| format!("{}: {}", service.name, service.text));
    write_list(out, "Services", &services.collect::<Vec<_>>())?;
    report.data_api.iter().try_for_each(|line| writeln!(out, "\n{line}"))
}

fn write_findings(out: &mut dyn Write, title: &str, findings: &[&Finding]) -> io::Result<()> {
    let lines: Vec<String> = findings.iter().map(|finding| format_finding(finding)).collect();
    write_list(out, title, &lines)
}

fn format_finding(finding: &Finding) -> String {
    let mark = if finding.matters { "! " } else { "" };
    let place = finding.line.map_or_else(String::new, |line| format!(" (line {line})"));
    let text = match &finding.verdict {
        Verdict::Honoured => String::new(),
        Verdict::NoEffect(why) => format!(": {why}"),
        Verdict::Different { how, row } => format!(": {how} [{row}]"),
        Verdict::Unknown(Some(suggestion)) => format!(": did you mean {suggestion}?"),
        Verdict::Unknown(None) => ": it has no effect".to_owned(),
    };
    format!("{mark}{}{place}{text}", finding.name)
}

/// Writes commands without indentation, so that they can be copied.
fn write_commands(out: &mut dyn Write, title: &str, commands: &[String]) -> io::Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}\n")?;
    commands.iter().try_for_each(|command| writeln!(out, "{command}"))
}

/// Writes the report as one JSON object.
pub(crate) fn write_json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let settings: Vec<Value> = report.findings.iter().map(finding_to_json).collect();
    let services = report.services.iter().map(|service| {
        let outcome = match service.outcome {
            ServiceOutcome::Replaced => "replaced",
            ServiceOutcome::Forwarded => "forwarded",
            ServiceOutcome::Kept => "kept",
        };
        json!({"name": service.name, "outcome": outcome, "text": service.text})
    });
    let value = json!({
        "source": report.title,
        "settings": settings,
        "other_variables": report.other_names,
        "problems": report.problems,
        "unread": report.unread,
        "warnings": report.warnings,
        "skipped_statements": report.skipped,
        "services": services.collect::<Vec<_>>(),
        "data_api": report.data_api,
        "database": report.database.as_ref().map(DatabaseReport::to_json),
        "switch": report.switch.forward,
        "switch_back": report.switch.back,
        "matters": report.matters(),
    });
    writeln!(out, "{value:#}")
}

fn finding_to_json(finding: &Finding) -> Value {
    let mut value = json!({"name": finding.name, "matters": finding.matters});
    if let Some(line) = finding.line {
        value["line"] = json!(line);
    }
    let (verdict, details) = match &finding.verdict {
        Verdict::Honoured => ("honoured", vec![]),
        Verdict::NoEffect(why) => ("no_effect", vec![("why", why.as_str())]),
        Verdict::Different { how, row } => ("different", vec![("how", *how), ("row", *row)]),
        Verdict::Unknown(suggestion) => {
            ("unknown", suggestion.iter().map(|suggestion| ("suggestion", suggestion.as_str())).collect())
        }
    };
    value["verdict"] = json!(verdict);
    for (name, text) in details {
        value[name] = json!(text);
    }
    value
}
