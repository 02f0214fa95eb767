//! Values of `config.toml` whose environment variable is not set.
//!
//! A disabled table needs no values. A provider without its values is disabled, so that the rest of a configuration can
//! be used where its secrets are not. A port or an address of this machine has its default. Every other value that is
//! missing is a problem.

use gotrue_rs::config::Notice;

use super::keys::SMS_PROVIDERS;
use super::problem::Problem;
use super::read::{UnsetVariable, Values};

/// The table of the mail server, which test servers do not use.
pub(super) const MAIL_SERVER: &str = "auth.email.smtp";

/// The effect of a missing value.
enum UnsetEffect {
    /// None: its table is disabled.
    None,
    /// It disabled the table of its provider.
    Disables(String),
    /// The value is the default.
    Default,
    /// The vault does not get the secret.
    OmitsSecret,
    /// The configuration cannot be used.
    Problem,
}

/// Disables the providers with missing values, and returns the problems of the others.
///
/// Those of the mail server are problems of the settings, because a test server does without it.
pub(super) fn apply(values: &mut Values) -> Vec<Problem> {
    let is_needed = |unset: &&UnsetVariable| !values.is_disabled(&unset.path);
    let tables: Vec<String> =
        values.unset.iter().filter(is_needed).filter_map(|unset| provider_table(&unset.path)).collect();
    for table in tables {
        values.switch_off(table);
    }
    find_problems(values, |unset| !is_of_mail_server(unset))
}

/// Returns the problems of the mail server's missing values, unless it is switched off.
pub(super) fn find_mail_server_problems(values: &Values) -> Vec<Problem> {
    find_problems(values, is_of_mail_server)
}

/// Returns the notices of the missing values that are not needed.
pub(super) fn list_notices(values: &Values) -> Vec<Notice> {
    let notice = |unset: &UnsetVariable| {
        let name = format!("line {}: {}", unset.line, unset.path.join("."));
        let missing = format!("the environment variable {} is not set", unset.variable);
        match effect(values, unset) {
            UnsetEffect::None => Some(Notice::debug(name, format!("{missing}; its table is disabled"))),
            UnsetEffect::Disables(table) => Some(Notice::warning(name, format!("{missing}: [{table}] is disabled"))),
            UnsetEffect::Default => Some(Notice::warning(name, format!("{missing}: it has its default"))),
            UnsetEffect::OmitsSecret => {
                Some(Notice::warning(name, format!("{missing}: the vault does not get this secret")))
            }
            UnsetEffect::Problem => None,
        }
    };
    values.unset.iter().filter_map(notice).collect()
}

fn find_problems(values: &Values, is_wanted: impl Fn(&UnsetVariable) -> bool) -> Vec<Problem> {
    let is_problem = |unset: &&UnsetVariable| is_wanted(unset) && matches!(effect(values, unset), UnsetEffect::Problem);
    let problem = |unset: &UnsetVariable| {
        let (key, variable) = (unset.path.join("."), &unset.variable);
        let text = format!(
            "{key} needs the environment variable {variable}, which is not set: set it, or add it to a .env file of the project"
        );
        Problem { line: Some(unset.line), text }
    };
    values.unset.iter().filter(is_problem).map(problem).collect()
}

fn effect(values: &Values, unset: &UnsetVariable) -> UnsetEffect {
    match provider_table(&unset.path).filter(|table| values.is_switched_off(table)) {
        Some(table) => UnsetEffect::Disables(table),
        None if values.is_disabled(&unset.path) => UnsetEffect::None,
        None if unset.path.starts_with(&["db".to_owned(), "vault".to_owned()]) => UnsetEffect::OmitsSecret,
        None if has_usable_default(&unset.path) => UnsetEffect::Default,
        None => UnsetEffect::Problem,
    }
}

/// Returns whether a server can start with the default in place of a value: no secret, and no security decision.
fn has_usable_default(path: &[String]) -> bool {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts[..] {
        ["api", "port"] | ["auth", "site_url" | "additional_redirect_urls"] => true,
        [table, key] => {
            matches!(table, "db" | "inbucket" | "local_smtp" | "studio" | "edge_runtime" | "analytics")
                && key.ends_with("port")
        }
        _ => false,
    }
}

fn is_of_mail_server(unset: &UnsetVariable) -> bool {
    unset.path.join(".").starts_with(MAIL_SERVER)
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
