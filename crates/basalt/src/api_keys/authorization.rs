//! The credentials of a request in every spelling that a service behind the gateway may accept.

use std::borrow::Cow;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, Uri};
use http_edge::request::{APIKEY, BearerWhitespace, HeaderText, bearer_value, parse_bearer, single_header};
use url::form_urlencoded;

/// Headers in which services accept tokens.
const TOKEN_HEADERS: [HeaderName; 4] =
    [AUTHORIZATION, APIKEY, HeaderName::from_static("x-api-key"), HeaderName::from_static("x-amz-security-token")];
/// Query parameters in which services accept tokens, in lower case.
const TOKEN_PARAMETERS: [&str; 5] = ["apikey", "access_token", "jwt", "token", "x-amz-security-token"];

/// A request has several headers `Authorization`, or one that is not ASCII: two parsers could read different tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousAuthorization;

/// Writes the token of `Authorization` as `Bearer <token>`, so that the gateway and the service read the same.
///
/// With `accepts_bare`, a value without a scheme is a token, too. Other schemes are left alone.
///
/// # Errors
/// [`AmbiguousAuthorization`].
pub(crate) fn normalize_authorization(
    headers: &mut HeaderMap,
    accepts_bare: bool,
) -> Result<(), AmbiguousAuthorization> {
    let value = match single_header(headers, &AUTHORIZATION) {
        HeaderText::Missing => return Ok(()),
        HeaderText::Present(value) => value.trim(),
        HeaderText::Invalid => return Err(AmbiguousAuthorization),
    };
    let token = match parse_bearer(value, BearerWhitespace::Any) {
        HeaderText::Present(token) => token,
        HeaderText::Missing if accepts_bare && is_bare(value) => value,
        // An empty token is none, and another scheme is for an intermediary or the service.
        HeaderText::Missing | HeaderText::Invalid => return Ok(()),
    };
    let value = bearer_value(token).ok_or(AmbiguousAuthorization)?;
    headers.insert(AUTHORIZATION, value);
    Ok(())
}

/// Whether a value of `Authorization` is a token without a scheme.
fn is_bare(value: &str) -> bool {
    !value.is_empty() && !value.contains([' ', '\t'])
}

/// The most tokens of a request: none needs more, and each costs a verification.
const MAX_TOKENS: usize = 8;

/// A request has more than [`MAX_TOKENS`] tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyTokens;

/// Returns everything in a request that a service could read as a token: a service may ignore the scheme or cut the header
/// at another place, and read another of several values.
///
/// # Errors
/// [`TooManyTokens`].
pub(super) fn possible_tokens(uri: &Uri, headers: &HeaderMap) -> Result<Vec<String>, TooManyTokens> {
    let mut tokens: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let words = text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '"' | '\''));
        for word in words.filter(|word| word.bytes().filter(|byte| *byte == b'.').count() == 2) {
            if tokens.len() <= MAX_TOKENS && !tokens.iter().any(|token| token == word) {
                tokens.push(word.to_owned());
            }
        }
    };
    for value in TOKEN_HEADERS.iter().flat_map(|name| headers.get_all(name)) {
        add(&String::from_utf8_lossy(value.as_bytes()));
    }
    for (name, value) in query_pairs(uri) {
        if TOKEN_PARAMETERS.iter().any(|parameter| name.eq_ignore_ascii_case(parameter)) {
            add(&value);
        }
    }
    if tokens.len() > MAX_TOKENS { Err(TooManyTokens) } else { Ok(tokens) }
}

/// Returns the parameters of a query, decoded.
pub(crate) fn query_pairs(uri: &Uri) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn normalized(values: &[&str], accepts_bare: bool) -> Result<Option<String>, AmbiguousAuthorization> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        }
        normalize_authorization(&mut headers, accepts_bare)?;
        Ok(headers.get(AUTHORIZATION).map(|value| value.to_str().expect("text").to_owned()))
    }

    #[test]
    fn token_has_one_spelling() {
        for spelling in ["Bearer a.b.c", "bearer  a.b.c", "BEARER\ta.b.c", " Bearer \t a.b.c\t"] {
            assert_eq!(normalized(&[spelling], false), Ok(Some("Bearer a.b.c".to_owned())), "{spelling:?}");
        }
        for other in ["Basic eA==", "AWS4-HMAC-SHA256 Credential=a", "Bearer", "a.b.c", "Bearerx a.b.c"] {
            assert_eq!(normalized(&[other], false), Ok(Some(other.to_owned())), "{other:?}");
        }
        assert_eq!(normalized(&["a.b.c"], true), Ok(Some("Bearer a.b.c".to_owned())));
        assert_eq!(normalized(&[], true), Ok(None));
        for ambiguous in [&["Basic eA==", "Bearer a.b.c"][..], &["Bearer a", "Bearer a"], &["Bearer\u{a0}a.b.c"]] {
            assert_eq!(normalized(ambiguous, false), Err(AmbiguousAuthorization), "{ambiguous:?}");
        }
    }

    #[test]
    fn tokens_are_found_wherever_a_service_may_look() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Token a.b.1"),
            ("authorization", "x,\"a.b.2\""),
            ("apikey", "sb_publishable_p"),
            ("apikey", "a.b.3"),
            ("x-amz-security-token", "a.b.4"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let uri: Uri =
            "/x?apikey=p&api%6bey=a.b.5&X-Amz-Security-Token=a%2eb.6&select=a.b.7".parse().expect("a target");
        let expected = ["a.b.1", "a.b.2", "a.b.3", "a.b.4", "a.b.5", "a.b.6"];
        assert_eq!(possible_tokens(&uri, &headers), Ok(expected.map(str::to_owned).to_vec()));
        let many = (0..60_000).map(|number| format!("a.b.{number}")).collect::<Vec<_>>().join(",");
        headers.insert("x-api-key", HeaderValue::try_from(many).expect("a value"));
        assert_eq!(possible_tokens(&uri, &headers), Err(TooManyTokens));
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing(value in "[ -~\t]{0,40}", accepts_bare in any::<bool>()) {
            if let Ok(Some(once)) = normalized(&[&value], accepts_bare) {
                prop_assert_eq!(normalized(&[&once], accepts_bare), Ok(Some(once.clone())));
            }
        }
    }
}
