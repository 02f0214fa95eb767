//! Requests of a page before a user asks for it.

use http::HeaderMap;

/// The headers that name the purpose of a request.
///
/// `Sec-Purpose` is that of the Fetch standard; older browsers, and applications that show previews of links, send the others.
const HEADERS: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/// The purposes for which no user sees the response yet.
const PURPOSES: [&str; 3] = ["prefetch", "prerender", "preview"];

/// Returns whether a request is marked as a prefetch, a prerender or a preview.
///
/// Such a request must not use up a link: the user may never open it. <https://fetch.spec.whatwg.org/#sec-purpose-header>
pub fn is_prefetch(headers: &HeaderMap) -> bool {
    let mut values = HEADERS.iter().flat_map(|name| headers.get_all(*name));
    values.any(|value| {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        PURPOSES.iter().any(|purpose| text.contains(purpose))
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn check(headers: &[(&'static str, &str)]) -> bool {
        let to_pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
        };
        is_prefetch(&headers.iter().map(to_pair).collect())
    }

    #[test]
    fn purposes_are_recognised() {
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "prefetch;anonymous-client-ip"),
            ("purpose", "Prefetch"),
            ("x-purpose", "preview"),
            ("x-moz", "prefetch"),
            ("x-moz", "\u{fc} prefetch"),
        ] {
            assert!(check(&[(name, value)]), "{name}: {value}");
        }
        assert!(check(&[("purpose", "other"), ("purpose", "prefetch")]), "any of several");
        for headers in [&[][..], &[("sec-purpose", "")], &[("purpose", "navigate")], &[("accept", "prefetch")]] {
            assert!(!check(headers), "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_values_are_read(before in "[ -~]{0,20}", purpose in "(prefetch|Prerender|PREVIEW)", after in "\\PC{0,20}") {
            let value = format!("{before}{purpose}{after}");
            prop_assert!(check(&[("sec-purpose", &value)]));
            prop_assert!(!check(&[("accept", &before)]));
        }
    }
}
