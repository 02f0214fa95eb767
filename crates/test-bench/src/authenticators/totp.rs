//! Generates one-time passwords (RFC 6238).

use foundation::time::Time;
use gotrue_rules::domain::mfa::totp::{STEP_SECONDS, generate_code};
use serde_json::{Map, Value, json};

use crate::TestApiError;

const MAX_BODY_BYTES: usize = 4 << 10;
const HINT: &str = "send {\"secret\": …} with the base32 secret that enrolment or the creation of the user returned";

/// Returns the code of `{secret}` at this time as `{code, valid_for}`, the latter in seconds.
///
/// # Errors
///
/// 400 for an invalid body.
pub fn generate_totp(now: Time, body: &[u8]) -> Result<Value, TestApiError> {
    let secret = parse_secret(body).map_err(|problem| TestApiError::bad_request(problem, HINT))?;
    let code = generate_code(&secret, now).ok_or_else(|| TestApiError::bad_request("secret: no base32 text", HINT))?;
    Ok(json!({ "code": code, "valid_for": STEP_SECONDS - now.timestamp().rem_euclid(STEP_SECONDS) }))
}

fn parse_secret(body: &[u8]) -> Result<String, String> {
    if body.len() > MAX_BODY_BYTES {
        return Err(format!("the body is larger than {MAX_BODY_BYTES} bytes"));
    }
    let parsed = serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object: {error}"));
    let mut members: Map<String, Value> = parsed?;
    let secret = members.shift_remove("secret");
    if let Some(unknown) = members.keys().next() {
        return Err(format!("{unknown}: no such member"));
    }
    match secret {
        Some(Value::String(secret)) if !secret.is_empty() => Ok(secret),
        _ => Err("secret: a base32 text is wanted".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The secret of the test vectors of RFC 6238.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn code_matches_rfc_vector_and_expires_with_its_step() {
        let body = json!({ "secret": SECRET }).to_string();
        let answer = generate_totp(at(59), body.as_bytes()).unwrap();
        assert_eq!(answer, json!({ "code": "287082", "valid_for": 1 }));
        assert_eq!(generate_totp(at(60), body.as_bytes()).unwrap()["valid_for"], 30);
    }

    #[test]
    fn invalid_bodies_are_rejected_with_a_reason() {
        for (body, expected) in [
            ("", "no JSON object"),
            ("{}", "secret: a base32 text is wanted"),
            ("{\"secret\": 7}", "secret: a base32 text is wanted"),
            ("{\"secret\": \"\"}", "secret: a base32 text is wanted"),
            ("{\"secret\": \"no!\"}", "secret: no base32 text"),
            ("{\"secret\": \"GEZDGNBV\", \"now\": 1}", "now: no such member"),
        ] {
            let error = generate_totp(at(0), body.as_bytes()).expect_err(body);
            assert!(error.message.contains(expected), "{body}: {}", error.message);
        }
    }

    proptest! {
        #[test]
        fn code_has_six_digits_whatever_the_secret(secret in "\\PC{0,40}", seconds in 0_i64..4_000_000_000) {
            let body = json!({ "secret": secret }).to_string();
            if let Ok(answer) = generate_totp(at(seconds), body.as_bytes()) {
                let code = answer["code"].as_str().unwrap();
                prop_assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()));
                prop_assert!((1..=30).contains(&answer["valid_for"].as_i64().unwrap()));
            }
        }
    }
}
