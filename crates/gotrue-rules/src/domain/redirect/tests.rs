//! Recorded targets, hostile ones, and URLs compared with Go's parser.

use proptest::prelude::*;

use super::*;

const SITE: &str = "https://shop.example.com:8443/start";
const PATTERNS: [&str; 11] = [
    "https://exact.example.com/done",
    "https://one.example.com/*",
    "https://all.example.com/**",
    "https://*.tenants.example.com/cb",
    "https://q.example.com/a?c",
    "https://sets.example.com/[ab]d",
    "myapp://login",
    "other-app://**",
    "http://10.0.0.5/**",
    "http://12345/**",
    "https://query.example.com/?next=*",
];

fn list(site: &str, patterns: &[&str]) -> AllowList {
    let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    AllowList::compile(site, &patterns).unwrap()
}

fn recorded_list() -> AllowList {
    list(SITE, &PATTERNS)
}

#[test]
fn targets_are_allowed_as_recorded() {
    for target in [
        "https://shop.example.com:8443/",
        "https://shop.example.com:8443/any/where?x=1",
        "https://exact.example.com/done",
        "https://exact.example.com/done#part",
        "https://one.example.com/a",
        "https://one.example.com/",
        "https://all.example.com/a/b.c?d=e",
        "https://a.tenants.example.com/cb",
        "https://q.example.com/abc",
        "https://sets.example.com/ad",
        "https://sets.example.com/bd",
        "https://query.example.com/?next=home",
        "myapp://login",
        "other-app://anything/at?all=1",
        "http://127.0.0.1:3000/cb",
        "http://127.9.9.9/",
        "http://[::1]:3000/",
        "http://[::ffff:127.0.0.1]/",
    ] {
        assert!(recorded_list().allows(target), "{target}");
    }
}

#[test]
fn other_targets_are_refused_as_recorded() {
    for target in [
        "",
        "http://shop.example.com:8443/",
        "https://shop.example.com/",
        "https://shop.example.com:9443/",
        "https://www.shop.example.com:8443/",
        "/relative",
        "not a url",
        "https://",
        "https://exact.example.com/done/",
        "https://exact.example.com/done?x=1",
        "https://one.example.com/a/b",
        "https://one.example.com/a.b",
        "https://all.example.com",
        "https://a.b.tenants.example.com/cb",
        "https://q.example.com/a/c",
        "https://sets.example.com/cd",
        "https://sets.example.com/a",
        "https://query.example.com/?next=a.b",
        "myapp://login/more",
        "unknown-app://login",
        "MYAPP://login",
        "javascript:alert(1)",
        "data:text/html,hello",
        "http://localhost:3000/",
        "http://10.0.0.5/cb",
        "http://192.168.1.1/",
        "http://12345/cb",
        "http://2130706433/",
        "http://all.example.com_/",
    ] {
        assert!(!recorded_list().allows(target), "{target}");
    }
}

#[test]
fn header_precedes_parameter_and_referer_is_last() {
    let list = list("http://shop.example.com", &["https://app.example.com/**"]);
    let (app, shop, evil) = ("https://app.example.com/cb", "http://shop.example.com/p", "https://evil.example.org/");
    for (header, parameter, referer, chosen) in [
        ("", "", "", "http://shop.example.com"),
        ("", app, "", app),
        ("", evil, "", "http://shop.example.com"),
        (app, "", "", app),
        (app, shop, "", app),
        (evil, app, "", "http://shop.example.com"),
        ("", "", app, app),
        ("", evil, shop, shop),
        ("", shop, app, shop),
        (evil, app, shop, shop),
        ("", "", evil, "http://shop.example.com"),
    ] {
        assert_eq!(
            list.select_target(RedirectRequest { header, parameter, referer }),
            chosen,
            "{header} {parameter} {referer}"
        );
    }
}

#[test]
fn loopback_site_allows_any_port() {
    for (site, target, allowed) in [
        ("http://localhost:3000", "http://localhost:9/x", true),
        ("http://app.localhost:3000", "http://app.localhost/x", true),
        ("http://app.localhost:3000", "http://other.localhost/x", false),
        ("http://localhost:3000", "https://localhost:3000/", false),
        ("http://localhost:3000", "http://LOCALHOST:3000/", false),
        ("http://0.0.0.0:1", "http://0.0.0.0:2/", true),
        ("http://192.168.0.1:1", "http://192.168.0.1:2/", false),
    ] {
        assert_eq!(list(site, &[]).allows(target), allowed, "{site} {target}");
    }
}

#[test]
fn malformed_pattern_is_reported() {
    let bad = AllowList::compile(SITE, &["https://ok/**".into(), "https://[a".into()]).unwrap_err();
    assert_eq!(bad.to_string(), "the redirect pattern \"https://[a\" cannot be used: a [ has no ] after it");
}

/// A2: targets that a browser would resolve to another host.
#[test]
fn a2_hostile_targets_are_refused() {
    let list =
        list("https://shop.example.com", &["https://app.example.com/**", "https://*.example.net/**", "myapp://**"]);
    for target in HOSTILE {
        assert!(!list.allows(target), "{target:?} is allowed");
    }
}

