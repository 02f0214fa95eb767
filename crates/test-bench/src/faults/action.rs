//! What a fault does: the member `do` of a rule.

use std::time::Duration;

use foundation::error::ErrorCode;
use http::StatusCode;
use platform::nearest::format_suggestion;
use serde_json::{Map, Value};

use super::target::FaultTarget;

/// The longest delay, in milliseconds: ten minutes.
const MAX_DELAY_MS: u64 = 600_000;
/// The highest value of `Retry-After`, in seconds: a day.
const MAX_RETRY_AFTER: u64 = 86_400;
/// The failure of a target that only takes long.
const SLOW: &str = "slow";
/// Its delay without `delay_ms`.
const SLOW_DELAY: Duration = Duration::from_secs(3);
const MEMBERS: [&str; 8] = ["status", "error_code", "body", "delay_ms", "drop", "truncate", "retry_after", "failure"];

/// The effect of a fault, and the delay before it.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultAction {
    /// How long the affected operation waits first.
    pub delay: Duration,
    /// What happens then.
    pub effect: FaultEffect,
}

/// The effect of a fault after its delay.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultEffect {
    /// The operation continues.
    Continue,
    /// The answer is an error of the catalogue.
    Error {
        status: u16,
        code: ErrorCode,
        /// The value of `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The answer has this status and body.
    Respond {
        status: u16,
        /// The body: a text, or JSON.
        body: Option<Value>,
        /// The value of `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The connection is closed without an answer.
    Drop,
    /// The connection is closed after so many bytes of the body.
    Truncate(usize),
    /// The operation fails in a way of its target.
    Fail(TargetFailure),
}

/// A failure of a target other than `http`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetFailure {
    /// The target refuses; a mail server rejects the message permanently.
    Refuse,
    /// The target never answers.
    Hang,
    /// The message is accepted and not delivered.
    Bounce,
    /// SQLSTATE 40001.
    SerializationFailure,
    /// The connection to the database is lost.
    LostConnection,
    /// SQLSTATE 25006.
    ReadOnly,
}

impl FaultAction {
    /// Parses the member `do` of a rule.
    pub(super) fn parse(members: &Map<String, Value>, target: &FaultTarget) -> Result<Self, String> {
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let suggestion = format_suggestion(unknown, MEMBERS);
            return Err(format!("do.{unknown}: no such member{suggestion}; known are {}", MEMBERS.join(", ")));
        }
        let delay = whole(members, "delay_ms", MAX_DELAY_MS)?.map(Duration::from_millis);
        let is_slow = members.get("failure").is_some_and(|failure| failure == SLOW);
        let effect = parse_effect(members, target, is_slow)?;
        if effect == FaultEffect::Continue && delay.is_none() && !is_slow {
            return Err(format!("do: an effect is wanted, one of {}", MEMBERS.join(", ")));
        }
        if *target == FaultTarget::Database && delay.is_some() && effect != FaultEffect::Continue {
            return Err(format!("do.delay_ms: of the failures of the database only {SLOW} has a delay"));
        }
        Ok(Self { delay: delay.unwrap_or(if is_slow { SLOW_DELAY } else { Duration::ZERO }), effect })
    }
}

