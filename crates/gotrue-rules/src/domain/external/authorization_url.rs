//! Builds the URL of a provider's authorization endpoint that a browser is redirected to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};

use super::oauth2_client::OAuth2Client;
use super::provider::{ClientScopes, ProviderConfig, ProviderEndpoints};
use crate::domain::redirect::go_url::form_encode;

/// Parameters that a client cannot set, in any letter case.
pub const RESERVED_PARAMS: [&str; 8] = [
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

/// Stands for the endpoint in URLs of which only the query is read.
///
/// `oauth2` rewrites the endpoint's URL, and refuses text that is not one; the reference appends to the text as it is.
static QUERY_BASE: LazyLock<AuthUrl> =
    LazyLock::new(|| AuthUrl::new("https://provider.invalid".to_owned()).expect("the constant is a URL"));

/// Parameters of a redirect to a provider's authorization endpoint.
#[derive(Debug, Clone, Copy)]
pub struct ProviderAuthorizationRequest<'a> {
    /// The provider's authorization endpoint.
    pub endpoint: &'a str,
    /// The operator's client id at the provider.
    pub client_id: &'a str,
    /// The callback URL registered at the provider.
    pub redirect_uri: &'a str,
    /// The id of the flow state.
    pub state: &'a str,
    /// The PKCE challenge of this server's verifier, if the provider uses PKCE.
    pub code_challenge: Option<&'a PkceCodeChallenge>,
    /// The query pairs of the client's request.
    pub client_params: &'a [(String, String)],
}

/// Builds the authorization URL, with parameters sorted by name.
/// The client's parameters are forwarded, the first of each name, except reserved ones; the provider's own parameters
/// override them.
pub fn build_authorization_url(place: &ProviderConfig, start: &ProviderAuthorizationRequest<'_>) -> String {
    let mut members = standard_params(place, start);
    if place.forwards_client_params {
        for (name, value) in forwarded_params(start.client_params) {
            members.insert(name.to_owned(), value.to_owned());
        }
    }
    members.extend(place.params.iter().cloned());
    let members: Vec<_> = members.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect();
    let separator = if start.endpoint.contains('?') { '&' } else { '?' };
    format!("{}{separator}{}", start.endpoint, form_encode(&members))
}

/// The parameters of RFC 6749 §4.1.1 and RFC 7636 §4.3 that have a value.
fn standard_params(place: &ProviderConfig, start: &ProviderAuthorizationRequest<'_>) -> BTreeMap<String, String> {
    let client = OAuth2Client::new(ClientId::new(start.client_id.to_owned())).set_auth_uri(QUERY_BASE.clone());
    let scopes = effective_scopes(place, first_value(start.client_params, "scopes"));
    let mut request =
        client.authorize_url(|| CsrfToken::new(start.state.to_owned())).add_scopes(scopes.into_iter().map(Scope::new));
    request = match RedirectUrl::new(start.redirect_uri.to_owned()) {
        Ok(url) => request.set_redirect_uri(Cow::Owned(url)),
        // A setting that is not a URL is for the provider to refuse, as in GoTrue.
        Err(_) => request.add_extra_param("redirect_uri", start.redirect_uri),
    };
    if let Some(challenge) = start.code_challenge {
        request = request.set_pkce_challenge(challenge.clone());
    }
    let (url, _) = request.url();
    url.query_pairs().into_owned().filter(|(_, value)| !value.is_empty()).collect()
}

/// The scopes to request, given those that the client names.
/// `openid` always stays for OpenID Connect.
fn effective_scopes(place: &ProviderConfig, named: &str) -> Vec<String> {
    let default_scopes = place.scopes.iter().cloned();
    match place.client_scopes {
        ClientScopes::Append if !named.is_empty() => {
            default_scopes.chain(named.split(',').map(str::to_owned)).collect()
        }
        ClientScopes::Replace if !named.trim().is_empty() => {
            let lacks_openid = place.scopes.iter().any(|scope| scope == OPENID)
                && matches!(place.endpoints, ProviderEndpoints::Discovered { .. })
                && named.split_whitespace().all(|scope| scope != OPENID);
            lacks_openid.then_some(OPENID).into_iter().chain(named.split_whitespace()).map(str::to_owned).collect()
        }
        ClientScopes::Append | ClientScopes::Replace | ClientScopes::Ignore => default_scopes.collect(),
    }
}

fn first_value<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    pairs.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
}

