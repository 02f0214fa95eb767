//! The request id: supplied by the client or generated.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the request id, which the services and the response also carry.
/// A well-formed id of the client is kept; otherwise a new one is generated.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that [`RequestIdSource::WellFormed`] accepts.
const MAX_LENGTH: usize = 64;

/// Where the id of a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestIdSource<'a> {
    /// It is always generated.
    Generated,
    /// It is the value of this header, empty without it: the recorded behaviour of GoTrue.
    Verbatim(&'a str),
    /// It is the value of this header if well-formed, else generated.
    /// Well-formed is an id of 1 to 64 ASCII letters, digits, `-`, `_` and `.`.
    WellFormed(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Resolves the id of a request; `generate` returns a new one.
    pub fn resolve(headers: &HeaderMap, source: RequestIdSource<'_>, generate: impl FnOnce() -> String) -> Self {
        Self(match source {
            RequestIdSource::Generated => generate(),
            RequestIdSource::Verbatim(name) => {
                let sent = headers.get(name).map(HeaderValue::as_bytes).unwrap_or_default();
                String::from_utf8_lossy(sent).into_owned()
            }
            RequestIdSource::WellFormed(name) => {
                let sent = headers.get(name).and_then(|value| value.to_str().ok());
                sent.filter(|id| is_well_formed(id)).map_or_else(generate, str::to_owned)
            }
        })
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id as the value of a header; `-` if no header can carry it.
    pub fn to_header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or_else(|_| HeaderValue::from_static("-"))
    }
}

fn is_well_formed(id: &str) -> bool {
    (1..=MAX_LENGTH).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resolve(sent: Option<&[u8]>, source: RequestIdSource<'_>) -> String {
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.insert("x-request-id", HeaderValue::from_bytes(sent).expect("a value"));
        }
        RequestId::resolve(&headers, source, || "generated".to_owned()).as_str().to_owned()
    }

    /// Rows: the sent id; the ids by `Verbatim` and `WellFormed`.
    #[test]
    fn request_id_depends_on_its_source() {
        let longest = "x".repeat(64);
        let too_long = "x".repeat(65);
        for (sent, verbatim, well_formed) in [
            (None, "", "generated"),
            (Some(&b""[..]), "", "generated"),
            (Some(b"abc-1_2.Z"), "abc-1_2.Z", "abc-1_2.Z"),
            (Some(b"a b"), "a b", "generated"),
            (Some(b"x\"y"), "x\"y", "generated"),
            (Some(b"\xff"), "\u{fffd}", "generated"),
            (Some(longest.as_bytes()), &*longest, &*longest),
            (Some(too_long.as_bytes()), &*too_long, "generated"),
        ] {
            assert_eq!(resolve(sent, RequestIdSource::Verbatim("X-Request-Id")), verbatim, "{sent:?}");
            assert_eq!(resolve(sent, RequestIdSource::WellFormed("x-request-id")), well_formed, "{sent:?}");
            assert_eq!(resolve(sent, RequestIdSource::Generated), "generated", "{sent:?}");
        }
    }

    proptest! {
        #[test]
        fn accepted_id_is_harmless(sent in "[ -~]{0,70}") {
            let id = resolve(Some(sent.as_bytes()), RequestIdSource::WellFormed("x-request-id"));
            prop_assert!(id == sent || id == "generated");
            prop_assert!(!id.is_empty() && id.len() <= 64 && !id.contains([' ', '"', '/', '\\', '<', '=']));
        }
    }
}
