//! Values of `config.toml` whose environment variable is not set.
//!
//! A disabled table needs no values. A provider without its values is disabled, so that the rest of a configuration can
//! be used where its secrets are not. A port or an address of this machine has its default. On a server for this machine
//! alone, the CAPTCHA and the mail server are disabled, too, and missing keys are generated. Every other value that is
//! missing is a problem.

use std::net::IpAddr;

use gotrue_rs::config::Notice;
use gotrue_rules::domain::redirect::is_loopback_url;

use super::keys::SMS_PROVIDERS;
use super::read::{UnsetVariable, Values};
use crate::problem::{Problem, locate};

/// The table of the mail server, which test servers do not use.
pub(super) const MAIL_SERVER: &str = "auth.email.smtp";
/// The table of the CAPTCHA.
const CAPTCHA: &str = "auth.captcha";
/// Keys that a server generates where none is configured.
const GENERATED_KEYS: [&str; 5] = ["jwt_secret", "anon_key", "service_role_key", "publishable_key", "secret_key"];

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
        values.unset.iter().filter(is_needed).filter_map(|unset| find_optional_table(values, &unset.path)).collect();
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
        let name = locate(unset.line, &unset.path.join("."));
        let missing = format!("the environment variable {} is not set", unset.variable);
        match effect(values, unset) {
            UnsetEffect::Disables(table) => {
                let effect = match table.as_str() {
                    CAPTCHA => ", and nothing asks for a CAPTCHA",
                    MAIL_SERVER => ", and no mail is sent to a mail server",
                    _ => "",
                };
                Some(Notice::warning(name, format!("{missing}: [{table}] is disabled{effect}")))
            }
            UnsetEffect::Default if is_generated_key(&unset.path) => {
                Some(Notice::warning(name, format!("{missing}: a generated one is used")))
            }
            UnsetEffect::Default if unset.is_item => {
                Some(Notice::warning(name, format!("{missing}: this item of the list is left out")))
            }
            UnsetEffect::Default => Some(Notice::warning(name, format!("{missing}: it has its default"))),
            UnsetEffect::OmitsSecret => {
                Some(Notice::warning(name, format!("{missing}: the vault does not get this secret")))
            }
            UnsetEffect::None | UnsetEffect::Problem => None,
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
        Problem { line: unset.line, text }
    };
    values.unset.iter().filter(is_problem).map(problem).collect()
}

fn effect(values: &Values, unset: &UnsetVariable) -> UnsetEffect {
    match find_optional_table(values, &unset.path).filter(|table| values.is_switched_off(table)) {
        Some(table) => UnsetEffect::Disables(table),
        None if values.is_disabled(&unset.path) => UnsetEffect::None,
        None if unset.path.starts_with(&["db".to_owned(), "vault".to_owned()]) => UnsetEffect::OmitsSecret,
        None if has_usable_default(&unset.path) || is_of_unused_relying_party(values, &unset.path) => {
            UnsetEffect::Default
        }
        None if is_generated_key(&unset.path) && !is_for_other_machines(values) => UnsetEffect::Default,
        None => UnsetEffect::Problem,
    }
}

/// Returns whether other machines reach the server, by its address or by a proxy before it.
pub(super) fn is_for_other_machines(values: &Values) -> bool {
    let host =
        values.text("basalt.host").is_some_and(|host| !host.parse().is_ok_and(|host: IpAddr| host.is_loopback()));
    let is_public = |key: &str| values.text(key).is_some_and(|url| !url.is_empty() && !is_loopback_url(url));
    let has_proxy = values.text("basalt.trusted_proxies").is_some_and(|list| !list.is_empty());
    host || has_proxy || is_public("api.external_url") || is_public("auth.external_url")
}

fn is_generated_key(path: &[String]) -> bool {
    matches!(path, [table, key] if table == "auth" && GENERATED_KEYS.contains(&key.as_str()))
}

/// Returns the table that is disabled if a key of it has no value.
fn find_optional_table(values: &Values, path: &[String]) -> Option<String> {
    let of_development = || {
        let name = path.join(".");
        let tables = [CAPTCHA, MAIL_SERVER].into_iter();
        let mut found = tables.filter(|table| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.')));
        found.next().filter(|_| !is_for_other_machines(values)).map(str::to_owned)
    };
    provider_table(path).or_else(of_development)
}

/// Returns whether a server can start with the default in place of a value: no secret, and no security decision.
fn has_usable_default(path: &[String]) -> bool {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts[..] {
        ["project_id"] | ["api", "port"] | ["auth", "site_url" | "additional_redirect_urls"] => true,
        [table, key] => {
            matches!(table, "db" | "inbucket" | "local_smtp" | "studio" | "edge_runtime" | "analytics")
                && (key.ends_with("port") || key == "major_version")
        }
        _ => false,
    }
}

/// Returns whether a key is of the relying party, and nothing is on that uses it.
fn is_of_unused_relying_party(values: &Values, path: &[String]) -> bool {
    let switches = ["auth.passkey.enabled", "auth.mfa.web_authn.enroll_enabled", "auth.mfa.web_authn.verify_enabled"];
    matches!(path, [auth, table, _] if auth == "auth" && table == "webauthn")
        && switches.iter().all(|switch| values.text(switch).is_none_or(|text| text != "true"))
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
