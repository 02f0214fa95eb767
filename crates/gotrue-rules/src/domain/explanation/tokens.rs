//! Explains why a token (RFC 7519) is refused: its times, and how far the clocks are apart.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::explanation::DecisionRecord;
use foundation::time::Time;
use serde_json::Value;

/// The longest token that is read.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// A token from the future by more than this is a difference of clocks.
const MAX_SKEW_SECONDS: i64 = 1;

/// The times of a token, unverified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenTimes {
    /// `exp`, in seconds since 1970.
    pub expires: Option<i64>,
    /// `nbf`.
    pub not_before: Option<i64>,
    /// `iat`.
    pub issued: Option<i64>,
}

impl TokenTimes {
    /// Reads the times of a token without verifying it; `None` if it cannot be read.
    pub fn read(token: &str) -> Option<Self> {
        let payload = token.split('.').nth(1).filter(|_| token.len() <= MAX_TOKEN_BYTES)?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
        // A time may have a fraction (RFC 7519 §2).
        let seconds = |name: &str| claims.get(name)?.as_number()?.to_string().split('.').next()?.parse().ok();
        Some(Self { expires: seconds("exp"), not_before: seconds("nbf"), issued: seconds("iat") })
    }
}

/// Explains a refused token by its times; else by the reason of the verification.
pub fn explain_token(token: &str, reason: &str, now: Time) -> DecisionRecord {
    let times = TokenTimes::read(token).unwrap_or_default();
    let now_seconds = now.timestamp();
    let record = if let Some(seconds) = seconds_early(times, now_seconds) {
        DecisionRecord::refused("token.clock_skew", format!("The token is {seconds} s from the future."))
            .with_value(format!("{seconds} s"))
            .with_input("clock_skew_seconds", seconds)
            .with_remedy("Set the clocks of this server and of the issuer of the token by NTP.")
    } else if let Some(seconds) = times.expires.map(|expires| now_seconds - expires).filter(|seconds| *seconds >= 0) {
        DecisionRecord::refused("token.expired", format!("The token expired {seconds} s ago."))
            .with_value(format!("{seconds} s"))
            .with_input("expired_seconds_ago", seconds)
            .with_remedy("Refresh the session before the token expires; the client library does it by itself.")
    } else {
        DecisionRecord::refused("token.invalid", "The token is not one that this server signed.")
            .with_remedy("Use a token of this server. After a change of the signing keys, users sign in again.")
    };
    let time = |seconds: i64| Time::from_timestamp(seconds, 0).map(|time| time.to_rfc3339());
    record
        .with_input("verification", reason)
        .with_input("issued_at", times.issued.and_then(time))
        .with_input("not_before", times.not_before.and_then(time))
        .with_input("expires_at", times.expires.and_then(time))
        .with_input("server_time", now.to_rfc3339())
}

/// The seconds until the token is valid, or since when it will have been issued.
fn seconds_early(times: TokenTimes, now: i64) -> Option<i64> {
    let early = [times.not_before, times.issued].into_iter().flatten().max()?.checked_sub(now)?;
    (early > MAX_SKEW_SECONDS).then_some(early)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    fn explain(claims: &Value) -> (&'static str, Option<String>) {
        let record = explain_token(&token(claims), "reason", Time::from_timestamp(1_000, 0).unwrap());
        (record.name, record.value)
    }

    #[test]
    fn token_is_explained_by_its_times() {
        for (claims, name, value) in [
            (json!({"exp": 990}), "token.expired", Some("10 s")),
            (json!({"exp": 1000}), "token.expired", Some("0 s")),
            (json!({"exp": 2000, "nbf": 1090}), "token.clock_skew", Some("90 s")),
            (json!({"exp": 2000, "iat": 1300.5}), "token.clock_skew", Some("300 s")),
            (json!({"exp": 2000, "iat": 1001}), "token.invalid", None),
            (json!({}), "token.invalid", None),
        ] {
            assert_eq!(explain(&claims), (name, value.map(str::to_owned)), "{claims}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_explained(text in "[ -~]{0,60}") {
            let record = explain_token(&text, "reason", Time::UNIX_EPOCH);
            prop_assert!(record.name.starts_with("token."));
        }

        #[test]
        fn times_are_read_back(exp: Option<i64>, nbf: Option<i64>, iat: Option<i64>) {
            let times = TokenTimes::read(&token(&json!({"exp": exp, "nbf": nbf, "iat": iat})));
            prop_assert_eq!(times, Some(TokenTimes { expires: exp, not_before: nbf, issued: iat }));
            explain_token(&token(&json!({"exp": exp, "nbf": nbf, "iat": iat})), "", Time::UNIX_EPOCH);
        }
    }
}
