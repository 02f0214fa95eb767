//! The environment of Supabase Storage, and what is wrong with it.

use std::collections::BTreeMap;
use std::time::Duration;

/// The variables of Supabase Storage.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of the process.
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    /// These variables.
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// What is logged: `LOG_LEVEL`, where `fatal` and `silent` count as errors alone.
    pub fn log_level(&self) -> &'static str {
        match self.text(&["LOG_LEVEL"]) {
            Some("trace" | "debug") => "debug",
            Some("warn") => "warn",
            Some("error" | "fatal" | "silent") => "error",
            _ => "info",
        }
    }

    /// The first of these variables that is not empty.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name).map(String::as_str).filter(|value| !value.is_empty()))
    }

    pub(super) fn owned(&self, names: &[&str]) -> Option<String> {
        self.text(names).map(str::to_owned)
    }

    pub(super) fn is_true(&self, names: &[&str]) -> bool {
        self.text(names) == Some("true")
    }
}

/// Reads variables, and collects what is wrong with them.
pub(super) struct Reader<'a> {
    environment: &'a Environment,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Creates a reader that has found no problem.
    pub(super) fn new(environment: &'a Environment) -> Self {
        Self { environment, problems: Vec::new() }
    }

    /// Returns the variables.
    pub(super) fn environment(&self) -> &'a Environment {
        self.environment
    }

    /// Returns the problems, in the order in which they were found.
    pub(super) fn into_problems(self) -> Vec<String> {
        self.problems
    }

    /// Adds a problem.
    pub(super) fn refuse(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Returns a value, or adds its problem.
    pub(super) fn keep<T>(&mut self, read: Result<T, String>) -> Option<T> {
        read.map_err(|problem| self.refuse(problem)).ok()
    }

    /// Reads one of these variables; without any, `remedy` says what to set the first to.
    pub(super) fn required(&mut self, names: &[&str], remedy: &str) -> Option<String> {
        let found = self.environment.owned(names);
        if found.is_none() {
            self.refuse(format!("{} is missing: {remedy}", names[0]));
        }
        found
    }

    /// Reads a number from the first of these variables that is set.
    pub(super) fn number<T: std::str::FromStr>(&mut self, names: &[&str], default: T) -> T {
        let environment = self.environment;
        let mut set = names.iter().filter_map(|name| Some((name, environment.text(&[name])?)));
        let Some((name, text)) = set.next() else { return default };
        text.trim().parse().unwrap_or_else(|_| {
            self.refuse(format!("{name}: {text:?} cannot be used: set a whole number"));
            default
        })
    }

    /// Reads a number of milliseconds.
    pub(super) fn milliseconds(&mut self, names: &[&str], default: u64) -> Duration {
        Duration::from_millis(self.number(names, default))
    }
}