const HOSTILE: &[&str] = &[
    "https://app.example.com@evil.org/",
    "https://app.example.com:443@evil.org/",
    "https://app.example.com%2f@evil.org/",
    "https://shop.example.com@evil.org/",
    "https://shop.example.com:x@evil.org/",
    "https://evil.org\\@shop.example.com/",
    "https://evil.org%5c@app.example.com/",
    "https://shop.example.com\\.evil.org/",
    "https:\\\\app.example.com/",
    "https:/\\evil.org/",
    "https:///evil.org/",
    "https:evil.org/",
    "//evil.org/",
    "//shop.example.com/",
    "///evil.org",
    "/\\evil.org",
    "\\\\evil.org",
    "https://shop.example.com.evil.org/",
    "https://evilshop.example.com/",
    "https://app.example.comevil.org/",
    "https://app-example.com/",
    "https://app.example.com.:443/",
    "https://evil.org/https://app.example.com/",
    "https://evil.org?https://app.example.com/",
    "https://evil.org#https://app.example.com/",
    "https://evil.org;https://app.example.com/",
    "https://a.evil.org/.example.net/",
    "https://a/b.example.net/",
    "https://evil.org#.example.net/x",
    "https://evil.org?.example.net/x",
    "ht\ttps://shop.example.com/",
    "https://shop.example.com/\n//evil.org",
    "\thttps://shop.example.com/",
    " https://shop.example.com/",
    "https://shop.example.com\t/",
    "https://sho\u{0}p.example.com/",
    "https://shop.example.com%00/",
    "https://shop.example.com%09/",
    "https://shop.example.com%2eevil.org/",
    "https://sh\u{43e}p.example.com/",
    "https://shop\u{3002}example.com/",
    "https://shop.example.c\u{43e}m/",
    "https://\u{ff41}pp.example.com/x",
    "https://app.example.com\u{2044}x",
    "https://b\u{fc}cher.example.net/x",
    "https://[::1",
    "https://[evil]/",
    "https://x[::1]/",
    "https://[::1]@evil.org/",
    "https://[127.0.0.1]/",
    "https://0x7f000001/",
    "https://0/",
    "https://app.example.com:port/",
    "https://app.example.com:80:80/",
    "https://shop.example.com:0443/",
    "http://shop.example.com/",
    "HTTPS://app.example.com/",
    "javascript:https://shop.example.com/",
    "javascript://shop.example.com/%0aalert(1)",
    "data:,https://shop.example.com",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://shop.example.com/1",
    "%68ttps://shop.example.com/",
    "https://%73hop.example.com/",
];

/// Unusual spellings that stay on an allowed host.
#[test]
fn a2_odd_targets_on_an_allowed_host_are_allowed() {
    let list = list("https://shop.example.com", &["https://app.example.com/**"]);
    for target in [
        "https://shop.example.com//evil.org",
        "https://shop.example.com/\\evil.org",
        "https://shop.example.com/@evil.org",
        "https://shop.example.com?@evil.org",
        "https://ann:secret@shop.example.com/",
        "https://app.example.com/../x",
        "https://app.example.com/?u=https://evil.org",
        "HTTPS://shop.example.com/",
        "http://127.1.2.3/",
    ] {
        assert!(list.allows(target), "{target}");
    }
}

/// Each URL with scheme, host, port and text as in Go 1.26; `None` if Go rejects it.
#[test]
fn urls_are_parsed_and_written_like_go() {
    for (url, parts) in GO {
        let read = Url::parse(url).ok().map(|url| {
            let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (url.scheme().to_owned(), lossy(url.hostname()), lossy(url.port()), url.to_text())
        });
        let expected = parts
            .map(|(scheme, host, port, text)| (scheme.to_owned(), host.to_owned(), port.to_owned(), text.to_owned()));
        assert_eq!(read, expected, "{url:?}");
    }
}

type Parts = (&'static str, &'static str, &'static str, &'static str);

include!("go_urls.in");

proptest! {
    #[test]
    fn arbitrary_targets_do_not_panic(target in any::<String>()) {
        recorded_list().allows(&target);
    }

    #[test]
    fn url_like_targets_do_not_panic(target in r"https?://[a-z@:\[\]%0-9.\\/?#é]{0,30}") {
        recorded_list().allows(&target);
    }

    #[test]
    fn written_urls_parse_equally(target in r"[a-z]{1,5}:(//)?[a-z@:%0-9./?# é<>&;=+!*']{0,30}") {
        if let Ok(url) = Url::parse(&target) {
            let again = Url::parse(&url.to_text()).unwrap();
            prop_assert_eq!((again.hostname(), again.port(), again.to_text()), (url.hostname(), url.port(), url.to_text()));
        }
    }

    #[test]
    fn a2_allowed_targets_are_on_listed_hosts(target in r"https?:[/\\]{0,3}[a-z.@:\\]{0,12}(shop\.example\.com|evil\.org)[a-z.@:/\\?#]{0,12}") {
        let list = list("https://shop.example.com", &["https://app.example.com/**"]);
        if list.allows(&target) {
            let seen_by_a_browser = url::Url::parse(&target).unwrap();
            prop_assert_eq!(seen_by_a_browser.host_str(), Some("shop.example.com"), "{}", target);
        }
    }
}
