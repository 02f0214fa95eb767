//! Query parameters of the message API, each checked.

use std::time::Duration;

use platform::nearest::format_suggestion;
use platform::request_info::parse_pairs;

use crate::api_error::ApiError;
use crate::kind::list_kinds;
use crate::message::Channel;
use crate::store::{Cursor, MAX_LISTED, MessageQuery};

/// The longest time that a client may wait for a message.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The maximum number of bytes of a query.
const MAX_QUERY_BYTES: usize = 4096;
/// The number of messages without `limit`.
const DEFAULT_LIMIT: u16 = 100;

/// Parses the parameters of a list of messages.
///
/// # Errors
/// A parameter is unknown, repeated or invalid.
pub(crate) fn parse_list(query: &str) -> Result<MessageQuery, ApiError> {
    parse(query, &["to", "channel", "kind", "subject", "after", "wait", "limit"])
}

/// Parses the parameters of a deletion.
///
/// # Errors
/// A parameter is unknown, repeated or invalid.
pub(crate) fn parse_deletion(query: &str) -> Result<MessageQuery, ApiError> {
    let query = parse(query, &["to", "channel", "kind", "subject", "after"])?;
    if query.after == Some(Cursor::Now) {
        return Err(invalid("after", "is `now`, after which there is nothing to delete", "give the id of a message"));
    }
    Ok(query)
}

/// Rejects every parameter.
///
/// # Errors
/// There is a parameter.
pub(crate) fn parse_none(query: &str) -> Result<(), ApiError> {
    parse(query, &[]).map(drop)
}

fn parse(text: &str, known: &[&str]) -> Result<MessageQuery, ApiError> {
    if text.len() > MAX_QUERY_BYTES {
        return Err(ApiError::invalid("the query is too long", "give at most 4096 bytes of parameters"));
    }
    let pairs = parse_pairs(text);
    if pairs.len() != text.split('&').filter(|pair| !pair.is_empty()).count() {
        return Err(ApiError::invalid(
            "the query contains a `;` or an invalid escape",
            "percent-encode the values (RFC 3986 §2.1)",
        ));
    }
    let mut query = MessageQuery { limit: DEFAULT_LIMIT, ..MessageQuery::default() };
    let mut seen: Vec<&str> = Vec::new();
    for (name, value) in &pairs {
        if !known.contains(&name.as_str()) {
            return Err(ApiError::unknown_parameter(name, known));
        }
        if seen.contains(&name.as_str()) {
            return Err(invalid(name, "is given twice", "give it once"));
        }
        if value.is_empty() {
            return Err(invalid(name, "is empty", "leave it out, or give a value"));
        }
        seen.push(name);
        set(&mut query, name, value)?;
    }
    Ok(query)
}

fn set(query: &mut MessageQuery, name: &str, value: &str) -> Result<(), ApiError> {
    // PostgreSQL has no text with this character.
    let value = value.replace('\0', "");
    match name {
        "to" => query.to = Some(value),
        "kind" => {
            let kinds = list_kinds();
            if !kinds.contains(&value.as_str()) {
                let suggestion = format_suggestion(&value, kinds.iter().copied());
                let hint = format!("the kinds are {}", kinds.join(", "));
                return Err(invalid(name, &format!("is no kind{suggestion}"), &hint));
            }
            query.kind = Some(value);
        }
        "subject" => query.subject = Some(value),
        "channel" => match Channel::parse(&value) {
            Some(channel) => query.channel = Some(channel),
            None => return Err(invalid(name, "is no channel", "give `email` or `sms`")),
        },
        "after" if value == "now" => query.after = Some(Cursor::Now),
        "after" => match value.parse() {
            Ok(id) => query.after = Some(Cursor::Message(id)),
            Err(_) => return Err(invalid(name, "is neither an id nor `now`", "give the id of a message, or `now`")),
        },
        "wait" => match parse_seconds(&value) {
            Some(wait) => query.wait = wait,
            None => return Err(invalid(name, "is no number of seconds from 0 to 60", "give for example `wait=5`")),
        },
        _ => match value.parse() {
            Ok(limit @ 1..=MAX_LISTED) => query.limit = limit,
            _ => {
                return Err(invalid(
                    name,
                    "is no number from 1 to 200",
                    "page with the id of the last message as `after`",
                ));
            }
        },
    }
    Ok(())
}

/// Parses seconds with an optional fraction.
fn parse_seconds(value: &str) -> Option<Duration> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds: f64 = value.parse().ok().filter(|_| is_plain)?;
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait <= MAX_WAIT)
}

fn invalid(name: &str, problem: &str, hint: &str) -> ApiError {
    ApiError::invalid(&format!("the parameter `{name}` {problem}"), hint)
}
