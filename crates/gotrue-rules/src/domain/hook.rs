//! Hook responses: their meaning and errors. `wire/hook.rs` builds the requests.

pub mod claims;

use foundation::error::{Error, ErrorCode, ErrorKind, Result};
use foundation::time::Time;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::policy::HookKind;
use super::user::User;
use crate::wire::go_json::{Document, UnstoredText};

/// Largest HTTP response of a hook, in bytes.
pub const MAX_RESPONSE_BYTES: usize = 200 * 1024;
/// Time limit of an HTTP hook, all attempts together, in seconds.
pub const HTTP_TIMEOUT_SECONDS: u64 = 5;

/// An HTTP response of a hook.
#[derive(Debug, Clone, Copy)]
pub struct HookResponse<'a> {
    pub status: u16,
    /// `Content-Type`, empty if absent.
    pub content_type: &'a str,
    /// Whether `Retry-After` is present and not empty.
    pub has_retry_after: bool,
    /// Whether the body is longer than [`MAX_RESPONSE_BYTES`].
    pub is_too_long: bool,
}

/// Meaning of an HTTP response, apart from its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookResponseKind {
    /// The body is the output.
    Output,
    /// There is no output, and none is required.
    NoContent,
    /// The call must be retried.
    Retry,
}

/// Classifies a response by status and headers.
pub fn classify_response(answer: HookResponse<'_>) -> Result<HookResponseKind> {
    match answer.status {
        204 => Ok(HookResponseKind::NoContent),
        200 | 202 => {
            validate_content_type(answer.content_type)?;
            if answer.is_too_long {
                let message = format!("Payload size exceeded size limit of {MAX_RESPONSE_BYTES} bytes");
                return Err(Error::new(ErrorCode::HookPayloadOverSizeLimit, message));
            }
            Ok(HookResponseKind::Output)
        }
        429 | 503 if answer.has_retry_after => Ok(HookResponseKind::Retry),
        429 | 503 => Err(hook_unavailable()),
        400 => Err(Error::internal("Invalid payload sent to hook")),
        401 => Err(Error::internal("Hook requires authorization token")),
        status => Err(Error::internal(format!("Unexpected status code returned from hook: {status}"))),
    }
}

/// Error of a hook that requested a retry too often.
pub fn hook_unavailable() -> Error {
    Error::internal("Service currently unavailable due to hook")
}

/// Error of a hook that exceeded the time limit.
pub fn hook_timeout() -> Error {
    let message = format!("Failed to reach hook within maximum time of {HTTP_TIMEOUT_SECONDS}.000000 seconds");
    Error::new(ErrorCode::HookTimeout, message)
}

/// Error of a hook that was not reachable in any attempt.
pub fn hook_unreachable() -> Error {
    Error::new(ErrorCode::HookTimeoutAfterRetry, "Failed to reach hook after maximum retries")
}

/// Accepts only a well-formed JSON media type, in any letter case and with any parameters.
fn validate_content_type(header: &str) -> Result<()> {
    let refused = |message: String| Error::new(ErrorCode::HookPayloadInvalidContentType, message);
    if header.is_empty() {
        return Err(refused("Invalid Content-Type: Missing Content-Type header".to_owned()));
    }
    match parse_media_type(header) {
        Err(words) => Err(refused(format!("Invalid Content-Type header: mime: {words}"))),
        Ok(kind) if kind != "application/json" => {
            Err(refused(format!("Invalid JSON response. Received content-type: {header}")))
        }
        Ok(_) => Ok(()),
    }
}

/// Parses the media type of a `Content-Type` in lower case; errors have the wording of Go's `mime`.
fn parse_media_type(header: &str) -> std::result::Result<String, &'static str> {
    let (kind, parameters) = header.split_at(header.find(';').unwrap_or(header.len()));
    let kind = kind.trim().to_lowercase();
    match split_token(&kind) {
        ("", _) => return Err("no media type"),
        (_, "") => {}
        (_, rest) => {
            let subtype = rest.strip_prefix('/').ok_or("expected slash after first token")?;
            match split_token(subtype) {
                ("", _) => return Err("expected token after slash"),
                (_, "") => {}
                _ => return Err("unexpected content after media subtype"),
            }
        }
    }
    validate_parameters(parameters)?;
    Ok(kind)
}

/// Checks that the parameters are well-formed and unique. A trailing `;` is ignored.
fn validate_parameters(text: &str) -> std::result::Result<(), &'static str> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && rest != ";" {
        let (name, value, after) = split_parameter(rest).ok_or("invalid media parameter")?;
        let name = name.to_ascii_lowercase();
        if seen.iter().any(|(known, other)| *known == name && *other != value) {
            return Err("duplicate parameter name");
        }
        seen.push((name, value));
        rest = after.trim_start();
    }
    Ok(())
}

