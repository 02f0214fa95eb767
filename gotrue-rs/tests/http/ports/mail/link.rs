//! Links lead exactly where the reference's lead.

use gotrue_rs::ports::mail::link::{LinkParameters, build_link, find_type_and_path};
use gotrue_rules::domain::policy::{LinkPaths, MailKind};
use proptest::prelude::*;
use url::Url;

fn link(base: &str, path: &str, redirect_to: &str) -> String {
    build_link(base, path, LinkParameters { token: "pkce_ab12", kind: "signup", redirect_to }).expect("a link")
}

#[test]
fn a_path_is_resolved_against_the_base() {
    for (base, path, place) in [
        ("http://localhost:9999", "/verify", "http://localhost:9999/verify"),
        ("https://api.example.com/auth/v1", "/verify", "https://api.example.com/verify"),
        ("https://api.example.com/auth/v1", "/auth/v1/verify", "https://api.example.com/auth/v1/verify"),
        ("https://api.example.com/auth/v1", "recover", "https://api.example.com/auth/recover"),
        ("https://api.example.com/auth/v1/", "recover", "https://api.example.com/auth/v1/recover"),
        ("https://shop.example.com", "/auth/v1/verify", "https://shop.example.com/auth/v1/verify"),
        ("/auth/v1", "/verify", "/verify"),
        ("/auth/v1/", "verify", "/auth/v1/verify"),
        ("/auth/v1", "https://web.example.com/confirm", "https://web.example.com/confirm"),
    ] {
        assert_eq!(link(base, path, "http://s"), format!("{place}?token=pkce_ab12&type=signup&redirect_to=http://s"));
    }
}

#[test]
fn the_query_of_a_path_is_replaced_and_its_fragment_stays() {
    assert_eq!(
        link("https://api.example.com", "https://web.example.com/confirm?ours=1#part", "http://s"),
        "https://web.example.com/confirm?token=pkce_ab12&type=signup&redirect_to=http://s#part"
    );
}

#[test]
fn a_target_is_escaped_only_if_it_would_end_the_parameter() {
    for (target, written) in [
        ("https://app.example.com/callback", "https://app.example.com/callback"),
        ("https://app.example.com/a?b", "https://app.example.com/a?b"),
        ("http://shop.example.com/a?x=1&y=2", "http%3A%2F%2Fshop.example.com%2Fa%3Fx%3D1%26y%3D2"),
        ("myapp://done#a~b*c d", "myapp%3A%2F%2Fdone%23a~b%2Ac+d"),
    ] {
        let expected = format!("http://h/verify?token=pkce_ab12&type=signup&redirect_to={written}");
        assert_eq!(link("http://h", "/verify", target), expected);
    }
}

#[test]
fn message_types_with_a_link_have_a_type_and_a_path() {
    let named = |name: &str| name.to_owned();
    let paths =
        LinkPaths { invite: named("i"), confirmation: named("c"), recovery: named("r"), email_change: named("e") };
    let all: Vec<_> = MailKind::ALL.into_iter().filter_map(|kind| find_type_and_path(kind, &paths)).collect();
    assert_eq!(all, [("invite", "i"), ("signup", "c"), ("recovery", "r"), ("magiclink", "r"), ("email_change", "e")]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn link_redirects_to_the_requested_target(rest in "[a-zA-Z0-9/?=&#._~*%+ -]{0,40}") {
        let target = format!("https://app.example.com/{rest}");
        let parsed = Url::parse(&link("http://h", "/verify", &target)).expect("a URL");
        let read = parsed.query_pairs().find(|(name, _)| name == "redirect_to").map(|(_, value)| value.into_owned());
        // A target without a separator is written as it is, so its own escapes are decoded once more.
        if target.contains(['&', '=', '#']) {
            prop_assert_eq!(read, Some(target));
        } else {
            prop_assert!(read.is_some_and(|read| read.starts_with("https://app.example.com/")));
        }
        prop_assert_eq!(parsed.host_str(), Some("h"));
    }

    #[test]
    fn no_target_moves_the_link_to_another_host(target in "\\PC{0,60}") {
        if let Some(link) = build_link("http://h", "/verify", LinkParameters { token: "t", kind: "signup", redirect_to: &target }) {
            prop_assert!(link.starts_with("http://h/verify?token=t&type=signup&redirect_to="));
        }
    }
}
