//! Refuses values of the right kind that no server can use: lifetimes, lengths and URLs out of bounds.

use std::time::Duration;

use gotrue_rs::ports::hashing::MAX_PASSWORD_BYTES;
use gotrue_rules::domain::redirect::is_document_scheme;
use gotrue_rules::wire::go_duration::GoDuration;
use url::Url;

use super::read::Values;
use crate::problem::Problem;

/// The longest lifetime of an access token, in seconds: ten years of 365 days.
const MAX_TOKEN_LIFETIME: u64 = 10 * 365 * 24 * 60 * 60;
/// The longest wait for a new primary.
const MAX_FAILOVER_WAIT: Duration = Duration::from_mins(5);

/// The keys of URLs that clients send requests to.
const SERVER_URLS: [&str; 2] = ["api.external_url", "auth.external_url"];

/// Returns the problems of the values in effect.
pub(super) fn find_problems(values: &Values) -> Vec<Problem> {
    let numbers = [
        find_excess(values, "auth.jwt_expiry", MAX_TOKEN_LIFETIME, "seconds (ten years)", "3600"),
        find_excess(
            values,
            "auth.minimum_password_length",
            MAX_PASSWORD_BYTES as u64,
            "(no password has more bytes)",
            "8",
        ),
        find_long_failover_wait(values),
        find_unusable_site_url(values),
    ];
    let server_urls = SERVER_URLS.iter().map(|key| find_unusable_server_url(values, key));
    numbers.into_iter().chain(server_urls).flatten().collect()
}

fn find_excess(values: &Values, key: &str, most: u64, unit: &str, example: &str) -> Option<Problem> {
    let number: u64 = values.text(key)?.parse().ok()?;
    (number > most).then(|| values.build_problem(key, &format!("must be at most {most} {unit}, such as {example}")))
}

fn find_long_failover_wait(values: &Values) -> Option<Problem> {
    const KEY: &str = "basalt.database.failover_wait";
    let wait = GoDuration::parse(values.text(KEY)?)?.to_std();
    let text = "must be at most \"5m\", such as \"5s\": requests wait for it with a connection each";
    (wait > MAX_FAILOVER_WAIT).then(|| values.build_problem(KEY, text))
}

/// Finds a site URL that browsers must not be redirected to; apps may have a scheme of their own.
fn find_unusable_site_url(values: &Values) -> Option<Problem> {
    const KEY: &str = "auth.site_url";
    const EXAMPLE: &str = "such as \"https://shop.example.com\" or \"my-app://start\"";
    let text = values.text(KEY)?;
    let wrong = if text.trim().is_empty() {
        "is empty: leave it out for the address of this server, or name the URL of the site"
    } else if text.chars().any(char::is_control) {
        "has a control character: name the URL of the site"
    } else {
        let Some(url) = parse_site_url(text) else {
            return Some(values.build_problem(KEY, &format!("is not a URL with a scheme, {EXAMPLE}")));
        };
        if is_document_scheme(url.scheme()) {
            "has a scheme of scripts or documents: name the URL of the site"
        } else if has_user(&url) {
            "has a user name or password: name the URL of the site without it"
        } else {
            return None;
        }
    };
    Some(values.build_problem(KEY, &format!("{wrong}, {EXAMPLE}")))
}

/// Parses a site URL.
///
/// `localhost:3000` is a host without a scheme, although URL parsers read it as a scheme.
fn parse_site_url(text: &str) -> Option<Url> {
    let is_port = |path: &str| path.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    Url::parse(text).ok().filter(|url| !(url.cannot_be_a_base() && is_port(url.path())))
}

/// Finds a URL that clients cannot build the URL of a request from.
fn find_unusable_server_url(values: &Values, key: &str) -> Option<Problem> {
    let text = values.text(key).filter(|text| !text.is_empty())?;
    let wrong = match Url::parse(text) {
        _ if text.chars().any(char::is_control) => "has a control character",
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "is not an http or https URL",
        Err(_) => "is not an http or https URL",
        Ok(url) if has_user(&url) => "has a user name or password",
        Ok(url) if url.query().is_some() || url.fragment().is_some() => "has a query or fragment",
        Ok(_) => return None,
    };
    let example =
        if key == "auth.external_url" { "https://api.example.com/auth/v1" } else { "https://api.example.com" };
    Some(values.build_problem(key, &format!("{wrong}: name the address for clients, such as \"{example}\"")))
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}
