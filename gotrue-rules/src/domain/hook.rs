//! Hooks (`config.md` §7): what their answers mean. What they are sent is in `wire/hook.rs`.

pub mod claims;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{Error, Kind, Result};
use super::policy::HookKind;
use super::user::{Account, Time};
use crate::wire::go_json::{Document, Told};

/// The most bytes of an answer over HTTP.
pub const ANSWER_LIMIT: usize = 200 * 1024;
/// The longest that a hook over HTTP may take, all attempts together.
pub const HTTP_SECONDS: u64 = 5;

/// What came back over HTTP.
#[derive(Debug, Clone, Copy)]
pub struct HttpAnswer<'a> {
    /// The status.
    pub status: u16,
    /// `Content-Type`, empty if absent.
    pub content_type: &'a str,
    /// Whether a `Retry-After` with a value came along.
    pub asks_to_wait: bool,
    /// Whether the body is longer than [`ANSWER_LIMIT`].
    pub is_too_long: bool,
}

/// What an answer over HTTP says, its body aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The body is the output.
    Output,
    /// There is no output, and none is needed.
    Nothing,
    /// Call again.
    Again,
}

/// What an answer says by status and headers.
pub fn hear(answer: HttpAnswer<'_>) -> Result<Heard> {
    match answer.status {
        204 => Ok(Heard::Nothing),
        200 | 202 => {
            check_content_type(answer.content_type)?;
            if answer.is_too_long {
                let message = format!("Payload size exceeded size limit of {ANSWER_LIMIT} bytes");
                return Err(Error::unprocessable("hook_payload_over_size_limit", message));
            }
            Ok(Heard::Output)
        }
        429 | 503 if answer.asks_to_wait => Ok(Heard::Again),
        429 | 503 => Err(unavailable()),
        400 => Err(Error::internal("Invalid payload sent to hook")),
        401 => Err(Error::internal("Hook requires authorization token")),
        status => Err(Error::internal(format!("Unexpected status code returned from hook: {status}"))),
    }
}

/// A hook that asked to wait too often.
pub fn unavailable() -> Error {
    Error::internal("Service currently unavailable due to hook")
}

/// A hook that took too long.
pub fn too_slow() -> Error {
    let message = format!("Failed to reach hook within maximum time of {HTTP_SECONDS}.000000 seconds");
    Error::unprocessable("hook_timeout", message)
}

/// A hook that could not be reached, time after time.
pub fn unreachable() -> Error {
    Error::unprocessable("hook_timeout_after_retry", "Failed to reach hook after maximum retries")
}

/// Only JSON is read; letter case and parameters do not matter, but they must be well-formed.
fn check_content_type(header: &str) -> Result<()> {
    let refused = |message: String| Error::bad_request("hook_payload_invalid_content_type", message);
    if header.is_empty() {
        return Err(refused("Invalid Content-Type: Missing Content-Type header".to_owned()));
    }
    match media_type(header) {
        Err(words) => Err(refused(format!("Invalid Content-Type header: mime: {words}"))),
        Ok(kind) if kind != "application/json" => {
            Err(refused(format!("Invalid JSON response. Received content-type: {header}")))
        }
        Ok(_) => Ok(()),
    }
}

/// The media type of a `Content-Type` in small letters, or what is wrong with it in the words of Go's `mime`.
fn media_type(header: &str) -> std::result::Result<String, &'static str> {
    let (kind, parameters) = header.split_at(header.find(';').unwrap_or(header.len()));
    let kind = kind.trim().to_lowercase();
    match token_and_rest(&kind) {
        ("", _) => return Err("no media type"),
        (_, "") => {}
        (_, rest) => {
            let subtype = rest.strip_prefix('/').ok_or("expected slash after first token")?;
            match token_and_rest(subtype) {
                ("", _) => return Err("expected token after slash"),
                (_, "") => {}
                _ => return Err("unexpected content after media subtype"),
            }
        }
    }
    check_parameters(parameters)?;
    Ok(kind)
}

/// Whether the parameters, each with a `;` before it, are well-formed and none is given twice. A `;` at the end is passed
/// over.
fn check_parameters(text: &str) -> std::result::Result<(), &'static str> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && rest != ";" {
        let (name, value, after) = parameter(rest).ok_or("invalid media parameter")?;
        let name = name.to_ascii_lowercase();
        if seen.iter().any(|(known, other)| *known == name && *other != value) {
            return Err("duplicate parameter name");
        }
        seen.push((name, value));
        rest = after.trim_start();
    }
    Ok(())
}

