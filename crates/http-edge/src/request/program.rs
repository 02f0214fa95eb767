//! Requests that a program sends without a user in front of it.

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName};

/// Parts of the user agents of programs that read pages without a visitor: search engines, previews of links, libraries.
const PROGRAMS: [&str; 20] = [
    "bot",
    "crawl",
    "spider",
    "slurp",
    "preview",
    "fetch",
    "monitor",
    "headless",
    "lighthouse",
    "curl",
    "wget",
    "python",
    "go-http",
    "java/",
    "okhttp",
    "axios",
    "node",
    "libwww",
    "facebookexternalhit",
    "whatsapp",
];

/// Parts of the user agents of programs that open the links of mails to examine them.
const SCANNERS: [&str; 10] = [
    "barracuda",
    "mimecast",
    "proofpoint",
    "safelinks",
    "symantec",
    "trendmicro",
    "sophos",
    "forcepoint",
    "ms-office",
    "microsoft office",
];

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const UPGRADE_INSECURE_REQUESTS: HeaderName = HeaderName::from_static("upgrade-insecure-requests");

/// Returns whether the user agent is absent or that of a program.
pub fn is_program(headers: &HeaderMap) -> bool {
    has_agent(headers, &PROGRAMS)
}

/// Returns whether a request of a page lacks the marks of a browser in which a user follows a link.
///
/// A browser sends `Sec-Fetch-Mode: navigate` (Fetch Metadata), or to an address without TLS
/// `Upgrade-Insecure-Requests`. A program that sends these headers is not recognised, unless its user agent names it.
pub fn is_without_user(headers: &HeaderMap) -> bool {
    let is_navigation = headers.get(&SEC_FETCH_MODE).map_or_else(
        || headers.get(&UPGRADE_INSECURE_REQUESTS).is_some_and(|value| value == "1"),
        |mode| mode == "navigate",
    );
    let is_document = headers.get(&SEC_FETCH_DEST).is_none_or(|dest| dest == "document");
    !is_navigation || !is_document || is_program(headers) || has_agent(headers, &SCANNERS)
}

fn has_agent(headers: &HeaderMap, parts: &[&str]) -> bool {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    agent.is_empty() || parts.iter().any(|part| agent.contains(part))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        given.iter().map(pair).collect()
    }

    #[test]
    fn browsers_in_which_a_link_is_followed_have_a_user() {
        for given in [
            &[("user-agent", FIREFOX), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")][..],
            &[("user-agent", FIREFOX), ("upgrade-insecure-requests", "1")],
        ] {
            assert!(!is_without_user(&headers(given)), "{given:?}");
        }
    }

    #[test]
    fn programs_and_scanners_have_no_user() {
        let barracuda = "Mozilla/5.0 (Windows NT 10.0) Barracuda Sentinel (EE)";
        for given in [
            &[][..],
            &[("user-agent", FIREFOX)],
            &[("user-agent", FIREFOX), ("sec-fetch-mode", "cors"), ("upgrade-insecure-requests", "1")],
            &[("user-agent", FIREFOX), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
            &[("user-agent", "curl/8.0"), ("sec-fetch-mode", "navigate")],
            &[("user-agent", "Slackbot-LinkExpanding 1.0"), ("sec-fetch-mode", "navigate")],
            &[("user-agent", barracuda), ("upgrade-insecure-requests", "1")],
            &[("sec-fetch-mode", "navigate")],
        ] {
            assert!(is_without_user(&headers(given)), "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_values_do_not_panic(agent in "[ -~]{0,40}", mode in "[ -~]{0,10}") {
            let _ = is_without_user(&headers(&[("user-agent", &agent), ("sec-fetch-mode", &mode)]));
        }
    }
}
