//! What a link has led to, read from the redirect of the auth API.

use gotrue_rules::domain::redirect::is_loopback_url;
use url::{Url, form_urlencoded};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkOutcome {
    Session {
        access_token: String,
        /// The `type` of the verification.
        kind: String,
    },
    /// The first of two confirmations.
    FirstConfirmation,
    /// A code of the PKCE flow, which this site cannot exchange.
    Code,
    /// The link is refused, with this error code.
    Refused(String),
}

impl LinkOutcome {
    /// Reads the location of a redirect; `None` if it says nothing.
    pub(super) fn read(location: &str) -> Option<Self> {
        let (target, fragment) = location.split_once('#').unwrap_or((location, ""));
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let find = |name: &str| {
            let pairs = [fragment, query].into_iter().flat_map(|text| form_urlencoded::parse(text.as_bytes()));
            let mut found = pairs.filter(|(key, value)| key == name && !value.is_empty());
            found.next().map(|(_, value)| value.into_owned())
        };
        if let Some(code) = find("error_code").or_else(|| find("error")) {
            return Some(Self::Refused(code));
        }
        if let Some(access_token) = find("access_token") {
            return Some(Self::Session { access_token, kind: find("type").unwrap_or_default() });
        }
        if find("message").is_some() {
            return Some(Self::FirstConfirmation);
        }
        find("code").map(|_| Self::Code)
    }
}

/// Whether a redirect leads to a site, whatever its query and fragment.
pub(super) fn leads_to(location: &str, site: &Url) -> bool {
    let Ok(target) = Url::parse(location) else { return false };
    let is_same_host =
        target.host_str() == site.host_str() || (is_loopback_url(target.as_str()) && is_loopback_url(site.as_str()));
    target.scheme() == site.scheme()
        && is_same_host
        && target.port_or_known_default() == site.port_or_known_default()
        && target.path().trim_end_matches('/') == site.path().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outcomes_are_read_from_query_and_fragment() {
        let site = "http://127.0.0.1:9";
        let session = LinkOutcome::Session { access_token: "a.b.c".into(), kind: "recovery".into() };
        for (rest, expected) in [
            ("#access_token=a.b.c&expires_in=3600&type=recovery", Some(session)),
            ("#message=Confirmation+link+accepted", Some(LinkOutcome::FirstConfirmation)),
            ("/?code=x", Some(LinkOutcome::Code)),
            ("#error=access_denied&error_code=otp_expired", Some(LinkOutcome::Refused("otp_expired".into()))),
            ("?error=server_error&error_code=#error=server_error", Some(LinkOutcome::Refused("server_error".into()))),
            ("", None),
        ] {
            assert_eq!(LinkOutcome::read(&format!("{site}{rest}")), expected, "{rest}");
        }
    }

    #[test]
    fn site_is_recognised_by_its_address() {
        let site = |text: &str| Url::parse(text).expect("a URL");
        for (location, own, expected) in [
            ("http://127.0.0.1:9#access_token=x", "http://127.0.0.1:9", true),
            ("http://localhost:9/?code=x", "http://127.0.0.1:9", true),
            ("http://localhost:8/?code=x", "http://127.0.0.1:9", false),
            ("https://shop.example/#a", "https://shop.example", true),
            ("https://shop.example/app#a", "https://shop.example", false),
            ("https://shop.example/start/#a", "https://shop.example/start", true),
            ("http://shop.example/#a", "https://shop.example", false),
            ("my-app://open#a", "https://shop.example", false),
            ("nothing", "https://shop.example", false),
        ] {
            assert_eq!(leads_to(location, &site(own)), expected, "{location}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_locations_do_not_panic(location in "\\PC{0,60}") {
            let _ = LinkOutcome::read(&location);
            let _ = leads_to(&location, &Url::parse("https://shop.example").expect("a URL"));
        }
    }
}
