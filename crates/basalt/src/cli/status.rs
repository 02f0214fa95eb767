//! `basalt status`: prints the URLs and keys of a project.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use data_folder::is_in_use;
use serde_json::Value;

use crate::announce::{Announcement, CliVariable, RunningServer};
use crate::api_keys::{self, ApiKeys};
use crate::project::{Project, ProjectArguments};
use crate::serve::desk::find_desk_url;
use crate::served_apis::ServedApis;

/// The exit status if no server runs.
const NOT_RUNNING: u8 = 3;

/// The names of `--override-name` in the Supabase CLI; a server does not have the values of all.
const CLI_NAMES: [&str; 18] = [
    "api.url",
    "api.rest_url",
    "api.graphql_url",
    "api.storage_s3_url",
    "api.mcp_url",
    "api.functions_url",
    "db.url",
    "studio.url",
    "inbucket.url",
    "mailpit.url",
    "auth.publishable_key",
    "auth.secret_key",
    "auth.jwt_secret",
    "auth.anon_key",
    "auth.service_role_key",
    "storage.s3_access_key_id",
    "storage.s3_secret_access_key",
    "storage.s3_region",
];

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
    /// Print a variable by another name, as `auth.anon_key=VITE_SUPABASE_ANON_KEY`. Can be repeated
    #[arg(long, value_name = "NAME=VARIABLE", value_delimiter = ',')]
    override_name: Vec<String>,
}

/// The formats of `--output`, those of `supabase status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// Lines of the form NAME="value"
    Env,
    /// A JSON object
    Json,
    /// TOML
    Toml,
    /// YAML
    Yaml,
    /// Text, as without this option
    Pretty,
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
    let apis = match running.as_ref().and_then(|running| running.apis.clone()) {
        Some(apis) => apis,
        None => find_apis(&project, &url, &keys)?,
    };
    let announcement = Announcement::new(&url, &keys, running.as_ref().map(|running| running.database_url.as_str()))
        .with_apis(&apis)
        .with_tcp_url(running.as_ref().and_then(|running| running.database_url_tcp.as_deref()))
        .with_desk(find_desk_url(&project, &url));
    let mut out = std::io::stdout().lock();
    match arguments.output.filter(|format| *format != OutputFormat::Pretty) {
        Some(format) => {
            let variables = rename_variables(&announcement.cli_variables(), &arguments.override_name)?;
            write!(out, "{}", format_variables(&variables, format)?)?;
        }
        None if arguments.json => writeln!(out, "{}", announcement.into_json_status(running.is_some())?)?,
        None => {
            let state = match &running {
                Some(_) => "Basalt is running.",
                None if is_in_use(&project.data) => "Basalt is starting or stopping. Once it runs:",
                None => "Basalt is not running. Once it is:",
            };
            writeln!(out, "{}", announcement.to_text(state))?;
        }
    }
    Ok(if running.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NOT_RUNNING) })
}

/// Finds which APIs the settings serve.
fn find_apis(project: &Project, url: &str, keys: &ApiKeys) -> anyhow::Result<ServedApis> {
    let config = project.settings(url, keys).ok();
    Ok(ServedApis::find(project, config.as_ref(), keys, project.database_url()?.is_some()))
}

/// Applies `--override-name`, which names variables as the Supabase CLI does.
fn rename_variables(variables: &[CliVariable<'_>], overrides: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for text in overrides {
        let Some((path, name)) = text.split_once('=').filter(|(_, name)| is_variable_name(name)) else {
            bail!("--override-name {text:?}: write it as NAME=VARIABLE, for example api.url=VITE_SUPABASE_URL");
        };
        if !CLI_NAMES.contains(&path) {
            bail!("--override-name {text:?}: {path} is not known; known are {}", CLI_NAMES.join(", "));
        }
        names.insert(path, name);
    }
    let renamed = |variable: &CliVariable<'_>| {
        let name = names.get(variable.path).copied().unwrap_or(variable.name);
        (name.to_owned(), variable.value.to_owned())
    };
    Ok(variables.iter().map(renamed).collect())
}

fn is_variable_name(name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn format_variables(variables: &BTreeMap<String, String>, format: OutputFormat) -> anyhow::Result<String> {
    Ok(match format {
        OutputFormat::Env => {
            let line = |(name, value): (&String, &String)| format!("{name}=\"{}\"\n", escape_value(value));
            variables.iter().map(line).collect()
        }
        OutputFormat::Toml => toml::to_string(variables)?,
        // A string of JSON is one of YAML.
        OutputFormat::Yaml => {
            let line = |(name, value): (&String, &String)| format!("{name}: {}\n", Value::from(value.as_str()));
            variables.iter().map(line).collect()
        }
        OutputFormat::Json | OutputFormat::Pretty => serde_json::to_string_pretty(variables)? + "\n",
    })
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

    const VARIABLES: [CliVariable<'static>; 2] = [
        CliVariable { path: "api.url", name: "API_URL", value: "http://127.0.0.1:54321" },
        CliVariable { path: "auth.jwt_secret", name: "JWT_SECRET", value: "a\"b$c: #d" },
    ];

    #[test]
    fn variables_are_printed_in_the_formats_of_the_supabase_cli() {
        let variables = rename_variables(&VARIABLES, &[]).expect("variables");
        let formatted = |format| format_variables(&variables, format).expect("text");
        let lines = "API_URL=\"http://127.0.0.1:54321\"\nJWT_SECRET=\"a\\\"b\\$c: #d\"\n";
        assert_eq!(formatted(OutputFormat::Env), lines);
        let read: BTreeMap<String, String> = serde_json::from_str(&formatted(OutputFormat::Json)).expect("JSON");
        assert_eq!(read, variables);
        let read: BTreeMap<String, String> = toml::from_str(&formatted(OutputFormat::Toml)).expect("TOML");
        assert_eq!(read, variables);
        let lines = "API_URL: \"http://127.0.0.1:54321\"\nJWT_SECRET: \"a\\\"b$c: #d\"\n";
        assert_eq!(formatted(OutputFormat::Yaml), lines);
    }

    #[test]
    fn names_are_overridden() {
        let renamed = rename_variables(&VARIABLES, &["api.url=VITE_SUPABASE_URL".to_owned()]).expect("variables");
        assert_eq!(renamed["VITE_SUPABASE_URL"], "http://127.0.0.1:54321");
        assert!(!renamed.contains_key("API_URL"));
        for wrong in ["api.url", "api.url=", "api.url=A B", "api.url=1A", "foo.bar=XX"] {
            assert!(rename_variables(&VARIABLES, &[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
