//! Credentials in request headers: `apikey` and `Authorization: Bearer` (RFC 6750 §2.1).

use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::{memchr2, memchr3};

/// The header that carries an API key.
pub const APIKEY: HeaderName = HeaderName::from_static("apikey");

/// A text that a request supplies at most once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderText<'a> {
    /// The request has none.
    Missing,
    /// The text.
    Present(&'a str),
    /// It occurs several times, is no visible ASCII text, or does not have the required form.
    Invalid,
}

/// How white space beside the token of `Authorization: Bearer …` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BearerWhitespace {
    /// One space precedes the token, and there is no other: the recorded behaviour of GoTrue.
    Rejected,
    /// Everything after the first space is the token: the API keys of the gateway.
    Kept,
    /// White space around the token is ignored: the functions.
    Trimmed,
    /// Any white space ends the scheme and is ignored around the token: all that a service behind the gateway may accept.
    Any,
}

impl<'a> HeaderText<'a> {
    /// Returns the text; `None` if it is missing or invalid.
    pub fn present(self) -> Option<&'a str> {
        match self {
            Self::Present(text) => Some(text),
            Self::Missing | Self::Invalid => None,
        }
    }

    /// Reads the text of the header `Authorization` as a bearer token.
    #[must_use]
    pub fn bearer(self, whitespace: BearerWhitespace) -> Self {
        match self {
            Self::Present(value) => parse_bearer(value, whitespace),
            other => other,
        }
    }
}

/// Returns the text of a header that occurs at most once.
pub fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> HeaderText<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => HeaderText::Missing,
        (Some(Ok(value)), None) => HeaderText::Present(value),
        _ => HeaderText::Invalid,
    }
}

/// Parses the value of `Authorization`; the scheme `Bearer` is case-insensitive.
///
/// The token is missing if the scheme is another one: that is for an intermediary, such as the password of a staging
/// site. It is invalid if it is empty or has white space that `whitespace` does not allow.
pub fn parse_bearer(value: &str, whitespace: BearerWhitespace) -> HeaderText<'_> {
    let is_end: fn(char) -> bool = if whitespace == BearerWhitespace::Any {
        |letter| matches!(letter, ' ' | '\t')
    } else {
        |letter| letter == ' '
    };
    let value = if whitespace == BearerWhitespace::Any { value.trim() } else { value };
    let (scheme, rest) = value.split_once(is_end).unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return HeaderText::Missing;
    }
    let is_trimmed = matches!(whitespace, BearerWhitespace::Trimmed | BearerWhitespace::Any);
    let token = if is_trimmed { rest.trim() } else { rest };
    let is_rejected = whitespace == BearerWhitespace::Rejected && has_whitespace(token.as_bytes());
    if token.is_empty() || is_rejected { HeaderText::Invalid } else { HeaderText::Present(token) }
}

/// Whether a text has white space of ASCII. Tokens are long: many bytes are compared at once.
fn has_whitespace(text: &[u8]) -> bool {
    memchr3(b' ', b'\t', b'\n', text).is_some() || memchr2(b'\r', b'\x0c', text).is_some()
}

/// Formats the value of `Authorization` for a token; `None` if no header can carry it.
pub fn bearer_value(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;
    use proptest::prelude::*;

    use super::BearerWhitespace::{Kept, Rejected, Trimmed};
    use super::HeaderText::{Invalid, Missing, Present};
    use super::*;

    /// Rows: the value; the result with white space rejected, kept and trimmed.
    #[test]
    fn bearer_token_is_read_by_its_whitespace() {
        for (value, rejected, kept, trimmed) in [
            ("Bearer a.b.c", Present("a.b.c"), Present("a.b.c"), Present("a.b.c")),
            ("bEARER a", Present("a"), Present("a"), Present("a")),
            ("Bearer  a", Invalid, Present(" a"), Present("a")),
            ("Bearer a ", Invalid, Present("a "), Present("a")),
            ("Bearer \ta", Invalid, Present("\ta"), Present("a")),
            ("Bearer a b", Invalid, Present("a b"), Present("a b")),
            ("Bearer  ", Invalid, Present(" "), Invalid),
            ("Bearer ", Invalid, Invalid, Invalid),
            ("Bearer", Invalid, Invalid, Invalid),
            ("Bearer\ta", Missing, Missing, Missing),
            ("Basic YTpi", Missing, Missing, Missing),
            ("Bearers a", Missing, Missing, Missing),
            (" Bearer a", Missing, Missing, Missing),
            ("", Missing, Missing, Missing),
        ] {
            let parsed = [Rejected, Kept, Trimmed].map(|whitespace| parse_bearer(value, whitespace));
            assert_eq!(parsed, [rejected, kept, trimmed], "{value:?}");
        }
    }

    #[test]
    fn repeated_or_binary_header_is_invalid() {
        let mut headers = HeaderMap::new();
        assert_eq!(single_header(&headers, &AUTHORIZATION), Missing);
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(single_header(&headers, &AUTHORIZATION).bearer(Rejected), Present("a"));
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(single_header(&headers, &AUTHORIZATION).bearer(Rejected), Invalid);
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").expect("a value"));
        assert_eq!(single_header(&headers, &AUTHORIZATION).bearer(Rejected), Invalid);
    }

    proptest! {
        #[test]
        fn formatted_token_is_parsed_back(token in "[!-~]{1,64}") {
            let value = bearer_value(&token).expect("a value");
            prop_assert!(value.is_sensitive());
            for whitespace in [Rejected, Kept, Trimmed] {
                prop_assert_eq!(parse_bearer(value.to_str().expect("text"), whitespace), Present(&token));
            }
        }

        #[test]
        fn parsed_token_is_part_of_the_value(value in "([Bb]earer)?[ \t]{0,2}[ -~]{0,20}") {
            for whitespace in [Rejected, Kept, Trimmed] {
                if let Present(token) = parse_bearer(&value, whitespace) {
                    prop_assert!(!token.is_empty() && value[7..].contains(token));
                    prop_assert!(whitespace != Rejected || !token.contains([' ', '\t']));
                }
            }
        }
    }
}
