//! The address that a browser is sent to, to sign in with a provider.

use std::collections::BTreeMap;

use super::provider::{Endpoints, NamedScopes, Place};
use crate::domain::redirect::go_url::form_encode;

/// Parameters that are ours alone, in any letters.
const RESERVED: [&str; 8] = [
    "client_id",
    "client_secret",
    "redirect_uri",
    "response_type",
    "state",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
];

const OPENID: &str = "openid";

/// What a browser is sent to a provider with.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Where the provider takes browsers.
    pub endpoint: &'a str,
    /// Our id there.
    pub client_id: &'a str,
    /// Our callback as registered there.
    pub redirect_uri: &'a str,
    /// The flow.
    pub state: &'a str,
    /// The challenge of our own verifier, where the provider wants one.
    pub challenge: Option<&'a str>,
    /// What the client asked for: the pairs of its query.
    pub asked: &'a [(String, String)],
}

/// The address, its parameters in the order of their names. A client's parameters are passed on, the first of each name,
/// but for those that are ours; the provider's own win over them.
pub fn address(place: &Place, start: &Start<'_>) -> String {
    let mut members = BTreeMap::from([
        ("response_type".to_owned(), "code".to_owned()),
        ("client_id".to_owned(), start.client_id.to_owned()),
        ("redirect_uri".to_owned(), start.redirect_uri.to_owned()),
        ("scope".to_owned(), scopes(place, first(start.asked, "scopes")).join(" ")),
        ("state".to_owned(), start.state.to_owned()),
    ]);
    members.retain(|_, value| !value.is_empty());
    if place.passes_on {
        for (name, value) in passed_on(start.asked) {
            members.insert(name.to_owned(), value.to_owned());
        }
    }
    if let Some(challenge) = start.challenge {
        members.insert("code_challenge".to_owned(), challenge.to_owned());
        members.insert("code_challenge_method".to_owned(), "S256".to_owned());
    }
    members.extend(place.params.iter().cloned());
    let members: Vec<_> = members.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect();
    let joint = if start.endpoint.contains('?') { '&' } else { '?' };
    format!("{}{joint}{}", start.endpoint, form_encode(&members))
}

/// The scopes that are asked for when a client names these. Without `openid` OpenID Connect is none: it stays.
fn scopes(place: &Place, named: &str) -> Vec<String> {
    let usual = place.scopes.iter().cloned();
    match place.named_scopes {
        NamedScopes::Appended if !named.is_empty() => usual.chain(named.split(',').map(str::to_owned)).collect(),
        NamedScopes::Instead if !named.trim().is_empty() => {
            let is_lost = place.scopes.iter().any(|scope| scope == OPENID)
                && matches!(place.endpoints, Endpoints::Discovered { .. })
                && named.split_whitespace().all(|scope| scope != OPENID);
            is_lost.then_some(OPENID).into_iter().chain(named.split_whitespace()).map(str::to_owned).collect()
        }
        NamedScopes::Appended | NamedScopes::Instead | NamedScopes::Ignored => usual.collect(),
    }
}

fn first<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    pairs.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
}

/// What is passed on, the first of each name.
fn passed_on(asked: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    let is_ours = |name: &str| {
        matches!(name, "scopes" | "provider") || RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
    };
    // Later pairs are met first, so that the first of a name stays.
    asked.iter().rev().filter(move |(name, _)| !is_ours(name)).map(|(name, value)| {
        let name = if name == "workos_provider" { "provider" } else { name };
        (name, value.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(scopes: &[&str], named_scopes: NamedScopes) -> Place {
        Place { named_scopes, ..Place::oauth2(String::new(), String::new(), scopes) }
    }

    fn of(place: &Place, asked: &[(&str, &str)]) -> String {
        let asked: Vec<_> = asked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        address(
            place,
            &Start {
                endpoint: "https://p/a",
                client_id: "us",
                redirect_uri: "https://o/callback",
                state: "s",
                challenge: None,
                asked: &asked,
            },
        )
    }

    const REST: &str = "client_id=us&redirect_uri=https%3A%2F%2Fo%2Fcallback&response_type=code";

    #[test]
    fn scopes_are_appended_taken_instead_or_ignored() {
        use NamedScopes::{Appended, Ignored, Instead};
        for (usual, named_scopes, named, scope) in [
            (&["a", "b"][..], Appended, "", "&scope=a+b"),
            (&["a"], Appended, "c,d e,", "&scope=a+c+d+e+"),
            (&[], Appended, "", ""),
            (&["a"], Instead, " c  d ", "&scope=c+d"),
            (&["a"], Instead, " ", "&scope=a"),
            (&["a"], Ignored, "c", "&scope=a"),
        ] {
            let url = of(&place(usual, named_scopes), &[("provider", "p"), ("scopes", named)]);
            assert_eq!(url, format!("https://p/a?{REST}{scope}&state=s"), "{named_scopes:?} {named:?}");
        }
    }

    #[test]
    fn openid_connect_keeps_its_scope() {
        let endpoints = Endpoints::Discovered { issuer: "https://p".into(), document: None, instead: None };
        let place = Place { named_scopes: NamedScopes::Instead, ..Place::at(endpoints, &["openid", "email"]) };
        for (named, scope) in
            [("profile", "openid+profile"), ("profile openid", "profile+openid"), ("", "openid+email")]
        {
            let url = of(&place, &[("scopes", named)]);
            assert!(url.contains(&format!("&scope={scope}&")), "{url}");
        }
    }

    #[test]
    fn parameters_are_passed_on_but_for_those_that_are_ours() {
        let usual = place(&["a"], NamedScopes::Appended);
        for ours in RESERVED.into_iter().chain(["provider", "scopes", "State", "CLIENT_ID"]) {
            let url = of(&usual, &[(ours, "mine")]);
            assert!(!url.contains("=mine"), "{ours}: {url}");
        }
        let asked = [("prompt", "none"), ("prompt", "login"), ("nonce", "n"), ("workos_provider", "G"), ("scope", "x")];
        let url = of(&usual, &asked);
        assert_eq!(
            url,
            "https://p/a?client_id=us&nonce=n&prompt=none&provider=G&redirect_uri=https%3A%2F%2Fo%2Fcallback\
             &response_type=code&scope=x&state=s"
        );
        let silent = Place { passes_on: false, ..usual.clone() };
        assert_eq!(of(&silent, &asked), format!("https://p/a?{REST}&scope=a&state=s"));
        let own = Place { params: vec![("prompt".into(), "always".into())], ..usual };
        assert!(of(&own, &asked).contains("prompt=always"));
    }

    #[test]
    fn a_challenge_is_of_sha_256_and_an_endpoint_keeps_its_query() {
        let url = address(
            &place(&[], NamedScopes::Ignored),
            &Start {
                endpoint: "https://p/a?tenant=1",
                client_id: "us",
                redirect_uri: "",
                state: "s",
                challenge: Some("c"),
                asked: &[],
            },
        );
        assert_eq!(
            url,
            "https://p/a?tenant=1&client_id=us&code_challenge=c&code_challenge_method=S256&response_type=code&state=s"
        );
    }
}
