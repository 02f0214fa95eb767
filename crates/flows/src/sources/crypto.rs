//! Computed credentials: one-time passwords, signed tokens, digests, encodings.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;

use super::arguments::{text_argument, wanted};
use super::scope::Scope;
use crate::FlowError;
use crate::expressions::as_text;
use crate::symbols::{decode_base64url, jwt_claims, jwt_header};
use crate::tokens::{decode_base32, one_time_password, sha256, sign_token};

pub(super) fn call(name: &str, arguments: &Value, scope: &Scope) -> Result<Option<Value>, FlowError> {
    let value = match name {
        "totp" => totp(arguments, scope)?.into(),
        "jwt" => {
            let secret = arguments["secret"].as_str().map(str::to_owned);
            let secret = secret.or_else(|| scope.target.jwt_secret.clone()).ok_or_else(|| {
                FlowError::new("the secret of the server's tokens is unknown", "give it with --jwt-secret")
            })?;
            sign_token(&arguments["claims"], &secret).into()
        }
        "claims" | "header" => {
            let token = arguments.as_str().ok_or_else(|| wanted(name, "a token"))?;
            let part = if name == "claims" { jwt_claims(token) } else { jwt_header(token) };
            part.ok_or_else(|| FlowError::new(format!("{name}: the text is no token"), "capture a token"))?
        }
        "sha256" => encoded(&sha256(of(arguments, name)?.as_bytes()), arguments, name)?,
        "hmac" => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, text_argument(arguments, name, "key")?.as_bytes());
            encoded(hmac::sign(&key, of(arguments, name)?.as_bytes()).as_ref(), arguments, name)?
        }
        "base64" => STANDARD.encode(of(arguments, name)?.as_bytes()).into(),
        "base64url" => URL_SAFE_NO_PAD.encode(of(arguments, name)?.as_bytes()).into(),
        "unbase64" => {
            let text = of(arguments, name)?;
            let bytes = STANDARD.decode(text.as_bytes()).ok().or_else(|| decode_base64url(&text));
            let bytes = bytes.ok_or_else(|| FlowError::new("unbase64: the text is no base64", "check the value"))?;
            String::from_utf8_lossy(&bytes).into_owned().into()
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// Returns the argument `of`, or the arguments themselves if they are a text.
fn of<'a>(arguments: &'a Value, source: &str) -> Result<std::borrow::Cow<'a, str>, FlowError> {
    match arguments {
        Value::Object(members) => members.get("of").map(as_text).ok_or_else(|| wanted(source, "{\"of\": text}")),
        other => Ok(as_text(other)),
    }
}

fn encoded(bytes: &[u8], arguments: &Value, source: &str) -> Result<Value, FlowError> {
    match arguments["as"].as_str() {
        None | Some("hex") => Ok(hex::encode(bytes).into()),
        Some("base64url") => Ok(URL_SAFE_NO_PAD.encode(bytes).into()),
        Some("base64") => Ok(STANDARD.encode(bytes).into()),
        Some(_) => Err(wanted(source, "{\"of\": text, \"as\": \"hex\"}, or base64url, or base64")),
    }
}

/// Returns the one-time password of a secret (RFC 6238).
fn totp(arguments: &Value, scope: &Scope) -> Result<String, FlowError> {
    let form = "{\"secret\": \"{{made.totp.secret}}\"}";
    let secret = arguments["secret"].as_str().ok_or_else(|| wanted("totp", form))?;
    let key = decode_base32(secret).ok_or_else(|| FlowError::new("totp: the secret is no base32", "capture it"))?;
    let at = arguments["at"].as_f64().unwrap_or_else(|| scope.now());
    let step = arguments["step"].as_u64().filter(|step| *step > 0).unwrap_or(30);
    let digits = arguments["digits"].as_u64().filter(|digits| (1..=9).contains(digits)).unwrap_or(6);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
    let mut counter = at.max(0.0) as u64 / step;
    // A code that was sent before is not accepted a second time by a server that follows RFC 6238 §5.2.
    if arguments["fresh"] == true {
        counter = scope.next_totp_counter(secret, counter);
    }
    Ok(one_time_password(&key, counter, digits))
}