/// Splits off the first parameter: name, value, rest.
fn split_parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = split_token(text.strip_prefix(';')?.trim_start());
    let value = rest.trim_start().strip_prefix('=').filter(|_| !name.is_empty())?;
    let (value, rest) = split_value(value.trim_start())?;
    Some((name, value, rest))
}

/// Splits off a token or a quoted string at the beginning.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return Some(split_token(text)).filter(|(token, _)| !token.is_empty());
    };
    let mut is_escaped = false;
    let end = quoted.find(|message| {
        let is_end = message == '"' && !is_escaped;
        is_escaped = message == '\\' && !is_escaped;
        is_end
    })?;
    Some((&quoted[..end], &quoted[end + 1..]))
}

/// Splits off a token at the beginning.
fn split_token(text: &str) -> (&str, &str) {
    let in_token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c);
    text.split_at(text.find(|email_message| !in_token(email_message)).unwrap_or(text.len()))
}

/// Returns the error of an output: an object with a text `message` and an optional `http_code`.
/// Any other `error` member is ignored.
pub fn parse_hook_error(output: &[u8]) -> Option<Error> {
    let ErrorOutput { error } = Document::parse(output).ok()?.read().ok()?;
    let HookError { message, http_code } = error.filter(|error| !error.message.0.is_empty())?;
    let UnstoredText(message) = message;
    match u16::try_from(http_code) {
        Ok(0) => Some(hook_error(500, message)),
        Ok(status @ 200..=999) => Some(hook_error(status, message)),
        _ => Some(Error::internal_server_error(format!(
            "a hook refuses with the status {http_code}, which there is not"
        ))),
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorOutput {
    error: Option<HookError>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct HookError {
    message: UnstoredText,
    http_code: i64,
}

fn hook_error(status: u16, message: String) -> Error {
    Error::from_kind(ErrorKind::Http { status, code: None, message: message.into() })
}

/// Error of an output that is not JSON, or not of the expected type.
pub fn malformed_output(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::internal("Error unmarshaling JSON output.").with_cause(cause)
}

/// Decision of a verification-attempt hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AttemptDecision {
    /// The attempt proceeds as if there were no hook.
    #[default]
    Continue,
    /// The attempt is rejected, even if the credential is correct.
    Reject {
        /// The client message; empty: the default message.
        message: String,
        /// Whether the user's sessions end too; only the password hook can set it.
        should_end_sessions: bool,
    },
}

impl AttemptDecision {
    /// Parses the decision of an output. Unknown decisions let the attempt proceed.
    /// Only the password hook can end sessions.
    pub fn parse(output: &[u8], kind: HookKind) -> Result<Self> {
        let AttemptOutput { decision: UnstoredText(decision), message: UnstoredText(message) } = decode_output(output)?;
        let ends_sessions = kind == HookKind::PasswordVerificationAttempt
            && decode_output::<PasswordAttemptOutput>(output)?.should_logout_user;
        Ok(if decision == "reject" {
            Self::Reject { message, should_end_sessions: ends_sessions }
        } else {
            Self::Continue
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AttemptOutput {
    decision: UnstoredText,
    message: UnstoredText,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PasswordAttemptOutput {
    should_logout_user: bool,
}

fn decode_output<T: DeserializeOwned>(output: &[u8]) -> Result<T> {
    Document::parse(output).and_then(|output| output.read()).map_err(malformed_output)
}

/// Error of a rejected password attempt.
pub fn password_rejected(message: String) -> Error {
    let usual = "Further password verification attempts will be rejected.";
    Error::new(ErrorCode::InvalidCredentials, message_or_default(message, usual))
}

/// Error of a rejected second-factor attempt.
pub fn mfa_rejected(message: String) -> Error {
    Error::new(
        ErrorCode::MfaVerificationRejected,
        message_or_default(message, "Further MFA verification attempts will be rejected."),
    )
}

fn message_or_default(message: String, usual: &'static str) -> std::borrow::Cow<'static, str> {
    if message.is_empty() { usual.into() } else { message.into() }
}

#[derive(Deserialize, Default)]
struct EmptyOutput {}

/// Checks that an output without members of interest is a JSON object.
pub fn validate_empty(output: &[u8]) -> Result<()> {
    decode_output::<EmptyOutput>(output).map(|_| ())
}

/// Returns a new user as the before-user-created hook sees it.
/// It is not stored, and has no role and the client's metadata.
pub fn before_user_created_view(user: &User, data: &Map<String, Value>) -> User {
    User {
        role: String::new(),
        user_metadata: data.clone(),
        identities: Vec::new(),
        email_confirmed_at: None,
        phone_confirmed_at: None,
        created_at: go_zero_time(),
        updated_at: go_zero_time(),
        ..user.clone()
    }
}

/// Returns Go's zero time, which GoTrue sends for a missing time.
fn go_zero_time() -> Time {
    Time::from_timestamp(-62_135_596_800, 0).unwrap_or_default()
}

#[cfg(test)]
mod tests;
