//! Whether a page of another origin sent a request.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

use super::fetch_site::FetchSite;

/// Returns whether no page of another origin sent the request.
///
/// Browsers say so in `Sec-Fetch-Site`; older ones name the page's origin. Without either, it is no browser.
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    if let Some(site) = FetchSite::of(headers) {
        return !site.is_foreign_page();
    }
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let of_origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    of_origin.is_some() && of_origin == host
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn forms_of_other_sites_are_recognised() {
        let cases: [(&[(&'static str, &'static str)], bool); 8] = [
            (&[], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "null")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "cross-site"), ("origin", "https://shop.example")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("origin", "https://shop.example")], true),
            (&[("origin", "https://other.example")], false),
            (&[("origin", "null")], false),
        ];
        for (given, expected) in cases {
            let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("shop.example"))]);
            for (name, value) in given {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(is_same_origin(&headers), expected, "{given:?}");
        }
    }
}
