//! Checks the URIs and secrets of hooks, even of disabled ones.

use gotrue_rules::domain::policy::{Hook, HookTarget};
use gotrue_rules::domain::redirect::LOOPBACK_NAMES;
use gotrue_rules::domain::redirect::go_url::Url;

use super::super::draft::{Draft, HookDraft};

const EXAMPLE_URI: &str = "pg-functions://postgres/public/my_hook";
const NO_ADDRESS: &str = "is not an address";
const EXAMPLE_SECRET: &str = "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";

/// Returns the hook of that key if it is enabled and valid.
pub(super) fn build_hook(draft: &mut Draft, key: &'static str) -> Option<Hook> {
    let HookDraft { enabled, uri, secrets } = draft.hooks.get(key)?.clone();
    let prefix = format!("GOTRUE_HOOK_{}", key.to_uppercase());
    if uri.is_empty() {
        if enabled {
            draft.warn(&format!("{prefix}_URI"), "is empty: the hook is on, and every call of it will fail");
        }
        return enabled.then_some(Hook { uri, target: HookTarget::Missing, secrets });
    }
    let target = match parse_target(&uri) {
        Ok(target) => target,
        Err(complaint) => {
            // The address often holds credentials, and is not shown.
            draft.problem(&format!("{prefix}_URI"), complaint, EXAMPLE_URI);
            return None;
        }
    };
    let signed = matches!(target, HookTarget::Http { .. });
    if signed && let Some(position) = secrets.iter().position(|secret| !is_secret(secret.reveal())) {
        let complaint = format!(
            "has a secret (number {}, not shown) that is neither v1,whsec_ and 32 to 88 characters of base64 \
             nor v1a,whpk_…:whsk_…",
            position + 1
        );
        draft.problem(&format!("{prefix}_SECRETS"), complaint, EXAMPLE_SECRET);
        return None;
    }
    enabled.then_some(Hook { uri, target, secrets })
}

/// Checks the URL of a webhook that is no hook of the auth API.
///
/// The rules are those of hooks: the URL is https, or on this machine.
///
/// # Errors
/// What is wrong with the URL.
pub fn check_webhook_url(url: &str) -> Result<(), &'static str> {
    let target = parse_target(url)?;
    url::Url::parse(url).map_err(|_| NO_ADDRESS)?;
    match target {
        HookTarget::Http { .. } => Ok(()),
        HookTarget::PgFunction { .. } | HookTarget::Missing => Err("starts with neither https:// nor http://"),
    }
}

/// Returns whether a text is a symmetric secret of Standard Webhooks: `v1,whsec_` and base64.
pub fn is_webhook_secret(text: &str) -> bool {
    text.starts_with("v1,whsec_") && is_secret(text)
}

/// Parses a URI as the reference does, which compares hosts literally.
///
/// A URL that is accepted may have no usable host or port.
fn parse_target(uri: &str) -> Result<HookTarget, &'static str> {
    let parsed = Url::parse(uri).map_err(|_| NO_ADDRESS)?;
    match parsed.scheme() {
        "pg-functions" => parse_pg_function(&String::from_utf8_lossy(&parsed.path())),
        "https" => Ok(HookTarget::Http { url: uri.to_owned() }),
        "http" if is_localhost(&parsed) => Ok(HookTarget::Http { url: uri.to_owned() }),
        "http" => Err("is neither https nor on localhost, 127.0.0.1, ::1 or host.docker.internal"),
        _ => Err("starts with none of https://, http:// and pg-functions://"),
    }
}

fn is_localhost(url: &Url) -> bool {
    LOOPBACK_NAMES.contains(&url.hostname()) || url.hostname() == b"host.docker.internal"
}

/// Parses `/schema/function`; further segments are ignored.
fn parse_pg_function(path: &str) -> Result<HookTarget, &'static str> {
    let mut parts = path.split('/').skip(1);
    let (Some(schema), Some(name)) = (parts.next(), parts.next()) else {
        return Err("does not name schema and function: pg-functions://database/schema/function");
    };
    if !is_name(schema) || !is_name(name) {
        return Err("does not name schema and function by letters, digits and `_`, at most 63 of them, no digit first");
    }
    Ok(HookTarget::PgFunction { schema: schema.to_owned(), name: name.to_owned() })
}

fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.len() <= 63 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_secret(text: &str) -> bool {
    let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    if let Some(key) = text.strip_prefix("v1,whsec_") {
        return key.chars().take_while(|c| base64(*c)).count() >= 32;
    }
    let pair = text.strip_prefix("v1a,whpk_").and_then(|pair| pair.split_once(":whsk_"));
    let is_key = |key: &str| key.len() >= 44 && key.chars().all(base64);
    pair.is_some_and(|(public, private)| is_key(public) && is_key(private))
}
