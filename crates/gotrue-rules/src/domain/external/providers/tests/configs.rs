//! The endpoints and protocol parameters of each provider.

use super::super::super::provider::{ClientAuth, ClientScopes, ProviderEndpoints};
use super::super::{ALL, Provider, find};
use super::settings;
use crate::domain::policy::{ExternalProviderSettings, PROVIDERS};

#[test]
fn every_configurable_provider_exists() {
    let names: Vec<&str> = ALL.into_iter().map(Provider::name).collect();
    assert_eq!(names, PROVIDERS);
    assert_eq!(find("LinkedIn_OIDC").map(Provider::name), Some("linkedin_oidc"));
    assert!(find("custom:x").is_none());
}

#[test]
fn default_endpoints_and_scopes_per_provider() {
    let table = [
        (
            "azure",
            "login.microsoftonline.com/common/oauth2/v2.0/authorize",
            "login.microsoftonline.com/common/oauth2/v2.0/token",
            "openid",
        ),
        ("bitbucket", "bitbucket.org/site/oauth2/authorize", "bitbucket.org/site/oauth2/access_token", "account email"),
        ("discord", "discord.com/api/oauth2/authorize", "discord.com/api/oauth2/token", "email identify"),
        ("facebook", "www.facebook.com/dialog/oauth", "graph.facebook.com/oauth/access_token", "email"),
        ("figma", "www.figma.com/oauth", "api.figma.com/v1/oauth/token", "current_user:read"),
        ("fly", "api.fly.io/oauth/authorize", "api.fly.io/oauth/token", "read"),
        ("github", "github.com/login/oauth/authorize", "github.com/login/oauth/access_token", "user:email"),
        ("gitlab", "gitlab.com/oauth/authorize", "gitlab.com/oauth/token", "read_user"),
        (
            "kakao",
            "kauth.kakao.com/oauth/authorize",
            "kauth.kakao.com/oauth/token",
            "account_email profile_image profile_nickname",
        ),
        (
            "linkedin",
            "api.linkedin.com/oauth/v2/authorization",
            "api.linkedin.com/oauth/v2/accessToken",
            "r_emailaddress r_liteprofile",
        ),
        ("notion", "api.notion.com/v1/oauth/authorize", "api.notion.com/v1/oauth/token", ""),
        ("slack", "slack.com/oauth/authorize", "slack.com/api/oauth.access", "profile email openid"),
        (
            "slack_oidc",
            "slack.com/openid/connect/authorize",
            "slack.com/api/openid.connect.token",
            "profile email openid",
        ),
        (
            "snapchat",
            "accounts.snapchat.com/accounts/oauth2/auth",
            "accounts.snapchat.com/accounts/oauth2/token",
            "https://auth.snapchat.com/oauth2/api/user.external_id https://auth.snapchat.com/oauth2/api/user.display_name https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
        ),
        ("spotify", "accounts.spotify.com/authorize", "accounts.spotify.com/api/token", "user-read-email"),
        ("twitch", "id.twitch.tv/oauth2/authorize", "id.twitch.tv/oauth2/token", "user:read:email"),
        ("workos", "api.workos.com/sso/authorize", "api.workos.com/sso/token", ""),
        (
            "x",
            "x.com/i/oauth2/authorize",
            "api.x.com/2/oauth2/token",
            "users.email tweet.read users.read offline.access",
        ),
        ("zoom", "zoom.us/oauth/authorize", "zoom.us/oauth/token", ""),
    ];
    for (name, authorize, token, scopes) in table {
        let place = find(name).unwrap().config(&settings(""));
        let expected =
            ProviderEndpoints::OAuth2 { authorize: format!("https://{authorize}"), token: format!("https://{token}") };
        assert_eq!((&place.endpoints, place.scopes.join(" ")), (&expected, scopes.to_owned()), "{name}");
    }
}

#[test]
fn configured_base_url_applies_to_all_endpoints() {
    for provider in ALL {
        let place = provider.config(&settings("https://base.example/"));
        let at_base = |address: &str| address.starts_with("https://base.example/");
        match place.endpoints {
            ProviderEndpoints::OAuth2 { authorize, token }
            | ProviderEndpoints::Discovered { endpoint_overrides: Some((authorize, token)), .. } => {
                assert!(at_base(&authorize) && at_base(&token), "{authorize}");
            }
            ProviderEndpoints::Discovered { endpoint_overrides: None, issuer, .. } => {
                assert!(["google", "apple"].contains(&provider.name()) && !at_base(&issuer), "{issuer}");
            }
            ProviderEndpoints::OAuth1 { request_token, authorize, access_token } => {
                assert!(at_base(&request_token) && at_base(&authorize) && at_base(&access_token), "{authorize}");
            }
        }
    }
}

#[test]
fn discovery_providers_have_fixed_issuers() {
    let issuer_of = |name: &str| match find(name).unwrap().config(&settings("")).endpoints {
        ProviderEndpoints::Discovered { issuer, discovery_url: None, endpoint_overrides: instead } => {
            (issuer, instead.is_some())
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(issuer_of("apple"), ("https://appleid.apple.com".to_owned(), false));
    assert_eq!(issuer_of("google"), ("https://accounts.google.com".to_owned(), false));
    assert_eq!(issuer_of("linkedin_oidc"), ("https://www.linkedin.com/oauth".to_owned(), true));
    assert_eq!(issuer_of("vercel_marketplace"), ("https://marketplace.vercel.com".to_owned(), true));
}

#[test]
fn protocol_parameters_that_deviate_from_defaults() {
    let those = |is_odd: fn(&dyn Provider) -> bool| -> Vec<&str> {
        ALL.into_iter().filter(|provider| is_odd(*provider)).map(Provider::name).collect()
    };
    let none = &ExternalProviderSettings::default();
    assert_eq!(those(|provider| provider.config(&settings("")).uses_pkce), ["x"]);
    assert_eq!(those(|provider| provider.config(&settings("")).client_auth == ClientAuth::Form), ["kakao"]);
    assert_eq!(those(|provider| provider.config(&settings("")).client_auth == ClientAuth::BasicAndForm), ["apple"]);
    assert_eq!(those(|provider| !provider.config(&settings("")).forwards_client_params), ["apple", "twitter"]);
    assert_eq!(those(|provider| !provider.config(&settings("")).params.is_empty()), ["apple"]);
    assert_eq!(those(|provider| provider.config(&settings("")).client_scopes == ClientScopes::Replace), [""; 0]);
    assert_eq!(
        those(|provider| provider.config(&settings("")).client_scopes == ClientScopes::Ignore),
        ["apple", "bitbucket", "notion", "twitter", "workos", "zoom"]
    );
    assert_eq!(those(|provider| provider.has_user_field()), ["apple"]);
    assert_eq!(those(|provider| provider.missing_setting(&settings("")).is_some()), ["keycloak"]);
    assert_eq!(find("keycloak").unwrap().missing_setting(none), Some("unable to find URL for the Keycloak provider"));
    assert_eq!(find("keycloak").unwrap().missing_setting(&settings("https://k/realms/r")), None);
}
