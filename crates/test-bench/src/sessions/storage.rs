//! Where supabase-js and `@supabase/ssr` store a session: local storage, or cookies in chunks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use url::Url;

/// The longest value of a cookie; a longer session is stored in several cookies.
const MAX_CHUNK: usize = 3180;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionCookie {
    name: String,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApplicationOrigin {
    text: String,
    host: String,
    is_secure: bool,
}

/// Returns the storage key that supabase-js derives: `sb-<first label of the host>-auth-token`.
pub fn derive_storage_key(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let label = url.host_str()?.split('.').next()?.to_owned();
    Some(format!("sb-{label}-auth-token"))
}

/// Returns the origin of an `http` or `https` URL.
pub(super) fn parse_origin(url: &str) -> Option<ApplicationOrigin> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?.to_owned();
    Some(ApplicationOrigin { text: url.origin().ascii_serialization(), host, is_secure: url.scheme() == "https" })
}

/// Encodes a session as `@supabase/ssr` does: base64url with a prefix, one cookie or numbered ones.
pub(super) fn encode_cookies(storage_key: &str, session: &str) -> Vec<SessionCookie> {
    let value = format!("base64-{}", URL_SAFE_NO_PAD.encode(session));
    if value.len() <= MAX_CHUNK {
        return vec![SessionCookie { name: storage_key.to_owned(), value }];
    }
    let chunks = value.as_bytes().chunks(MAX_CHUNK).enumerate();
    let cookie = |(number, chunk): (usize, &[u8])| SessionCookie {
        name: format!("{storage_key}.{number}"),
        value: String::from_utf8_lossy(chunk).into_owned(),
    };
    chunks.map(cookie).collect()
}

pub(super) fn format_cookie_header(cookies: &[SessionCookie]) -> String {
    let pairs: Vec<String> = cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
    pairs.join("; ")
}

/// Formats cookies as Playwright's `addCookies` takes them. They last as long as the browser session.
pub(super) fn format_cookies(cookies: &[SessionCookie], origin: &ApplicationOrigin) -> Value {
    let format = |cookie: &SessionCookie| {
        json!({
            "name": cookie.name,
            "value": cookie.value,
            "domain": origin.host,
            "path": "/",
            "expires": -1,
            "httpOnly": false,
            "secure": origin.is_secure,
            "sameSite": "Lax",
        })
    };
    cookies.iter().map(format).collect()
}

/// Formats the `storageState` of Playwright with the session in the local storage of the origin.
pub(super) fn format_storage_state(storage_key: &str, session: &Value, origin: &ApplicationOrigin) -> Value {
    let entry = json!({ "name": storage_key, "value": session.to_string() });
    json!({ "cookies": [], "origins": [{ "origin": origin.text, "localStorage": [entry] }] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn storage_key_is_the_first_label_of_the_host() {
        for (url, expected) in [
            ("http://127.0.0.1:54321", Some("sb-127-auth-token")),
            ("http://localhost:54321/w/7", Some("sb-localhost-auth-token")),
            ("https://abc.supabase.co", Some("sb-abc-auth-token")),
            ("nonsense", None),
        ] {
            assert_eq!(derive_storage_key(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn origin_has_neither_path_nor_default_port() {
        for (url, expected) in [
            ("http://localhost:3000/a?b", Some("http://localhost:3000")),
            ("https://Shop.example:443", Some("https://shop.example")),
            ("file:///tmp/x", None),
            ("localhost:3000", None),
            ("", None),
        ] {
            assert_eq!(parse_origin(url).map(|origin| origin.text).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn short_session_is_one_cookie_and_long_one_is_numbered() {
        let one = encode_cookies("sb-x-auth-token", "{\"a\":\"ä\"}");
        assert_eq!(format_cookie_header(&one), "sb-x-auth-token=base64-eyJhIjoiw6QifQ");
        let several = encode_cookies("k", &"x".repeat(3000));
        assert_eq!(
            several.iter().map(|cookie| (&*cookie.name, cookie.value.len())).collect::<Vec<_>>(),
            [("k.0", 3180), ("k.1", 827)]
        );
    }

    proptest! {
        #[test]
        fn chunks_join_to_the_session(session in "\\PC{0,4000}") {
            let cookies = encode_cookies("k", &session);
            prop_assert!(cookies.iter().all(|cookie| !cookie.value.is_empty() && cookie.value.len() <= MAX_CHUNK));
            let joined: String = cookies.into_iter().map(|cookie| cookie.value).collect();
            let decoded = URL_SAFE_NO_PAD.decode(joined.strip_prefix("base64-").unwrap()).unwrap();
            prop_assert_eq!(decoded, session.as_bytes());
        }

        #[test]
        fn any_text_is_an_origin_or_none(text in "\\PC{0,40}") {
            if let Some(origin) = parse_origin(&text) {
                prop_assert_eq!(parse_origin(&origin.text), Some(origin));
            }
        }
    }
}