/// The client's parameters to forward, the first of each name.
fn forwarded_params(params: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    let is_reserved = |name: &str| {
        matches!(name, "scopes" | "provider")
            || RESERVED_PARAMS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
    };
    // Reversed, so that the first pair of each name overwrites the later ones.
    params.iter().rev().filter(move |(name, _)| !is_reserved(name)).map(|(name, value)| {
        let name = if name == "workos_provider" { "provider" } else { name };
        (name, value.as_str())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(scopes: &[&str], named_scopes: ClientScopes) -> ProviderConfig {
        ProviderConfig { client_scopes: named_scopes, ..ProviderConfig::oauth2(String::new(), String::new(), scopes) }
    }

    fn build_url(place: &ProviderConfig, params: &[(&str, &str)]) -> String {
        let params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        build_authorization_url(
            place,
            &ProviderAuthorizationRequest {
                endpoint: "https://p/a",
                client_id: "us",
                redirect_uri: "https://o/callback",
                state: "s",
                code_challenge: None,
                client_params: &params,
            },
        )
    }

    const REST: &str = "client_id=us&redirect_uri=https%3A%2F%2Fo%2Fcallback&response_type=code";

    #[test]
    fn client_scopes_append_replace_or_are_ignored() {
        use ClientScopes::{Append, Ignore, Replace};
        for (defaults, named_scopes, named, scope) in [
            (&["a", "b"][..], Append, "", "&scope=a+b"),
            (&["a"], Append, "c,d e,", "&scope=a+c+d+e+"),
            (&[], Append, "", ""),
            (&["a"], Replace, " c  d ", "&scope=c+d"),
            (&["a"], Replace, " ", "&scope=a"),
            (&["a"], Ignore, "c", "&scope=a"),
        ] {
            let url = build_url(&config(defaults, named_scopes), &[("provider", "p"), ("scopes", named)]);
            assert_eq!(url, format!("https://p/a?{REST}{scope}&state=s"), "{named_scopes:?} {named:?}");
        }
    }

    #[test]
    fn openid_scope_is_kept_for_openid_connect() {
        let endpoints =
            ProviderEndpoints::Discovered { issuer: "https://p".into(), discovery_url: None, endpoint_overrides: None };
        let place = ProviderConfig {
            client_scopes: ClientScopes::Replace,
            ..ProviderConfig::new(endpoints, &["openid", "email"])
        };
        for (named, scope) in
            [("profile", "openid+profile"), ("profile openid", "profile+openid"), ("", "openid+email")]
        {
            let url = build_url(&place, &[("scopes", named)]);
            assert!(url.contains(&format!("&scope={scope}&")), "{url}");
        }
    }

    #[test]
    fn client_params_are_forwarded_except_reserved() {
        let defaults = config(&["a"], ClientScopes::Append);
        for reserved in RESERVED_PARAMS.into_iter().chain(["provider", "scopes", "State", "CLIENT_ID"]) {
            let url = build_url(&defaults, &[(reserved, "mine")]);
            assert!(!url.contains("=mine"), "{reserved}: {url}");
        }
        let params =
            [("prompt", "none"), ("prompt", "login"), ("nonce", "n"), ("workos_provider", "G"), ("scope", "x")];
        let url = build_url(&defaults, &params);
        assert_eq!(
            url,
            "https://p/a?client_id=us&nonce=n&prompt=none&provider=G&redirect_uri=https%3A%2F%2Fo%2Fcallback\
             &response_type=code&scope=x&state=s"
        );
        let silent = ProviderConfig { forwards_client_params: false, ..defaults.clone() };
        assert_eq!(build_url(&silent, &params), format!("https://p/a?{REST}&scope=a&state=s"));
        let own = ProviderConfig { params: vec![("prompt".into(), "always".into())], ..defaults };
        assert!(build_url(&own, &params).contains("prompt=always"));
    }

    #[test]
    fn parameters_are_encoded_like_go_and_endpoint_and_callback_are_kept() {
        let place =
            ProviderConfig { params: vec![("a b".into(), "~*+é/".into())], ..config(&["~*"], ClientScopes::Append) };
        for (endpoint, redirect_uri, redirect_param) in [
            ("https://p", "https://O.example", "https%3A%2F%2FO.example"),
            ("p/a~{x}", "callback", "callback"),
            ("", "/call back", "%2Fcall+back"),
        ] {
            let start = ProviderAuthorizationRequest {
                endpoint,
                client_id: "u&s",
                redirect_uri,
                state: "s",
                code_challenge: None,
                client_params: &[],
            };
            assert_eq!(
                build_authorization_url(&place, &start),
                format!(
                    "{endpoint}?a+b=~%2A%2B%C3%A9%2F&client_id=u%26s&redirect_uri={redirect_param}&response_type=code\
                     &scope=~%2A&state=s"
                )
            );
        }
    }

    #[test]
    fn url_has_s256_challenge_and_keeps_endpoint_query() {
        let challenge = json!({"code_challenge": "c", "code_challenge_method": "S256"});
        let challenge = serde_json::from_value(challenge).unwrap();
        let url = build_authorization_url(
            &config(&[], ClientScopes::Ignore),
            &ProviderAuthorizationRequest {
                endpoint: "https://p/a?tenant=1",
                client_id: "us",
                redirect_uri: "",
                state: "s",
                code_challenge: Some(&challenge),
                client_params: &[],
            },
        );
        assert_eq!(
            url,
            "https://p/a?tenant=1&client_id=us&code_challenge=c&code_challenge_method=S256&response_type=code&state=s"
        );
    }
}
