//! Replaces texts of requests by placeholders.

use std::fmt::Write as _;

use serde_json::json;

use super::plain::{is_email, is_name, is_origin, is_path_segment, is_word, is_word_member, phone_digits};
use super::session::FlowSession;
use super::times;
use crate::symbols::{is_uuid, jwt_claims};
use crate::text::{encode, parse_pairs, split_origin, split_url};

/// The longest generated text.
pub(super) const MAX_TEXT: usize = 4096;

/// Replaces a text: by the placeholder of a known value, or of a generated one of its kind.
pub(super) fn text(session: &mut FlowSession, recorded: &str, name: &str) -> String {
    if recorded.is_empty() {
        return String::new();
    }
    if let Some(known) = session.known.find(recorded) {
        return format!("{{{{{known}}}}}");
    }
    if is_word_member(name) && is_word(recorded) {
        return recorded.to_owned();
    }
    if let Some(found) = url(session, recorded) {
        return found;
    }
    if is_email(recorded) {
        return format!("{{{{{}}}}}", session.email(recorded));
    }
    if let Some(digits) = phone_digits(recorded).filter(|_| matches!(name, "phone" | "new_phone" | "to")) {
        let digits = digits.to_owned();
        let sign = if recorded.starts_with('+') { "+" } else { "" };
        return format!("{sign}{{{{{}}}}}", session.phone(&digits));
    }
    if let Some(time) = times::replace(session, recorded) {
        return time;
    }
    let length = recorded.chars().count().min(MAX_TEXT);
    let name = if is_uuid(recorded) {
        session.generate(recorded, "id", json!({ "uuid": null }))
    } else if name.contains("password") {
        let source = if length < 8 { "words" } else { "password" };
        session.generate(recorded, "password", json!({ source: length }))
    } else if recorded.bytes().all(|byte| byte.is_ascii_digit()) {
        session.generate(recorded, "digits", json!({ "random": { "alphabet": "digits", "length": length } }))
    } else if jwt_claims(recorded).is_some() {
        session.generate(recorded, "token", json!({ "provided": "a token that no recorded response had" }))
    } else {
        session.generate(recorded, "text", json!({ "words": length }))
    };
    format!("{{{{{name}}}}}")
}

/// Replaces a URL of the server or of an application.
fn url(session: &mut FlowSession, recorded: &str) -> Option<String> {
    // The URL in a row is one of a user, whose host and path can be names.
    if session.has_user_content || !recorded.contains("://") {
        return None;
    }
    let urls = session.urls.clone();
    let known =
        urls.bases.iter().map(|url| (url, "{{base}}")).chain(urls.projects.iter().map(|url| (url, "{{project}}")));
    let found = known.into_iter().find_map(|(url, name)| Some((name.to_owned(), recorded.strip_prefix(url.as_str())?)));
    let (start, rest) = if let Some(found) = found {
        found
    } else {
        let (origin, rest) = split_origin(recorded)?;
        if !is_origin(origin) {
            return None;
        }
        session.add_origin(origin);
        (origin.to_owned(), rest)
    };
    let parts = split_url(rest);
    if !parts.base.is_empty() && !parts.base.starts_with('/') {
        return None;
    }
    let mut filled = start;
    for segment in parts.base.split('/').skip(1) {
        filled.push('/');
        filled.push_str(&if segment.is_empty() || is_path_segment(segment) {
            segment.to_owned()
        } else {
            text(session, segment, "path")
        });
    }
    for (mark, raw) in [('?', parts.query), ('#', parts.fragment)] {
        let mut separator = mark;
        for (name, value) in parse_pairs(raw) {
            let name = if is_name(&name) { name } else { text(session, &name, "name") };
            let value = text(session, &value, &name);
            let _ = write!(filled, "{separator}{name}={value}");
            separator = '&';
        }
    }
    Some(filled)
}

/// Percent-encodes text between placeholders, whose values the replay encodes.
pub(super) fn encode_outside_placeholders(text: &str) -> String {
    let mut encoded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        // The brace of a list in front of a placeholder is text.
        let at = at + usize::from(rest[at + 2..].starts_with('{'));
        let Some((name, after)) = rest[at + 2..].split_once("}}") else { break };
        encoded.push_str(&encode(&rest[..at]));
        encoded.push_str("{{");
        encoded.push_str(name);
        encoded.push_str("}}");
        rest = after;
    }
    encoded.push_str(&encode(rest));
    encoded
}
