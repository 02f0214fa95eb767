//! The document that sent a request, as far as a browser names it.
//!
//! Areas of one origin are not separated by the browser. An area that holds rights of its own refuses what a document of
//! another area sends. Scripts of the same origin can hide or replace `Referer`: the check is a second line behind
//! [`crate::isolate_foreign_content`], which keeps such scripts from running.

use http::header::REFERER;
use http::{HeaderMap, HeaderName, Uri};

use super::fetch_site::FetchSite;

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Paths below which responses are not this server's own.
const FOREIGN_MOUNTS: [&str; 6] = ["/storage/v1", "/functions/v1", "/rest/v1", "/graphql/v1", "/realtime/v1", "/pg"];

/// Returns whether the headers of a request to an API below `mount` are those of a script of a document there.
///
/// Without the headers of Fetch Metadata and without `Referer` it may be: older browsers and other clients send none.
pub fn is_call_of_area(headers: &HeaderMap, mount: &str) -> bool {
    !FetchSite::of(headers).is_some_and(FetchSite::is_foreign_page)
        && headers.get_all(SEC_FETCH_DEST).iter().all(|destination| destination == "empty")
        && referring_paths(headers).all(|path| path.is_some_and(|path| is_below(&path, mount)))
}

/// Returns whether a request names a document with foreign content as its sender.
pub fn is_sent_by_foreign_content(headers: &HeaderMap) -> bool {
    referring_paths(headers).flatten().any(|path| FOREIGN_MOUNTS.iter().any(|mount| is_below(&path, mount)))
}

/// Returns the paths of `Referer`; `None` for a value that is not a URL.
fn referring_paths(headers: &HeaderMap) -> impl Iterator<Item = Option<String>> {
    headers.get_all(REFERER).iter().map(|value| {
        let url = value.to_str().ok()?.split('#').next()?.parse::<Uri>().ok()?;
        url.scheme()?;
        Some(url.path().to_owned())
    })
}

/// Returns whether a path is that of a mount, or below it.
fn is_below(path: &str, mount: &str) -> bool {
    path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn calls_of_the_area_are_recognised() {
        let own = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "empty")];
        assert!(is_call_of_area(&headers(&[]), "/_desk"));
        assert!(is_call_of_area(&headers(&own), "/_desk"));
        for referer in ["https://a.example/_desk", "https://a.example/_desk/orders?q=1#x"] {
            assert!(is_call_of_area(&headers(&[own[0], own[1], ("referer", referer)]), "/_desk"), "{referer}");
        }
        for other in [
            ("referer", "https://a.example/"),
            ("referer", "https://a.example/_desks"),
            ("referer", "https://a.example/storage/v1/object/public/_desk/a.html"),
            ("referer", "/_desk"),
            ("referer", "x"),
            ("sec-fetch-dest", "document"),
            ("sec-fetch-dest", "iframe"),
            ("sec-fetch-dest", "script"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
        ] {
            assert!(!is_call_of_area(&headers(&[other]), "/_desk"), "{other:?}");
        }
    }

    #[test]
    fn documents_with_foreign_content_are_recognised() {
        for (referer, expected) in [
            ("http://127.0.0.1:54321/storage/v1/object/public/a.svg", true),
            ("http://127.0.0.1:54321/functions/v1/page?x=1", true),
            ("http://127.0.0.1:54321/_dev/inbox", false),
            ("http://127.0.0.1:54321/", false),
            ("http://127.0.0.1:54321/storage/v1x", false),
        ] {
            assert_eq!(is_sent_by_foreign_content(&headers(&[("referer", referer)])), expected, "{referer}");
        }
        assert!(!is_sent_by_foreign_content(&headers(&[])));
    }

    proptest! {
        #[test]
        fn arbitrary_referrers_do_not_panic(referer in "[ -~]{0,60}") {
            let headers = headers(&[("referer", &referer)]);
            let _ = (is_call_of_area(&headers, "/_desk"), is_sent_by_foreign_content(&headers));
        }
    }
}
