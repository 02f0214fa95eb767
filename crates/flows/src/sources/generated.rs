//! Generated values: addresses, numbers, passwords, random texts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::arguments::wanted;
use super::scope::Scope;
use crate::FlowError;
use crate::tokens::sha256;

/// The longest generated text.
const MAX_LENGTH: u64 = 1 << 20;
/// The characters of a password of each kind that a policy can require.
const PASSWORD_START: &str = "aB3!";

pub(super) fn call(name: &str, arguments: &Value, scope: &Scope) -> Result<Option<Value>, FlowError> {
    let value = match name {
        "email" => email(arguments.as_str().ok_or_else(|| wanted(name, "\"ann\""))?, scope).into(),
        "phone" => phone(arguments.as_u64().ok_or_else(|| wanted(name, "0"))?, scope).into(),
        "password" => {
            let length = length_of(arguments, name)?.max(PASSWORD_START.len());
            format!("{PASSWORD_START}{}", scope.entropy.base32(length - PASSWORD_START.len())).into()
        }
        "words" => scope.entropy.base32(length_of(arguments, name)?).into(),
        "number" => number(arguments, scope)?,
        "random" => random(arguments, scope)?,
        "uuid" => scope.entropy.uuid().to_string().into(),
        "nonce" => {
            let value = scope.entropy.base32(32);
            json!({ "value": value, "sha256": hex::encode(sha256(value.as_bytes())) })
        }
        "pkce" => {
            let verifier = URL_SAFE_NO_PAD.encode(scope.entropy.bytes::<48>());
            json!({ "verifier": verifier, "challenge": URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes())) })
        }
        "provided" => {
            let what = arguments.as_str().unwrap_or("the value");
            return Err(FlowError::new(
                format!("a value is missing that the recording cannot contain: {what}"),
                "give it with --set NAME=VALUE, with the name of this variable",
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// Returns an address that no other flow uses; with a server that other runs use, no other run either.
fn email(local_part: &str, scope: &Scope) -> String {
    let name: String =
        scope.flow.chars().map(|each| if matches!(each, '.' | '_' | ' ' | '/') { '-' } else { each }).collect();
    if scope.target.is_isolated {
        return format!("{local_part}.{name}@example.com");
    }
    format!("{local_part}.{}.{name}@example.com", scope.entropy.base32(8))
}

/// Returns a number that no other flow uses, without a plus.
fn phone(number: u64, scope: &Scope) -> String {
    let run = if scope.target.is_isolated { String::new() } else { scope.entropy.base32(8) };
    let digest = sha256(format!("{}{number}{run}", scope.flow).as_bytes());
    let rest = digest.iter().fold(0_u64, |rest, byte| (rest * 256 + u64::from(*byte)) % 10_000_000);
    format!("1555{rest:07}")
}

/// Returns a number of this length that differs from those of other indices and does not end with zero.
fn number(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    if !arguments.is_object() {
        let digits = length_of(arguments, "number")?.clamp(1, 15);
        let text = format!("1{}", scope.entropy.digits(digits - 1));
        return Ok(text.parse::<u64>().unwrap_or_default().into());
    }
    let of = |name: &str, limit: u32| match arguments.get(name) {
        None => Ok(0),
        Some(count) => {
            let count = count.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count <= limit);
            count.ok_or_else(|| wanted("number", "{\"digits\": 9, \"decimals\": 7, \"index\": 0}"))
        }
    };
    let (digits, decimals, index) = (of("digits", 15)?, of("decimals", 22)?, u64::from(of("index", u32::MAX)?));
    let start = if digits > 1 { 10_u64.pow(digits - 1) } else { 0 };
    let number = start + index + index / 9 + 1;
    if decimals == 0 {
        return Ok(number.into());
    }
    let number: f64 = format!("{number}e-{decimals}").parse().unwrap_or_default();
    Ok(number.into())
}

fn random(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let form = "{\"alphabet\": \"hex\", \"length\": 32}";
    let length = length_of(&arguments["length"], "random").map_err(|_| wanted("random", form))?;
    let alphabet: &[u8] = match arguments["alphabet"].as_str() {
        Some("hex") => b"0123456789abcdef",
        Some("digits") => return Ok(scope.entropy.digits(length).into()),
        Some("base32") => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        Some("base64url") => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        _ => return Err(wanted("random", form)),
    };
    let mut bytes = vec![0; length];
    scope.entropy.fill(&mut bytes);
    // All lengths are powers of two, so that every character is equally likely.
    Ok(bytes.iter().map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()])).collect::<String>().into())
}

fn length_of(value: &Value, source: &str) -> Result<usize, FlowError> {
    let length = value.as_u64().filter(|length| *length <= MAX_LENGTH);
    length.and_then(|length| usize::try_from(length).ok()).ok_or_else(|| wanted(source, "20"))
}
