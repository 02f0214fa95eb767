//! A project: its configuration and its data folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, bail};
use clap::Args;
use functions_rs::functions::send_submission::limits::SubmissionLimits;
use gotrue_rs::config::{Config, Problem, Vars, load};
use serde_json::{Map, Value};

use crate::api_keys::{ApiKeys, ConfiguredKeys};
use crate::config_file::{ConfigFile, ServerFacts, Settings};

/// Default paths of the configuration, tried in this order in the current folder.
const DEFAULT_CONFIG_PATHS: [&str; 2] = ["config.toml", "supabase/config.toml"];

/// Location of a project.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectArguments {
    /// The configuration [default: config.toml, else supabase/config.toml, else the CLI's defaults]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of keys and database [default: .basalt beside the configuration]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// A project with a readable configuration.
pub(crate) struct Project {
    /// The configuration.
    pub file: ConfigFile,
    /// The folder of keys and database.
    pub data: PathBuf,
    /// The process's variables, including those of `.env`.
    pub vars: Vars,
    /// Whether the shop is served; otherwise `/` is a page that says what is served.
    pub has_shop: bool,
    /// The limits of submissions.
    pub submission_limits: SubmissionLimits,
    folder: PathBuf,
    /// The text of the configuration.
    text: String,
}

impl Project {
    /// Finds and reads the configuration.
    /// All its problems are one error of several lines.
    pub(crate) fn load(arguments: &ProjectArguments) -> anyhow::Result<Self> {
        let vars = Vars::from_process(None, None)?;
        let (path, text) = read_config(arguments.config.as_deref())?;
        let environment = |name: &str| vars.get(name).map(str::to_owned);
        let file = ConfigFile::read(&path, &text, &environment).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            config_error(&path, &lines)
        })?;
        let absolute = std::path::absolute(&path).context("finding the folder of config.toml")?;
        let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let data = arguments.data.clone().unwrap_or_else(|| folder.join(".basalt"));
        let data = std::path::absolute(&data).with_context(|| format!("finding the folder {}", data.display()))?;
        let submission_limits = SubmissionLimits::default();
        Ok(Self { file, data, vars, has_shop: true, submission_limits, folder, text })
    }

    /// Returns this project with other settings, in the shape of `config.toml`, in addition to those of its file.
    pub(crate) fn with_settings(&self, settings: &Map<String, Value>) -> anyhow::Result<Self> {
        let table = self.merge_settings(settings)?;
        let text = toml::to_string(&table).context("writing the settings as TOML")?;
        let path = self.file.path();
        let environment = |name: &str| self.vars.get(name).map(str::to_owned);
        let file = ConfigFile::read(path, &text, &environment).map_err(|problems| {
            // The lines are those of a text that nobody has seen.
            let lines: Vec<String> = problems.into_iter().map(|problem| problem.text).collect();
            config_error(Path::new("the settings"), &lines)
        })?;
        Ok(Self {
            file,
            data: self.data.clone(),
            vars: self.vars.clone(),
            has_shop: self.has_shop,
            submission_limits: self.submission_limits,
            folder: self.folder.clone(),
            text,
        })
    }

    /// Returns the settings of the file with others in addition.
    pub(crate) fn merge_settings(&self, settings: &Map<String, Value>) -> anyhow::Result<toml::Table> {
        let mut table: toml::Table = self.text.parse().context("reading config.toml")?;
        merge_tables(&mut table, toml::Table::try_from(settings).context("reading the settings")?);
        Ok(table)
    }

    /// Returns the URL for clients of a server that listens on `port`.
    pub(crate) fn api_url(&self, port: u16) -> String {
        self.file.external_url().map_or_else(|| self.local_url(port), str::to_owned)
    }

    /// Returns the URL for clients on this machine.
    pub(crate) fn local_url(&self, port: u16) -> String {
        let host = match self.file.host() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            std::net::IpAddr::V4(ip) => ip.to_string(),
        };
        format!("http://{host}:{port}")
    }

    /// Returns the keys of the configuration.
    pub(crate) fn configured_keys(&self) -> ConfiguredKeys<'_> {
        ConfiguredKeys {
            jwt_secret: self.file.configured_key("jwt_secret"),
            anon_key: self.file.configured_key("anon_key"),
            service_role_key: self.file.configured_key("service_role_key"),
            publishable_key: self.file.configured_key("publishable_key"),
            secret_key: self.file.configured_key("secret_key"),
        }
    }

    /// Returns the validated settings of the auth server.
    /// Problems are reported by their key of `config.toml`.
    pub(crate) fn settings(&self, api_url: &str, keys: &ApiKeys) -> anyhow::Result<Config> {
        let mut settings = self.file.settings(&ServerFacts { api_url, folder: &self.folder });
        settings.put("JWT_SECRET", &keys.jwt_secret);
        // A placeholder; the URL is set when the database runs.
        settings.put("DB_DATABASE_URL", "postgresql://localhost/postgres");
        settings.put("API_REQUEST_ID_HEADER", crate::router::REQUEST_ID.as_str());
        let mut lines: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
        match load(&Vars::from_map(self.all_vars(&settings))) {
            Ok(mut config) if lines.is_empty() => {
                config.notices.append(&mut settings.notices);
                return Ok(config);
            }
            Ok(_) => {}
            Err(problems) => lines.extend(problems.iter().map(|problem| format_problem(problem, &settings))),
        }
        Err(config_error(self.file.path(), &lines))
    }

    /// Returns the settings with the process's variables for outbound requests.
    fn all_vars(&self, settings: &Settings) -> BTreeMap<String, String> {
        const OUTBOUND: [&str; 8] = [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "NO_PROXY",
            "no_proxy",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
        ];
        let mut all = settings.vars.clone();
        for name in OUTBOUND {
            if let Some(value) = self.vars.get(name) {
                all.insert(name.to_owned(), value.to_owned());
            }
        }
        all
    }
}

/// Adds the entries of `added`, which take precedence.
fn merge_tables(table: &mut toml::Table, added: toml::Table) {
    for (name, value) in added {
        match (table.get_mut(&name), value) {
            (Some(toml::Value::Table(before)), toml::Value::Table(inner)) => merge_tables(before, inner),
            (_, value) => drop(table.insert(name, value)),
        }
    }
}

/// Returns the path, as shown in messages, and the text.
fn read_config(given: Option<&Path>) -> anyhow::Result<(PathBuf, String)> {
    if let Some(path) = given {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        return Ok((path.to_owned(), text));
    }
    for place in DEFAULT_CONFIG_PATHS {
        match fs::read_to_string(place) {
            Ok(text) => return Ok((PathBuf::from(place), text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => bail!("reading {place}: {error}"),
        }
    }
    let folder = env::current_dir().context("finding the current folder")?;
    Ok((folder.join(DEFAULT_CONFIG_PATHS[0]), String::new()))
}

/// Formats a setting that the auth server rejects, with the key and line it comes from.
fn format_problem(problem: &Problem, settings: &Settings) -> String {
    match settings.origin(&problem.name) {
        Some((key, line)) => format!("line {line}: {key}: {}; an example: {}", problem.complaint, problem.example),
        None => format!("{}: {}", problem.name, problem.complaint),
    }
}

fn config_error(path: &Path, lines: &[String]) -> anyhow::Error {
    let mut text = format!("{} cannot be used:", path.display());
    for line in lines {
        let _ = write!(text, "\n  {line}");
    }
    anyhow::Error::msg(text)
}