/// Name and value of the first parameter, and what follows it.
fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = token_and_rest(text.strip_prefix(';')?.trim_start());
    let value = rest.trim_start().strip_prefix('=').filter(|_| !name.is_empty())?;
    let (value, rest) = value_and_rest(value.trim_start())?;
    Some((name, value, rest))
}

/// A token or a quoted text at the beginning, and what follows it.
fn value_and_rest(text: &str) -> Option<(&str, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return Some(token_and_rest(text)).filter(|(token, _)| !token.is_empty());
    };
    let mut is_escaped = false;
    let end = quoted.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    })?;
    Some((&quoted[..end], &quoted[end + 1..]))
}

/// The letters of a token at the beginning, and what follows them.
fn token_and_rest(text: &str) -> (&str, &str) {
    let in_token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c);
    text.split_at(text.find(|letter| !in_token(letter)).unwrap_or(text.len()))
}

/// The refusal that an output carries: an object `error` with a text `message` and perhaps a whole `http_code`.
/// Anything else of that name is ignored.
pub fn refusal(output: &[u8]) -> Option<Error> {
    let Refusing { error } = Document::parse(output).ok()?.read().ok()?;
    let Refusal { message, http_code } = error.filter(|error| !error.message.0.is_empty())?;
    let Told(message) = message;
    match u16::try_from(http_code) {
        Ok(0) => Some(refused(500, message)),
        Ok(status @ 200..=999) => Some(refused(status, message)),
        _ => Some(Error::broken(format!("a hook refuses with the status {http_code}, which there is not"))),
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusing {
    error: Option<Refusal>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusal {
    message: Told,
    http_code: i64,
}

fn refused(status: u16, message: String) -> Error {
    Error::new(Kind::Http { status, code: None, message: message.into() })
}

/// An output that is no JSON, or of the wrong form.
pub fn unreadable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::internal("Error unmarshaling JSON output.").because(cause)
}

/// What a hook that judges attempts has decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verdict {
    /// As if there were no hook.
    #[default]
    Continue,
    /// The attempt is refused, right or wrong.
    Reject {
        /// What the client is told; empty: the usual words.
        message: String,
        /// Whether the account's sessions end too, if the hook may say so.
        ends_sessions: bool,
    },
}

impl Verdict {
    /// The verdict in an output. Decisions of other names let the attempt pass.
    /// Whether sessions end too is read of a password's hook only.
    pub fn read(output: &[u8], kind: HookKind) -> Result<Self> {
        let Judged { decision: Told(decision), message: Told(message) } = decoded(output)?;
        let ends_sessions =
            kind == HookKind::PasswordVerificationAttempt && decoded::<JudgedPassword>(output)?.should_logout_user;
        Ok(if decision == "reject" { Self::Reject { message, ends_sessions } } else { Self::Continue })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Judged {
    decision: Told,
    message: Told,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct JudgedPassword {
    should_logout_user: bool,
}

fn decoded<T: DeserializeOwned>(output: &[u8]) -> Result<T> {
    Document::parse(output).and_then(|output| output.read()).map_err(unreadable)
}

/// What a password attempt is refused with.
pub fn password_rejected(message: String) -> Error {
    let usual = "Further password verification attempts will be rejected.";
    Error::bad_request("invalid_credentials", or_usual(message, usual))
}

/// What an attempt with a second factor is refused with.
pub fn mfa_rejected(message: String) -> Error {
    Error::forbidden(
        "mfa_verification_rejected",
        or_usual(message, "Further MFA verification attempts will be rejected."),
    )
}

fn or_usual(message: String, usual: &'static str) -> std::borrow::Cow<'static, str> {
    if message.is_empty() { usual.into() } else { message.into() }
}

#[derive(Deserialize, Default)]
struct Nothing {}

/// Whether an output that nothing is taken from can be read at all.
pub fn check_empty(output: &[u8]) -> Result<()> {
    decoded::<Nothing>(output).map(|_| ())
}

/// A new account as the hook before it sees it: neither stored nor given a role, and with the client's own metadata.
pub fn before_stored(account: &Account, data: &Map<String, Value>) -> Account {
    Account {
        role: String::new(),
        user_metadata: data.clone(),
        identities: Vec::new(),
        email_confirmed_at: None,
        phone_confirmed_at: None,
        created_at: year_one(),
        updated_at: year_one(),
        ..account.clone()
    }
}

/// The moment that stands for none in the reference.
fn year_one() -> Time {
    Time::from_timestamp(-62_135_596_800, 0).unwrap_or_default()
}

#[cfg(test)]
mod tests;
