//! The redirect rules of `basalt serve`.
//! Allowed are the site's own origin, loopback if the site is on loopback, and matches of a pattern; never with user
//! information or a port over 65535, and only `http`, `https` or a scheme that a pattern spells out.

use super::go_url::Url;
use super::loopback::has_loopback_host;
use super::{Pattern, is_numeric_host, is_plain_host, without_fragment};

/// Schemes of documents and scripts, which no pattern can allow.
const FORBIDDEN_SCHEMES: [&str; 8] =
    ["about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"];

/// Whether a browser may be redirected to `target`, parsed as `url`.
pub(super) fn allows(site: &Url, patterns: &[Pattern], target: &str, url: &Url) -> bool {
    if url.has_user() || FORBIDDEN_SCHEMES.contains(&url.scheme()) || port_of(url).is_none() {
        return false;
    }
    if !is_web(url) {
        if !url.hostname().is_empty() && url.scheme() == site.scheme() && url.host() == site.host() {
            return true;
        }
        let names_scheme = |pattern: &&Pattern| pattern.scheme.as_deref() == Some(url.scheme());
        return !url.scheme().is_empty() && patterns.iter().filter(names_scheme).any(|it| it.matches(target));
    }
    if url.hostname().is_empty() {
        return false;
    }
    if is_web(site) && is_same_origin(site, url) {
        return true;
    }
    let is_loopback = has_loopback_host(url);
    if is_loopback && is_web(site) && has_loopback_host(site) {
        return true;
    }
    // Patterns match neither non-loopback IP addresses, as in the reference, nor ambiguous hosts.
    let is_listable =
        is_loopback || (url.ip().is_none() && !is_numeric_host(url.hostname()) && is_plain_host(url.hostname()));
    is_listable && patterns.iter().any(|pattern| pattern.matches(target))
}

