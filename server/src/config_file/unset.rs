//! Values of `config.toml` whose environment variable is not set.
//!
//! A disabled table needs no values. A provider without its values is disabled, so that the rest of a configuration can
//! be used where its secrets are not. Every other value that is missing is a problem.

use gotrue_rs::config::Notice;

use super::problem::Problem;
use super::read::Values;
use super::settings::SMS_PROVIDERS;

/// The table of the mail server, which test servers do not use.
pub(super) const MAIL_SERVER: &str = "auth.email.smtp";

/// A value `env(NAME)` without a variable of that name.
#[derive(Debug, Clone)]
pub(crate) struct UnsetVariable {
    /// The key's parts.
    pub path: Vec<String>,
    variable: String,
    line: usize,
    effect: UnsetEffect,
}

/// The effect of a missing value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UnsetEffect {
    /// None: its table is disabled.
    None,
    /// It disables the table of its provider.
    Disables(String),
    /// The configuration cannot be used.
    Problem,
}

impl UnsetVariable {
    /// Creates the entry of a key in `line`; [`apply`] determines its effect.
    pub(super) fn new(path: Vec<String>, variable: String, line: usize) -> Self {
        Self { path, variable, line, effect: UnsetEffect::Problem }
    }

    /// Returns the problem of a value that is needed.
    pub(super) fn problem(&self) -> Problem {
        let (key, variable) = (self.path.join("."), &self.variable);
        let text = format!(
            "{key} needs the environment variable {variable}, which is not set: set it, or add it to a .env file of the project"
        );
        Problem { line: Some(self.line), text }
    }

    fn is_of_mail_server(&self) -> bool {
        self.path.join(".").starts_with(MAIL_SERVER)
    }

    /// Returns the notice of a value that is not needed.
    fn notice(&self) -> Option<Notice> {
        let name = format!("line {}: {}", self.line, self.path.join("."));
        let missing = format!("the environment variable {} is not set", self.variable);
        match &self.effect {
            UnsetEffect::None => Some(Notice::debug(name, format!("{missing}; its table is disabled"))),
            UnsetEffect::Disables(table) => Some(Notice::warning(name, format!("{missing}: [{table}] is disabled"))),
            UnsetEffect::Problem => None,
        }
    }
}

/// Determines the effect of all missing values, disables their providers, and returns the problems.
///
/// Those of the mail server are problems of the settings, because a test server does without it.
pub(super) fn apply(values: &mut Values) -> Vec<Problem> {
    let mut unset = std::mem::take(&mut values.unset);
    for value in &mut unset {
        value.effect = if values.is_disabled(&value.path) {
            UnsetEffect::None
        } else {
            provider_table(&value.path).map_or(UnsetEffect::Problem, UnsetEffect::Disables)
        };
    }
    for value in &unset {
        if let UnsetEffect::Disables(table) = &value.effect {
            values.switch_off(table.as_str());
        }
    }
    let needed = unset.iter().filter(|value| value.effect == UnsetEffect::Problem && !value.is_of_mail_server());
    let problems = needed.map(UnsetVariable::problem).collect();
    values.unset = unset;
    problems
}

/// Returns the problems of the mail server's missing values, unless it is switched off.
pub(super) fn find_mail_server_problems(values: &Values) -> Vec<Problem> {
    let needed = |value: &&UnsetVariable| {
        value.effect == UnsetEffect::Problem && value.is_of_mail_server() && !values.is_disabled(&value.path)
    };
    values.unset.iter().filter(needed).map(UnsetVariable::problem).collect()
}

/// Returns the notices of the missing values that are not needed.
pub(super) fn list_notices(values: &Values) -> Vec<Notice> {
    values.unset.iter().filter_map(UnsetVariable::notice).collect()
}

/// Returns the table of the provider that a key belongs to.
fn provider_table(path: &[String]) -> Option<String> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts[..] {
        ["auth", "external", _, _] => Some(path[..3].join(".")),
        ["auth", "sms", name, _] if SMS_PROVIDERS.contains(&name) => Some(path[..3].join(".")),
        _ => None,
    }
}
