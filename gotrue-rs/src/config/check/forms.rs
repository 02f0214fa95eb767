//! Validation of settings with a format of their own.
//!
//! Errors are complaints without the value: `is not a key`.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::database_url::DatabaseUrl;
use foundation::limit_store::{LimitStoreFailure, LimitStoreUrl};
use foundation::secret::Secret;
use gotrue_rules::domain::redirect::Glob;
use gotrue_rules::wire::go_duration::GoDuration;
use gotrue_rules::wire::time::parse_time;
use serde_json::{Map, Value};
use url::Url;

use super::super::configuration::{LogFormat, LogLevel};
use super::super::draft::Draft;
use super::super::values;
use crate::ports::keys::{KeyError, KeyRing, KeySettings};

/// The result of validating a setting.
type FormResult = Result<(), String>;

/// Checks an absolute URL or an absolute path.
pub(crate) fn validate_url(text: &str) -> FormResult {
    let wrong = || "is neither an absolute URL nor an absolute path".to_owned();
    values::is_absolute(text).then_some(()).ok_or_else(wrong)
}

/// Parses the globs of redirect URLs, in the order given.
pub(crate) fn parse_allow_list(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    let patterns = values::parse_list(text);
    for pattern in &patterns {
        let wrong = |why| format!("holds {pattern:?}, which is not a pattern: {why}");
        Glob::parse(pattern).map_err(wrong)?;
    }
    draft.policy.site.redirect_allow_list = patterns;
    Ok(())
}

/// An empty text means the default.
pub(crate) fn parse_outbound_timeout(draft: &mut Draft, text: &str) -> FormResult {
    if text.is_empty() {
        return Ok(());
    }
    let timeout = GoDuration::parse(text).ok_or("is not a duration such as 10s")?;
    draft.policy.api.outbound_timeout = values::call_time_limit(timeout);
    Ok(())
}

/// Accepts `postgres` under any of its names; if empty, the URL determines the driver.
pub(crate) fn validate_driver(text: &str) -> FormResult {
    match text {
        "" | "postgres" | "postgresql" | "pg" | "pgx" => Ok(()),
        _ => Err("is not postgres, the one kind of database served".to_owned()),
    }
}

/// Checks the URL of a `PostgreSQL` database.
pub(crate) fn parse_database_url(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    check_database_url(text)?;
    draft.config.database.url = Secret::from(text);
    Ok(())
}

/// Checks the URL of a replica; an empty one means that there is none.
pub(crate) fn parse_replica_url(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    if !text.is_empty() {
        check_database_url(text)?;
    }
    draft.config.database.replica_url = Secret::from(text);
    Ok(())
}

fn check_database_url(text: &str) -> FormResult {
    let check = |text: &str| {
        let parsed = Url::parse(text).map(drop);
        parsed.map_err(|error| format!("is not a URL of a PostgreSQL database ({error})"))
    };
    if !text.contains("://") {
        check(text)?;
    }
    let parsed = DatabaseUrl::parse(text).map_err(|error| error.to_string())?;
    parsed.servers.iter().try_for_each(|server| check(server.reveal()))
}

/// Checks the URL of a store of rate limits.
pub(crate) fn parse_limit_store_url(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    draft.config.limit_store.url = LimitStoreUrl::parse(text)?;
    Ok(())
}

/// Checks what applies while the store of rate limits is unreachable.
pub(crate) fn parse_limit_store_failure(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    draft.config.limit_store.on_failure = LimitStoreFailure::parse(text).ok_or("is neither open nor closed")?;
    Ok(())
}

/// Checks the beginning of the names of keys, which must not contain the braces of a hash tag.
pub(crate) fn parse_limit_store_prefix(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_plain) {
        return Err("is not 1 to 64 letters, digits and -_.: of ASCII".to_owned());
    }
    text.clone_into(&mut draft.config.limit_store.prefix);
    Ok(())
}

/// Checks the longest wait for the store of rate limits.
pub(crate) fn parse_limit_store_timeout(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    let valid = Duration::from_millis(5)..=Duration::from_secs(5);
    let timeout = GoDuration::parse(text).map(GoDuration::to_std).filter(|timeout| valid.contains(timeout));
    draft.config.limit_store.timeout = timeout.ok_or("is not a duration from 5ms to 5s")?;
    Ok(())
}

