//! Describes a provider: its endpoints, parameters, and how its responses become a [`ProviderProfile`].
//! Nothing here performs I/O; the auth crate executes the steps that [`Provider::next_step`] returns.

use serde_json::{Map, Value};

use super::id_token::ExternalIdToken;
use super::profile::{Claims, ProviderEmail, ProviderProfile};
pub use super::response::{ProviderResponseError, decode};
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

/// An external provider that users sign in with.
pub trait Provider: Send + Sync {
    /// The provider's name in the API, lower case.
    fn name(&self) -> &str;

    /// Whether `GET /settings` names it, as it does the providers that GoTrue names there.
    fn is_in_settings(&self) -> bool {
        true
    }

    /// The endpoints and protocol parameters under the operator's settings.
    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig;

    /// The next step to obtain the user's profile.
    /// Called after each step with the data collected so far.
    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError>;

    /// The error text for a missing setting other than client id, secret and callback, if any.
    fn missing_setting(&self, _settings: &ExternalProviderSettings) -> Option<&'static str> {
        None
    }

    /// Adds the callback's form field `user` to the profile.
    /// Called only if the field is not empty and [`Provider::has_user_field`] is true.
    fn apply_user_field(
        &self,
        _user: &str,
        profile: ProviderProfile,
    ) -> Result<ProviderProfile, ProviderResponseError> {
        Ok(profile)
    }

    /// Whether the callback's form field `user` is read.
    fn has_user_field(&self) -> bool {
        false
    }
}

/// The endpoints and protocol parameters of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The endpoint URLs.
    pub endpoints: ProviderEndpoints,
    /// The default scopes, in this order.
    pub scopes: Vec<String>,
    /// How scopes named by the client are applied.
    pub client_scopes: ClientScopes,
    /// Whether PKCE (RFC 7636) is used with the provider.
    pub uses_pkce: bool,
    /// The provider's own authorization parameters; they override the client's.
    pub params: Vec<(String, String)>,
    /// Whether the client's parameters are forwarded.
    pub forwards_client_params: bool,
    /// How the token endpoint authenticates the client.
    pub client_auth: ClientAuth,
}

impl ProviderConfig {
    /// OAuth 2.0 endpoints with the default parameters; override with `..ProviderConfig::oauth2(…)`.
    pub fn oauth2(authorize: String, token: String, scopes: &[&str]) -> Self {
        Self::new(ProviderEndpoints::OAuth2 { authorize, token }, scopes)
    }

    /// The default parameters with these endpoints.
    pub fn new(endpoints: ProviderEndpoints, scopes: &[&str]) -> Self {
        Self {
            endpoints,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            client_scopes: ClientScopes::Append,
            uses_pkce: false,
            params: Vec::new(),
            forwards_client_params: true,
            client_auth: ClientAuth::BasicThenForm,
        }
    }
}

/// A provider's endpoint URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderEndpoints {
    /// OAuth 2.0 with fixed endpoints.
    OAuth2 {
        /// The authorization endpoint.
        authorize: String,
        /// The token endpoint.
        token: String,
    },
    /// OpenID Connect: endpoints from the issuer's discovery document.
    Discovered {
        issuer: String,
        /// The URL of the discovery document, if it is not the default one below the issuer.
        discovery_url: Option<String>,
        /// Authorization and token endpoint that replace the document's.
        endpoint_overrides: Option<(String, String)>,
    },
    /// OAuth 1.0a (RFC 5849).
    OAuth1 {
        /// The temporary credential request endpoint.
        request_token: String,
        /// The authorization endpoint.
        authorize: String,
        /// The token request endpoint.
        access_token: String,
    },
}

/// How scopes named by the client are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientScopes {
    /// Split at commas and appended, including empty ones.
    Append,
    /// Split at white space and used instead, with `openid` prepended for OpenID Connect if it is missing.
    Replace,
    /// The client's scopes are ignored.
    Ignore,
}

