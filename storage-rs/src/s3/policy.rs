//! The policy of a form that a browser posts: what its fields may be.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html>

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde_json::Value;

/// Fields that no condition has to cover.
const EXEMPT: [&str; 6] =
    ["policy", "x-amz-signature", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-security-token"];

/// Why a form is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicyProblem {
    /// The policy is malformed.
    Invalid(&'static str),
    /// It is past its end.
    Expired,
    /// A field is not what a condition says.
    Denied(String),
}

/// Checks the fields of a form, whose names are in lower case. Returns the least and the greatest size of the file.
///
/// # Errors
/// The policy is malformed or expired, or a field is not covered.
pub(crate) fn verify(
    policy: &str,
    fields: &BTreeMap<String, String>,
    bucket: &str,
    now: DateTime<Utc>,
) -> Result<(u64, u64), PolicyProblem> {
    let invalid = PolicyProblem::Invalid("Invalid POST policy");
    let decoded = STANDARD.decode(policy).map_err(|_| invalid.clone())?;
    let policy: Value = serde_json::from_slice(&decoded).map_err(|_| invalid.clone())?;
    let policy = policy.as_object().ok_or(invalid)?;
    let expiration = policy.get("expiration").and_then(Value::as_str);
    let expiration = expiration.ok_or(PolicyProblem::Invalid("Missing policy expiration"))?;
    let expiration =
        DateTime::parse_from_rfc3339(expiration).map_err(|_| PolicyProblem::Invalid("Invalid policy expiration"))?;
    if expiration < now {
        return Err(PolicyProblem::Expired);
    }
    let conditions = policy.get("conditions").and_then(Value::as_array);
    let conditions = conditions.ok_or(PolicyProblem::Invalid("Invalid policy conditions"))?;
    let mut fields = fields.clone();
    fields.insert("bucket".to_owned(), bucket.to_owned());
    let mut covered = BTreeSet::new();
    let mut sizes = (0, u64::MAX);
    for condition in conditions {
        evaluate(condition, &fields, &mut covered, &mut sizes)?;
    }
    let uncovered = fields.keys().find(|name| {
        !EXEMPT.contains(&name.as_str()) && !name.starts_with("x-ignore-") && !covered.contains(name.as_str())
    });
    match uncovered {
        None => Ok(sizes),
        Some(name) => Err(PolicyProblem::Denied(format!(
            "Policy condition failed: field \"{name}\" is not covered by the policy"
        ))),
    }
}

fn evaluate(
    condition: &Value,
    fields: &BTreeMap<String, String>,
    covered: &mut BTreeSet<String>,
    sizes: &mut (u64, u64),
) -> Result<(), PolicyProblem> {
    let invalid = PolicyProblem::Invalid("Invalid policy condition");
    match condition {
        Value::Object(pair) => {
            let mut pairs = pair.iter();
            let (Some((name, value)), None) = (pairs.next(), pairs.next()) else { return Err(invalid) };
            let name = name.to_ascii_lowercase();
            compare(&name, &text(value), fields, false)?;
            covered.insert(name);
        }
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(kind), least, greatest] if kind == "content-length-range" => {
                let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
                *sizes = (number(least).ok_or(invalid.clone())?, number(greatest).ok_or(invalid)?);
            }
            [Value::String(kind), Value::String(target), value] if kind == "eq" || kind == "starts-with" => {
                let name = target.strip_prefix('$').ok_or(invalid)?.to_ascii_lowercase();
                compare(&name, &text(value), fields, kind == "starts-with")?;
                covered.insert(name);
            }
            _ => return Err(PolicyProblem::Invalid("Unsupported policy condition")),
        },
        _ => return Err(PolicyProblem::Invalid("Unsupported policy condition")),
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn compare(
    name: &str,
    expected: &str,
    fields: &BTreeMap<String, String>,
    is_prefix: bool,
) -> Result<(), PolicyProblem> {
    let actual = fields.get(name);
    let is_met = actual.is_some_and(|actual| if is_prefix { actual.starts_with(expected) } else { actual == expected });
    if is_met {
        return Ok(());
    }
    Err(PolicyProblem::Denied(if is_prefix {
        format!("Policy condition failed: \"{name}\" does not start with \"{expected}\"")
    } else {
        format!("Policy condition failed: \"{name}\" does not match")
    }))
}
