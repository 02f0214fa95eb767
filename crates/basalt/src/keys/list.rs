//! Output of `basalt keys`.

use std::io::Write;

use chrono::DateTime;
use foundation::time::format_seconds;
use serde_json::{Value, json};

use super::key_set::{KeyKind, KeySet, ManagedKey};

/// The number of characters of a secret that are shown.
const SHOWN_CHARACTERS: usize = 14;

/// Prints keys as a table, or as JSON. Secrets are shortened.
pub(crate) fn print_keys(keys: &KeySet, is_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if is_json {
        let all: Vec<Value> = keys.keys.iter().map(|key| describe(key, false)).collect();
        writeln!(out, "{}", json!({ "keys": all }))?;
        return Ok(());
    }
    write_row(&mut out, ["TYPE", "STATE", "ID", "ALG", "SINCE", "KEY"])?;
    for kind in KeyKind::ALL {
        for key in keys.of_kind(kind) {
            let since = format_time(key.since).unwrap_or_else(|| "-".to_owned());
            let shown = shorten(key, false).unwrap_or_else(|| "-".to_owned());
            write_row(&mut out, [kind.name(), key.state.name(), &key.id, algorithm(key), &since, &shown])?;
        }
    }
    Ok(())
}

fn write_row(out: &mut impl Write, columns: [&str; 6]) -> std::io::Result<()> {
    let [kind, state, id, algorithm, since, key] = columns;
    writeln!(out, "{kind:<12} {state:<9} {id:<37} {algorithm:<7} {since:<21} {key}")
}

/// Returns a key as JSON; `is_whole` shows an API key in full.
pub(crate) fn describe(key: &ManagedKey, is_whole: bool) -> Value {
    let mut described = json!({ "id": key.id, "type": key.kind.name(), "state": key.state.name() });
    if key.kind == KeyKind::Signing {
        described["algorithm"] = json!(algorithm(key));
    }
    if let Some(since) = format_time(key.since) {
        described["since"] = json!(since);
    }
    if let Some(text) = shorten(key, is_whole) {
        described["key"] = json!(text);
    }
    described
}

fn algorithm(key: &ManagedKey) -> &str {
    match key.kind {
        KeyKind::Signing => key.value.get("alg").and_then(Value::as_str).unwrap_or("HS256"),
        KeyKind::Publishable | KeyKind::Secret => "-",
    }
}

/// Returns the text of an API key, that of a secret one without its end.
fn shorten(key: &ManagedKey, is_whole: bool) -> Option<String> {
    let text = key.value.as_str().filter(|_| key.kind != KeyKind::Signing && !key.is_configured())?;
    if is_whole || key.kind == KeyKind::Publishable {
        return Some(text.to_owned());
    }
    Some(text.chars().take(SHOWN_CHARACTERS).chain(['…']).collect())
}

fn format_time(seconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp(seconds, 0).filter(|_| seconds > 0)?;
    Some(format_seconds(time))
}

#[cfg(test)]
mod tests {
    use super::super::key_set::KeyState;
    use super::*;

    #[test]
    fn secrets_are_shortened_and_signing_keys_never_shown() {
        let key = |kind, value: Value| ManagedKey {
            id: "a".to_owned(),
            kind,
            state: KeyState::Current,
            since: 1_800_000_000,
            value,
        };
        let secret = key(KeyKind::Secret, json!("sb_secret_0123456789"));
        assert_eq!(describe(&secret, false)["key"], "sb_secret_0123…");
        assert_eq!(describe(&secret, true)["key"], "sb_secret_0123456789");
        let signing = describe(&key(KeyKind::Signing, json!({ "alg": "ES256", "d": "private" })), true);
        let since = "2027-01-15T08:00:00Z";
        let expected =
            json!({ "id": "a", "type": "signing", "state": "current", "algorithm": "ES256", "since": since });
        assert_eq!(signing, expected);
    }
}
