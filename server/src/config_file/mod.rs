//! `config.toml` in the shape of the Supabase CLI: read, checked whole, and turned into the settings of the auth server and
//! our own. Every problem is reported at once, with its line.

mod basalt;
mod keys;
mod mails;
mod nearest;
mod read;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

pub use basalt::{Basalt, LogFormat};
pub use settings::{Facts, Settings};

use read::Values;

/// The CLI's port.
const PORT: u16 = 54_321;

/// A file that can be used, as far as it can be told without starting.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    values: Values,
    /// Our own table.
    pub basalt: Basalt,
}

/// What `[functions.NAME]` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionSettings {
    /// Whether it answers at all.
    pub enabled: bool,
    /// Whether a caller must bring a token or key.
    pub verify_jwt: bool,
}

/// Something in the file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, from 1.
    pub line: Option<usize>,
    /// What, and what to do.
    pub text: String,
}

impl FunctionSettings {
    /// What `functions` says of this one; what is not named is on and asks for a token.
    pub fn of(functions: &BTreeMap<String, Self>, name: &str) -> Self {
        functions.get(name).copied().unwrap_or(Self { enabled: true, verify_jwt: true })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "line {line}: {}", self.text),
            None => out.write_str(&self.text),
        }
    }
}

impl ConfigFile {
    /// Reads `text`, which stands in the file at `path`. `environment` gives the variables that `env(NAME)` asks for.
    pub fn read(path: &Path, text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<Problem>> {
        let values = read::read(text, environment)?;
        let mut problems = Vec::new();
        let basalt = Basalt::from(&values, &mut problems);
        if !values.is_on("auth.enabled", true) {
            problems.push(Problem::at(&values, "auth.enabled", "is false, but auth is what this server does"));
        }
        if values.is_on("api.tls.enabled", false) {
            let text = "is not served: put a proxy that ends TLS in front, and its address into api.external_url";
            problems.push(Problem::at(&values, "api.tls.enabled", text));
        }
        if values.text("api.port").is_some_and(|port| port.parse::<u16>().is_err()) {
            problems.push(Problem::at(&values, "api.port", "must be a port, from 0 (any that is free) to 65535"));
        }
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() { Ok(Self { path: path.to_owned(), values, basalt }) } else { Err(problems) }
    }

    /// The file's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The port to listen on.
    pub fn port(&self) -> u16 {
        self.values.text("api.port").and_then(|port| port.parse().ok()).unwrap_or(PORT)
    }

    /// The address to listen on; this machine alone by default.
    pub fn host(&self) -> IpAddr {
        self.basalt.host
    }

    /// Where clients reach us, when that is not where we listen.
    pub fn external_url(&self) -> Option<&str> {
        self.values.text("api.external_url").map(|url| url.trim_end_matches('/')).filter(|url| !url.is_empty())
    }

    /// One of the keys that the file may bring: `jwt_secret`, `anon_key`, `service_role_key`, `publishable_key`,
    /// `secret_key`.
    pub fn given_key(&self, name: &str) -> Option<&str> {
        self.values.text(&format!("auth.{name}")).filter(|key| !key.is_empty())
    }

    /// The settings of the auth server.
    pub fn settings(&self, facts: &Facts<'_>) -> Settings {
        Settings::from(&self.values, facts)
    }

    /// What is said of functions, by their names.
    pub fn functions(&self) -> BTreeMap<String, FunctionSettings> {
        let settings = |name: &str| FunctionSettings {
            enabled: self.values.is_on(&format!("functions.{name}.enabled"), true),
            verify_jwt: self.values.is_on(&format!("functions.{name}.verify_jwt"), true),
        };
        self.values.names_below("functions").into_iter().map(|name| (name.to_owned(), settings(name))).collect()
    }

    /// Whether mail that goes nowhere else is shown in the development inbox.
    pub fn inbox_enabled(&self) -> bool {
        self.values.is_on("inbucket.enabled", true)
    }

    /// One sentence about the tables we do not serve; none when there are none.
    pub fn not_served(&self) -> Option<String> {
        let tables: Vec<String> =
            self.values.not_served.iter().map(|(table, what)| format!("[{table}] ({what})")).collect();
        (!tables.is_empty()).then(|| format!("not served by Basalt, and left aside: {}", tables.join(", ")))
    }
}

impl Problem {
    fn at(values: &Values, key: &str, text: &str) -> Self {
        Self { line: values.get(key).map(|value| value.line), text: format!("{key} {text}") }
    }
}