fn parse_effect(members: &Map<String, Value>, target: &FaultTarget, is_slow: bool) -> Result<FaultEffect, String> {
    let response = parse_response(members)?;
    let is_dropped = match members.get("drop") {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(FaultEffect::Drop),
        Some(_) => return Err("do.drop: true or false is wanted".to_owned()),
    };
    let truncate = whole(members, "truncate", u64::from(u32::MAX))?;
    let truncated = truncate.map(|bytes| FaultEffect::Truncate(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let failure = parse_failure(members, target)?.map(FaultEffect::Fail);
    let mut effects = [response, is_dropped, truncated, failure].into_iter().flatten();
    let effect = effects.next().unwrap_or(FaultEffect::Continue);
    if effects.next().is_some() || is_slow && effect != FaultEffect::Continue {
        return Err("do: give a response, drop, truncate or failure, only one of them".to_owned());
    }
    require_supported(&effect, target)?;
    Ok(effect)
}

/// Parses the members of a response; `None` if there are none.
fn parse_response(members: &Map<String, Value>) -> Result<Option<FaultEffect>, String> {
    let retry_after = whole(members, "retry_after", MAX_RETRY_AFTER)?;
    let status = match members.get("status").map(|status| status.as_u64().and_then(|number| u16::try_from(number).ok()))
    {
        None => None,
        Some(Some(status)) if (200..600).contains(&status) => Some(status),
        Some(_) => return Err("do.status: a status of 200 to 599 is wanted".to_owned()),
    };
    let body = members.get("body").cloned();
    if let Some(word) = members.get("error_code") {
        let code = word.as_str().and_then(find_code);
        let code = code.ok_or_else(|| {
            let codes = ErrorCode::SECTIONS.iter().flat_map(|section| section.codes).map(|code| code.as_str());
            let suggestion = format_suggestion(word.as_str().unwrap_or_default(), codes);
            format!("do.error_code: {word} is not in docs/errors.md{suggestion}")
        })?;
        if body.is_some() {
            return Err("do.body: the error code determines the body; give one of them".to_owned());
        }
        let status = status.unwrap_or(code.status());
        return Ok(Some(FaultEffect::Error { status, code, retry_after }));
    }
    if status.is_none() && body.is_none() {
        let without = || "do.retry_after: status or error_code is wanted, such as 429".to_owned();
        return if retry_after.is_some() { Err(without()) } else { Ok(None) };
    }
    let status = status.unwrap_or(StatusCode::OK.as_u16());
    Ok(Some(FaultEffect::Respond { status, body, retry_after }))
}

/// Finds a code of the catalogue by its text.
fn find_code(word: &str) -> Option<ErrorCode> {
    ErrorCode::SECTIONS.iter().flat_map(|section| section.codes).copied().find(|code| code.as_str() == word)
}

fn parse_failure(members: &Map<String, Value>, target: &FaultTarget) -> Result<Option<TargetFailure>, String> {
    let Some(failure) = members.get("failure") else { return Ok(None) };
    let known: &[(&str, TargetFailure)] = match target {
        FaultTarget::Http => return Err("do.failure: use status, error_code, drop or truncate for http".to_owned()),
        FaultTarget::Smtp => {
            &[("refuse", TargetFailure::Refuse), ("hang", TargetFailure::Hang), ("bounce", TargetFailure::Bounce)]
        }
        FaultTarget::Sms | FaultTarget::Hook(_) | FaultTarget::Provider(_) => {
            &[("refuse", TargetFailure::Refuse), ("hang", TargetFailure::Hang)]
        }
        FaultTarget::Database => &[
            ("serialization_failure", TargetFailure::SerializationFailure),
            ("lost_connection", TargetFailure::LostConnection),
            ("read_only", TargetFailure::ReadOnly),
        ],
    };
    let found = known.iter().find(|(word, _)| failure.as_str() == Some(*word)).map(|(_, failure)| *failure);
    if found.is_none() && failure != SLOW {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).chain([SLOW]).collect();
        let suggestion = format_suggestion(failure.as_str().unwrap_or_default(), words.iter().copied());
        return Err(format!(
            "do.failure: {failure} is no failure of {target}{suggestion}; known are {}",
            words.join(", ")
        ));
    }
    Ok(found)
}

/// Refuses effects that the target does not have.
fn require_supported(effect: &FaultEffect, target: &FaultTarget) -> Result<(), String> {
    let is_supported = match effect {
        FaultEffect::Continue | FaultEffect::Fail(_) => true,
        FaultEffect::Error { .. } | FaultEffect::Truncate(_) => *target == FaultTarget::Http,
        FaultEffect::Respond { .. } | FaultEffect::Drop => {
            matches!(target, FaultTarget::Http | FaultTarget::Hook(_) | FaultTarget::Provider(_))
        }
    };
    if is_supported { Ok(()) } else { Err(format!("do: the target {target} has delay_ms and failure")) }
}

fn whole(members: &Map<String, Value>, name: &str, most: u64) -> Result<Option<u64>, String> {
    match members.get(name).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(number)) if number <= most => Ok(Some(number)),
        Some(_) => Err(format!("do.{name}: a whole number up to {most} is wanted")),
    }
}
