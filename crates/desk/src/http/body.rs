//! JSON bodies of requests.

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_edge::request::{BODY_DEADLINE, BodyError, read_body};
use serde_json::{Map, Value};

use super::error::DeskError;
use super::origin::is_change;

/// The largest body, in bytes.
pub(crate) const MAX_BODY: usize = 256 * 1024;

/// A JSON object of a request.
#[derive(Debug, Default)]
pub struct JsonBody(Map<String, Value>);

/// Reads a body within the limit of its size.
///
/// # Errors
/// 413 if it is larger, 408 if it takes too long, 400 if the connection ends first.
async fn read(body: Body) -> Result<Bytes, DeskError> {
    read_body(body, MAX_BODY, BODY_DEADLINE).await.map_err(|error| match error {
        BodyError::TooLarge => {
            let message = format!("The body is larger than {MAX_BODY} bytes.");
            DeskError::new(error.status(), "body_too_large", message)
        }
        BodyError::TooSlow => DeskError::new(error.status(), "body_too_slow", "The body did not arrive in time."),
        BodyError::Incomplete => DeskError::invalid("The body is incomplete."),
    })
}

impl JsonBody {
    /// Receives the body of a request; of one that changes nothing, none is read.
    ///
    /// # Errors
    /// 413, 408 or 400, as reading and parsing it.
    pub(crate) async fn receive(head: &Parts, body: Body) -> Result<Self, DeskError> {
        if is_change(&head.method) { Self::parse(&head.headers, &read(body).await?) } else { Ok(Self::default()) }
    }

    /// Parses the body of a request; an empty one has no members.
    ///
    /// # Errors
    /// 400 if the media type is not `application/json`, or the body is no object.
    pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Self, DeskError> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Err(DeskError::invalid("The body must be of the type application/json."));
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            _ => Err(DeskError::invalid("The body must be a JSON object.")),
        }
    }

    /// Returns a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns a text of one to `most` characters.
    ///
    /// # Errors
    /// 400 if it is missing, empty, too long, or contains U+0000, which the database cannot store.
    pub fn text(&self, name: &str, most: usize) -> Result<&str, DeskError> {
        let text = self.get(name).and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            return Err(DeskError::invalid(format!("{name} is missing.")));
        }
        if text.chars().count() > most {
            return Err(DeskError::invalid(format!("{name} must have at most {most} characters.")));
        }
        if text.contains('\0') {
            return Err(DeskError::invalid(format!("{name} must not contain the character U+0000.")));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn json_headers() -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))])
    }

    #[test]
    fn forms_and_lists_are_refused() {
        assert!(JsonBody::parse(&HeaderMap::new(), b"{}").is_err());
        assert!(JsonBody::parse(&json_headers(), b"[]").is_err());
        let body = JsonBody::parse(&json_headers(), br#"{"a":"b","long":"xxx","nul":"\u0000","n":1}"#).expect("a body");
        assert_eq!(body.text("a", 1).expect("a text"), "b");
        for name in ["long", "nul", "n", "none"] {
            assert!(body.text(name, 2).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(body: Vec<u8>) {
            let _ = JsonBody::parse(&json_headers(), &body);
        }
    }
}