/// Client authentication at the token endpoint (RFC 6749 §2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// HTTP Basic, retried with the credentials in the form after any failure.
    BasicThenForm,
    /// Credentials in the form only.
    Form,
    /// HTTP Basic, with `client_id` and `secret` in the form as well.
    BasicAndForm,
}

/// The data collected about a user so far.
#[derive(Debug, Clone, Copy)]
pub struct ProfileContext<'a> {
    /// The operator's settings for the provider.
    pub settings: &'a ExternalProviderSettings,
    /// The response of the token endpoint.
    pub token: &'a ProviderTokenResponse,
    /// The verified ID token, after [`ProfileStep::CheckIdToken`].
    pub id_token: Option<&'a ExternalIdToken>,
    /// The userinfo endpoint of the discovery document; empty if there is none.
    pub userinfo_url: &'a str,
    /// The responses of the fetch steps, oldest first.
    pub responses: &'a [Document],
}

/// A successful response of a token endpoint (RFC 6749 §5.1).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderTokenResponse {
    pub access_token: String,
    /// `token_type` as sent; empty if absent.
    pub token_type: String,
    /// `refresh_token`; empty if absent.
    pub refresh_token: String,
    /// `id_token`; empty if absent.
    pub id_token: String,
    /// All members of the response.
    pub members: Map<String, Value>,
}

impl ProviderTokenResponse {
    /// Whether the response has a non-null `id_token`.
    /// An empty one counts but never passes verification.
    pub fn has_id_token(&self) -> bool {
        !self.id_token.is_empty() || self.members.get("id_token").is_some_and(|token| !token.is_null())
    }
}

/// The next step to obtain a user's profile.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileStep {
    /// GET this URL with the access token.
    /// The response must be JSON with a 2xx status and is added to [`ProfileContext::responses`].
    Fetch(FetchRequest),
    /// Verify the ID token: signature, validity period, audience and `at_hash` if present.
    /// The audience must contain the first client id. The token becomes [`ProfileContext::id_token`].
    CheckIdToken(IdTokenCheck),
    /// The profile is complete.
    Done(Box<ProviderProfile>),
}

/// Which ID tokens are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdTokenCheck {
    /// The issuer whose keys are used.
    /// [`ProviderEndpoints::Discovered`] with the same issuer supplies the key set's URL.
    pub issuer: String,
    /// Whether `iss` may differ from `issuer`.
    pub allows_any_issuer: bool,
    /// Whether the audience is checked by the provider itself instead of against the first client id.
    pub allows_any_audience: bool,
    /// Whether the issuer comes from the unverified token and so is an untrusted URL.
    pub is_issuer_from_token: bool,
}

/// A request for user data at a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchRequest {
    pub url: String,
    /// Headers besides `Authorization`.
    pub headers: Vec<(String, String)>,
    /// Whether only white space may follow the JSON of the response; otherwise trailing data is ignored.
    pub rejects_trailing_data: bool,
}

impl ProfileStep {
    /// The complete profile.
    pub fn done(emails: Vec<ProviderEmail>, claims: Claims) -> Self {
        Self::Done(Box::new(ProviderProfile { emails, claims }))
    }

    /// Verify the ID token of this issuer.
    pub fn check_id_token(issuer: impl Into<String>) -> Self {
        Self::CheckIdToken(IdTokenCheck { issuer: issuer.into(), ..IdTokenCheck::default() })
    }

    /// GET this URL without additional headers.
    pub fn fetch(url: impl Into<String>) -> Self {
        Self::Fetch(FetchRequest { url: url.into(), ..FetchRequest::default() })
    }
}

/// The operator's base URL without one trailing slash, or `https://` and the default host.
pub fn base_url(configured: &str, default_host: &str) -> String {
    if configured.is_empty() {
        return format!("https://{default_host}");
    }
    configured.strip_suffix('/').unwrap_or(configured).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_url_strips_one_trailing_slash() {
        assert_eq!(base_url("", "example.com"), "https://example.com");
        assert_eq!(base_url("http://host:1/x/", "example.com"), "http://host:1/x");
        assert_eq!(base_url("http://host//", "example.com"), "http://host/");
    }
}