/// Accepts the one schema that the statements name.
pub(crate) fn validate_namespace(text: &str) -> FormResult {
    if text == "auth" { Ok(()) } else { Err("is not auth, the one schema served".to_owned()) }
}

/// Parses the reference's names of levels, case-insensitively. An unknown one only causes a warning.
pub(crate) fn parse_log_level(draft: &mut Draft, text: &str) {
    if let Some(level) = LogLevel::parse(text) {
        draft.config.log.level = level;
    } else {
        let wrong = format!("{text:?} is none of error, warn, info, debug, trace; info is taken");
        draft.warn("GOTRUE_LOG_LEVEL", wrong);
    }
}

/// Parses `json` or `text`.
pub(crate) fn parse_log_format(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    draft.config.log.format = match text {
        "json" => LogFormat::Json,
        "text" => LogFormat::Text,
        _ => return Err("is neither json nor text".to_owned()),
    };
    Ok(())
}

/// Checks `bcrypt` or `argon2id`.
pub(crate) fn parse_password_hash(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    if !matches!(text, "bcrypt" | "argon2id") {
        return Err("is neither bcrypt nor argon2id".to_owned());
    }
    text.clone_into(&mut draft.password_hash);
    Ok(())
}

/// Parses `provider=domain` pairs.
pub(crate) fn parse_linking_domains(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    let wrong = |pair| format!("is not a list of provider=domain pairs between commas: {pair:?} is none");
    draft.policy.experimental.provider_linking_domains = values::parse_linking_domains(text).map_err(wrong)?;
    Ok(())
}

/// Parses an RFC 3339 time surrounded by optional white space; empty for none.
pub(crate) fn parse_test_otp_valid_until(draft: &mut Draft, _: &'static str, text: &str) -> FormResult {
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    let time = parse_time(text).ok_or("is not a time such as 2030-01-31T12:00:00Z")?;
    draft.policy.sms.test_otp_valid_until = Some(time);
    Ok(())
}

/// Parses a JSON array of JSON web keys, or `null`.
///
/// Of two keys with one id the later counts, and exactly one key must have the operation `sign`.
pub(crate) fn parse_jwt_keys(draft: &mut Draft, text: &str) -> FormResult {
    let wrong = |error| format!("is not a JSON list of JSON web keys ({error})");
    let keys: Option<Vec<Map<String, Value>>> = serde_json::from_str(text).map_err(wrong)?;
    let mut by_id = BTreeMap::new();
    for (position, key) in keys.unwrap_or_default().into_iter().enumerate() {
        let kind = key.get("kty").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "oct" | "RSA" | "EC" | "OKP") {
            return Err(format!("has a key (number {}) whose `kty` is none of oct, RSA, EC, OKP", position + 1));
        }
        let id = match key.get("kid") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(id)) => id.clone(),
            Some(_) => return Err(format!("has a key (number {}) whose `kid` is not a string", position + 1)),
        };
        by_id.insert(id, (position, key));
    }
    let signing = by_id.values().filter(|(_, key)| may_sign(key)).count();
    if !by_id.is_empty() && signing != 1 {
        return Err(format!("has {signing} keys whose `key_ops` hold `sign`, and exactly one must"));
    }
    let mut in_order: Vec<_> = by_id.into_values().collect();
    in_order.sort_by_key(|(position, _)| *position);
    let keys: Vec<_> = in_order.into_iter().map(|(_, key)| key).collect();
    if !keys.is_empty() {
        validate_keys(&keys)?;
    }
    draft.config.jwt.keys = keys;
    Ok(())
}

/// Checks that the keys can sign and verify.
fn validate_keys(jwks: &[Map<String, Value>]) -> FormResult {
    let settings = KeySettings { jwks, secret: &Secret::default(), key_id: "", valid_methods: None };
    let wrong = |error| match error {
        KeyError::Unusable { kid, reason } => format!("has the key {kid:?}, which cannot be used: {reason}"),
        error => format!("cannot be used: {error}"),
    };
    KeyRing::build(settings).map(drop).map_err(wrong)
}

fn may_sign(key: &Map<String, Value>) -> bool {
    let operations = key.get("key_ops").and_then(Value::as_array);
    operations.is_some_and(|operations| operations.iter().any(|operation| operation == "sign"))
}