impl Pattern {
    /// Matches a target, ignoring its fragment.
    fn matches(&self, target: &str) -> bool {
        self.glob.matches(without_fragment(target))
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Compares scheme, host and port (RFC 6454 §4); a missing port is the scheme's default.
fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.hostname().eq_ignore_ascii_case(other.hostname())
        && port_of(one).is_some_and(|port| port_of(other) == Some(port))
}

/// The port of a web URL; none if it is over 65535.
///
/// The grammar of URLs permits such ports (RFC 3986 §3.2.3).
fn port_of(url: &Url) -> Option<u16> {
    match url.port() {
        b"" => Some(if url.scheme() == "https" { 443 } else { 80 }),
        digits => std::str::from_utf8(digits).ok()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::domain::redirect::AllowList;

    fn list(site: &str, patterns: &[&str]) -> AllowList {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        AllowList::compile(site, &patterns).unwrap().with_strict(true)
    }

    const PATTERNS: [&str; 7] = [
        "https://app.example.com/**",
        "https://*.tenants.example.com/cb",
        "http://localhost:3000/**",
        "myapp://**",
        "com.example.app:/cb",
        "*://wild.example.com/**",
        "javascript:**",
    ];

    #[test]
    fn site_origin_and_listed_targets_are_allowed() {
        let list = list("https://shop.example.com/start", &PATTERNS);
        for target in [
            "https://shop.example.com",
            "https://shop.example.com/any?where#else",
            "https://shop.example.com:443/",
            "https://SHOP.example.com/",
            "https://app.example.com/a/b.c#d",
            "https://a.tenants.example.com/cb",
            "http://localhost:3000/cb",
            "myapp://login",
            "com.example.app:/cb#part",
            "https://wild.example.com/x",
        ] {
            assert!(list.allows(target), "{target}");
        }
    }

    #[test]
    fn other_targets_are_refused_with_public_site() {
        let list = list("https://shop.example.com", &PATTERNS);
        for target in [
            "",
            "/welcome",
            "//shop.example.com/",
            "http://shop.example.com/",
            "https://shop.example.com:8443/",
            "https://ann@shop.example.com/",
            "https://ann:secret@shop.example.com/",
            "https://@shop.example.com/",
            "https://evil.org@shop.example.com/",
            "https://ann@app.example.com/",
            "myapp://ann@login",
            "http://127.0.0.1/",
            "http://127.0.0.1:54321/cb",
            "http://[::1]:3000/",
            "http://[::ffff:127.0.0.1]/",
            "http://localhost/",
            "http://localhost:3001/",
            "http://ann@localhost:3000/",
            "javascript://127.0.0.1/%0aalert(1)",
            "javascript:alert(1)",
            "evilapp://127.0.0.1/#access_token=",
            "ftp://127.0.0.1/",
            "ftp://wild.example.com/x",
            "evilapp://wild.example.com/x",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://10.0.0.5/cb",
            "http://2130706433/",
            "https:shop.example.com",
            "https:///shop.example.com",
            "https://wild.example.com:65536/x",
            "myapp://login:65536",
        ] {
            assert!(!list.allows(target), "{target}");
        }
    }

    #[test]
    fn loopback_is_allowed_at_any_port_if_site_is_loopback() {
        for site in ["http://localhost:3000", "http://127.0.0.1:54321", "http://[::1]:54321", "http://app.localhost"] {
            for target in ["http://localhost:5173/x", "http://127.8.8.8/", "https://[::1]:1/", "http://LOCALHOST/"] {
                assert!(list(site, &[]).allows(target), "{site} {target}");
            }
            for target in [
                "javascript://127.0.0.1/%0aalert(1)",
                "evilapp://127.0.0.1/",
                "http://ann@127.0.0.1/",
                "http://0.0.0.0/",
                "http://localhost.evil.example/",
                "http://192.168.1.1/",
                "https://localhost:65536/",
            ] {
                assert!(!list(site, &[]).allows(target), "{site} {target}");
            }
        }
        assert!(!list("http://192.168.1.5:3000", &[]).allows("http://127.0.0.1:3000/"));
        assert!(list("http://192.168.1.5:3000", &[]).allows("http://192.168.1.5:3000/x"));
    }

    #[test]
    fn app_scheme_site_allows_itself() {
        let list = list("myapp://home", &[]);
        assert!(list.allows("myapp://home/cb"));
        for target in ["myapp://other", "myapp:home", "otherapp://home", "http://127.0.0.1/"] {
            assert!(!list.allows(target), "{target}");
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let scheme =
            prop_oneof![Just("https"), Just("http"), Just("javascript"), Just("evilapp"), Just("HTTPS"), Just("")];
        let slashes = prop_oneof![3 => Just("://".to_owned()), 1 => "[:]?[/\\\\]{0,3}"];
        let user = prop_oneof![
            5 => Just(""),
            1 => Just("@"),
            1 => Just("ann@"),
            1 => Just("shop.example.com@"),
            1 => Just("a:b@"),
            1 => Just("%40@"),
        ];
        let host = prop_oneof![
            Just("shop.example.com"),
            Just("app.example.com"),
            Just("evil.org"),
            Just("localhost"),
            Just("127.0.0.1"),
            Just("127.1"),
            Just("[::1]"),
            Just("x.localhost"),
            Just("shop.example.com.evil.org"),
            Just("evil.org%2f.example.com"),
        ];
        let rest = "(:[0-9]{0,5})?([/?#]?[a-z/\\\\@?#.%]{0,8})?";
        (scheme, slashes, user, host, rest)
            .prop_map(|(scheme, slashes, user, host, rest)| format!("{scheme}{slashes}{user}{host}{rest}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Parsed as a browser does, an allowed target is on the site or a listed host.
        /// It uses https and has no user information.
        #[test]
        fn allowed_targets_stay_on_listed_hosts_in_browsers(target in pieces()) {
            let list = list("https://shop.example.com", &["https://app.example.com/**"]);
            if list.allows(&target) {
                let seen = url::Url::parse(&target).unwrap();
                prop_assert_eq!(seen.scheme(), "https", "{}", target);
                prop_assert!(matches!(seen.host_str(), Some("shop.example.com" | "app.example.com")), "{}", target);
                prop_assert!(seen.username().is_empty() && seen.password().is_none(), "{}", target);
            }
        }

        #[test]
        fn loopback_site_allows_only_loopback(target in pieces()) {
            if list("http://127.0.0.1:54321", &[]).allows(&target) {
                let seen = url::Url::parse(&target).unwrap();
                prop_assert!(matches!(seen.scheme(), "http" | "https"), "{}", target);
                prop_assert!(
                    matches!(seen.host_str(), Some("localhost" | "x.localhost" | "127.0.0.1" | "[::1]")), "{}", target
                );
                prop_assert!(seen.username().is_empty() && seen.password().is_none(), "{}", target);
            }
        }

        #[test]
        fn strict_rules_refuse_unlisted_schemes(scheme in "[a-z][a-z0-9+.-]{0,10}", rest in "(//)?[a-z0-9.:@/#?]{0,20}") {
            prop_assume!(!matches!(scheme.as_str(), "http" | "https" | "myapp"));
            let list = list("http://localhost:3000", &["https://app.example.com/**", "myapp://**", "**"]);
            let target = format!("{scheme}:{rest}");
            prop_assert!(!list.allows(&target), "{}", target);
        }
    }
}
