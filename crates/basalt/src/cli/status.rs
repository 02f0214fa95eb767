//! `basalt status`: prints the URLs and keys of a project.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::announce::{Announcement, RunningServer};
use crate::api_keys;
use crate::project::{Project, ProjectArguments};
use crate::serve::desk::find_desk_url;

/// The exit status if no server runs.
const NOT_RUNNING: u8 = 3;

/// The arguments of `basalt status`.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// Print URLs and keys by the names of the Supabase CLI
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

/// The formats of `--output`, those of `supabase status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// Lines of the form NAME="value"
    Env,
    /// A JSON object
    Json,
}

/// Prints the announcement of `basalt serve` from the files in the data folder.
///
/// Returns exit status 3 if no server runs.
pub(crate) fn run(arguments: &StatusArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    let Some(keys) = api_keys::load(&project.data)? else {
        let folder = project.data.display();
        eprintln!("basalt: nothing was started yet with the folder {folder}: `basalt serve` makes keys and database");
        return Ok(ExitCode::from(NOT_RUNNING));
    };
    let running = RunningServer::read(&project.data);
    let keys = running.as_ref().map_or(keys.clone(), |running| running.with_current_keys(keys));
    let url = running.as_ref().map_or_else(|| project.api_url(project.file.port()), |running| running.url.clone());
    let announcement = Announcement::new(&url, &keys, running.as_ref().map(|running| running.database_url.as_str()))
        .with_tcp_url(running.as_ref().and_then(|running| running.database_url_tcp.as_deref()))
        .with_desk(find_desk_url(&project, &url));
    let mut out = std::io::stdout().lock();
    match arguments.output {
        Some(format) => write!(out, "{}", format_variables(&announcement.cli_variables(), format)?)?,
        None if arguments.json => writeln!(out, "{}", announcement.into_json_status(running.is_some())?)?,
        None => {
            let state = if running.is_some() { "Basalt is running." } else { "Basalt is not running. Once it is:" };
            writeln!(out, "{}", announcement.to_text(state))?;
        }
    }
    Ok(if running.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NOT_RUNNING) })
}

fn format_variables(variables: &[(&str, &str)], format: OutputFormat) -> serde_json::Result<String> {
    match format {
        OutputFormat::Env => {
            let line = |(name, value): &(&str, &str)| format!("{name}=\"{}\"\n", escape_value(value));
            Ok(variables.iter().map(line).collect())
        }
        OutputFormat::Json => {
            let by_name: BTreeMap<&str, &str> = variables.iter().copied().collect();
            Ok(serde_json::to_string_pretty(&by_name)? + "\n")
        }
    }
}

/// Escapes what a shell or a `.env` file interprets between double quotes.
fn escape_value(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_printed_as_lines_and_as_json() {
        let variables = [("API_URL", "http://127.0.0.1:54321"), ("JWT_SECRET", "a\"b$c")];
        let lines = format_variables(&variables, OutputFormat::Env).expect("lines");
        assert_eq!(lines, "API_URL=\"http://127.0.0.1:54321\"\nJWT_SECRET=\"a\\\"b\\$c\"\n");
        let json = format_variables(&variables, OutputFormat::Json).expect("JSON");
        let read: BTreeMap<String, String> = serde_json::from_str(&json).expect("JSON");
        assert_eq!(read["JWT_SECRET"], "a\"b$c");
    }
}
