//! The redirect rules of `basalt serve`.
//! Allowed are the site's own origin, loopback if the site is on loopback, and matches of a pattern; never with user
//! information or a port over 65535, and only `http`, `https` or a scheme that a pattern spells out.

use super::go_url::Url;
use super::loopback::has_loopback_host;
use super::pattern::{Pattern, is_document_scheme, is_plain_host, without_fragment};

/// Whether a browser may be redirected to `target`, parsed as `url`.
pub(super) fn allows(site: &Url, patterns: &[Pattern], target: &str, url: &Url) -> bool {
    if url.has_user() || is_document_scheme(url.scheme()) || port_of(url).is_none() {
        return false;
    }
    if !is_web(url) {
        if !url.hostname().is_empty() && url.scheme() == site.scheme() && url.host() == site.host() {
            return true;
        }
        let names_scheme = |pattern: &&Pattern| pattern.scheme.as_deref() == Some(url.scheme());
        return !url.scheme().is_empty() && patterns.iter().filter(names_scheme).any(|pattern| pattern.matches(target));
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
        is_loopback || (url.ip().is_none() && !ends_in_number(url.hostname()) && is_plain_host(url.hostname()));
    is_listable && patterns.iter().any(|pattern| pattern.matches(target))
}

impl Pattern {
    /// Matches a target, ignoring its fragment.
    ///
    /// What the pattern says of the authority is compared with the authority alone: its wildcards do not reach into path and
    /// query, as in `https://evil.org?.app.example.com/`.
    fn matches(&self, target: &str) -> bool {
        let target = without_fragment(target);
        let Some(authority) = target.find("://").map(|at| at + "://".len()) else { return self.glob.matches(target) };
        let end = target[authority..].find(['/', '?']).map_or(target.len(), |length| authority + length);
        let (start, rest) = target.split_at(end);
        match &self.split {
            Some((before, after)) => before.matches(start) && after.matches(rest),
            // A separator, which browsers insert as well, keeps single wildcards out of the query.
            None if rest.starts_with('?') => self.glob.matches(&format!("{start}/{rest}")),
            None => self.glob.matches(target),
        }
    }
}

/// Whether browsers read the host as an IPv4 address, or refuse it as a wrong one.
///
/// The last label is a decimal, octal or hexadecimal number
/// ([URL Standard](https://url.spec.whatwg.org/#ends-in-a-number-checker)).
fn ends_in_number(host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let label = host.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let hexadecimal = label.strip_prefix(b"0x").or_else(|| label.strip_prefix(b"0X"));
    let is_decimal = !label.is_empty() && label.iter().all(u8::is_ascii_digit);
    is_decimal || hexadecimal.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
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
    fn wildcards_of_the_host_stay_in_the_host() {
        let patterns = [
            "https://*-team.vercel.app/**",
            "https://*.preview.example.com/cb",
            "https://**--org.netlify.app/**",
            "{https,http}://*.braces.example.com/cb",
            "https://open.example.com**",
        ];
        let list = list("https://shop.example.com", &patterns);
        for target in [
            "https://a-team.vercel.app/x?y#z",
            "https://a-team.vercel.app/",
            "https://b.preview.example.com/cb",
            "https://deploy-preview-1--org.netlify.app/a/b.html",
            "https://a.b--org.netlify.app/",
            "http://a.braces.example.com/cb",
            "https://open.example.com",
            "https://open.example.com/a/b?c",
        ] {
            assert!(list.allows(target), "{target}");
        }
        for target in [
            "https://0x08080808?-team.vercel.app/x",
            "https://evil?-team.vercel.app/x",
            "https://0x08080808?.preview.example.com/cb",
            "https://0X7f000001:443?.preview.example.com/cb",
            "https://evil.org/--org.netlify.app/x",
            "https://evil.org?--org.netlify.app/x",
            "https://evil.org/x--org.netlify.app/x",
            "https://evil?.braces.example.com/cb",
            "https://a-team.vercel.app:65536/",
        ] {
            assert!(!list.allows(target), "{target}");
        }
    }

    #[test]
    fn hosts_that_browsers_read_as_addresses_are_refused() {
        let list = list("https://shop.example.com", &["https://*/**", "https://*.*/**", "https://**"]);
        for host in ["0x08080808", "0X8", "0x", "134744072", "010", "8.8", "a.0x7f", "a.127", "8.8.8.8", "1.", "a.0x1."]
        {
            assert!(!list.allows(&format!("https://{host}/x")), "{host}");
        }
        for host in ["example.com", "a.0xg", "0x7f.example.com", "1.example"] {
            assert!(list.allows(&format!("https://{host}/x")), "{host}");
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

        /// The same for patterns with wildcards at the beginning of the host.
        #[test]
        fn allowed_targets_stay_below_wildcard_hosts_in_browsers(
            host in "(a|evil|0x[0-9a-f]{0,8}|[0-9]{1,3}|a\\.b|evil\\.org){1,2}",
            between in "[?/:@.#\\\\-]{0,2}",
            suffix in "(-team\\.vercel\\.app|--org\\.netlify\\.app|\\.braces\\.example\\.com)",
            rest in "(/[a-z?#@:]{0,5})?",
        ) {
            let patterns = ["https://*-team.vercel.app/**", "https://**--org.netlify.app/**", "{https,http}://*.braces.example.com/**"];
            let target = format!("https://{host}{between}{suffix}{rest}");
            if list("https://shop.example.com", &patterns).allows(&target) {
                let seen = url::Url::parse(&target).unwrap();
                let host = seen.host_str().unwrap_or_default();
                let is_below = ["-team.vercel.app", "--org.netlify.app", ".braces.example.com"].iter().any(|end| host.ends_with(end));
                prop_assert!(is_below, "{} {}", target, host);
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
