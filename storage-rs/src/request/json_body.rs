//! Bodies of JSON.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::HeaderMap;
use serde_json::Value;

use crate::error::{Code, Error};

/// The largest body of JSON, in bytes: that of a list of 1,000 names of the greatest length.
const MAXIMUM_BODY: usize = 1024 * 1024 + 128 * 1024;

/// Reads a body of JSON; `None` for an empty one and one of another type or without one.
///
/// # Errors
/// It is malformed, too large, or has a type that is none.
pub async fn read(headers: &HeaderMap, body: Body, allows_empty: bool) -> Result<Option<Value>, Error> {
    let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let bytes = collect(body).await?;
    let Some(content_type) = content_type else { return Ok(None) };
    if !is_media_type(essence(content_type)) {
        return Err(Error::content_type_header());
    }
    if is_announced(headers) { parse(&bytes, allows_empty) } else { Ok(None) }
}

/// Whether a request says that its body is JSON.
pub(crate) fn is_announced(headers: &HeaderMap) -> bool {
    let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| essence(content_type).eq_ignore_ascii_case("application/json"))
}

/// A media type without its parameters.
fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Parses a body that is announced as JSON; `None` for an empty one.
///
/// # Errors
/// It is malformed, or empty and must not be.
pub(crate) fn parse(bytes: &[u8], allows_empty: bool) -> Result<Option<Value>, Error> {
    if bytes.is_empty() {
        let message = "Body cannot be empty when content-type is set to 'application/json'";
        return if allows_empty { Ok(None) } else { Err(parser_error(400, Code::InvalidRequest, message)) };
    }
    // RFC 8259 §8.1 lets a parser ignore a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice(text) {
        Ok(value) if !names_prototype(&value) => Ok(Some(value)),
        _ => {
            let malformed = "Body is not valid JSON but content-type is set to 'application/json'";
            Err(parser_error(400, Code::InvalidRequest, malformed))
        }
    }
}

/// Checks that a request without a body does not announce one of JSON.
///
/// # Errors
/// As [`read`].
pub async fn check_absent(headers: &HeaderMap, body: Body) -> Result<(), Error> {
    read(headers, body, false).await.map(|_| ())
}

/// Whether a member would change the prototype of an object in JavaScript: the reference takes no such body.
fn names_prototype(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            name == "__proto__" || (name == "constructor" && value.get("prototype").is_some()) || names_prototype(value)
        }),
        Value::Array(elements) => elements.iter().any(names_prototype),
        _ => false,
    }
}

fn parser_error(status: u16, code: Code, message: &'static str) -> Error {
    Error { name: Some("FastifyError"), ..Error::new(code, status, message) }.with_own_status()
}

/// Whether a text has the form of a media type without parameters (RFC 9110 §8.3.1).
pub fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

async fn collect(body: Body) -> Result<Bytes, Error> {
    let mut stream = body.into_data_stream();
    let mut collected = BytesMut::new();
    while let Some(part) = stream.next().await {
        let part = part.map_err(|error| Error::no_content("The body is incomplete").because(error))?;
        if collected.len() + part.len() > MAXIMUM_BODY {
            return Err(parser_error(413, Code::EntityTooLarge, "Request body is too large"));
        }
        collected.extend_from_slice(&part);
    }
    Ok(collected.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_have_two_tokens() {
        for (text, expected) in
            [("image/png", true), ("plain", false), ("a/", false), ("/b", false), ("a b/c", false), ("x/y+z", true)]
        {
            assert_eq!(is_media_type(text), expected, "{text}");
        }
    }
}
