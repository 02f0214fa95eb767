//! The checks of Supabase's API gateway: finds the API key of a request and replaces it by a token.
//! Keys of the newer kind become the token of their role.

use std::sync::Arc;

use chrono::TimeDelta;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};
use http_edge::request::{APIKEY, ApiKeyRole, BearerWhitespace, bearer_value, parse_bearer};
use serde_json::{Map, Value};

use super::authorization::{TooManyTokens, possible_tokens};
use super::keys::SECRET_PREFIX;
use super::live::LiveApiKeys;

/// Checks API keys and tokens.
#[derive(Clone)]
pub(crate) struct ApiKeyGateway {
    keys: LiveApiKeys,
    verify_token: Arc<VerifyToken>,
}

/// Returns the claims of a token that is signed with this project's key and was valid this long ago.
type VerifyToken = dyn Fn(&str, TimeDelta) -> Option<Arc<Map<String, Value>>> + Send + Sync;

/// The role of tokens that may do everything.
const SERVICE_ROLE: &str = "service_role";

/// How long the data API accepts a token after its end, for clocks that differ.
const SERVICE_LEEWAY: TimeDelta = TimeDelta::seconds(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestCredentials {
    /// One of the project's API keys.
    Key(ApiKeyRole),
    /// A valid token of this project.
    Token,
    /// Invalid credentials.
    Invalid,
    /// No credentials.
    Missing,
}

/// A key as a request presents it.
pub(crate) struct PresentedKey {
    /// The key.
    pub text: String,
    /// Where it is, in words.
    pub place: &'static str,
}

impl ApiKeyGateway {
    /// Creates the gateway.
    /// `verify` returns the claims of a token that is signed with this project's key and was valid this long ago.
    pub(crate) fn new(
        keys: LiveApiKeys,
        verify: impl Fn(&str, TimeDelta) -> Option<Arc<Map<String, Value>>> + Send + Sync + 'static,
    ) -> Self {
        Self { keys, verify_token: Arc::new(verify) }
    }

    /// Returns the claims of every token of this project in a request, which may carry several: each that a service could
    /// accept.
    ///
    /// # Errors
    /// [`TooManyTokens`].
    pub(crate) fn verified_claims(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Vec<Arc<Map<String, Value>>>, TooManyTokens> {
        let tokens = possible_tokens(uri, headers)?.into_iter();
        let claims = tokens.filter(|token| self.keys.ring().find_role(token).is_none()).filter_map(|token| {
            (self.verify_token)(&token, TimeDelta::zero()).or_else(|| (self.verify_token)(&token, SERVICE_LEEWAY))
        });
        Ok(claims.collect())
    }

    /// Authenticates a request by its API key.
    /// The key is in the header `apikey`, the query parameter `apikey` or the header `Authorization`, in this order. A
    /// key without a token becomes the token of its role in `Authorization`; a newer key in `Authorization` is replaced
    /// in the same way.
    pub(crate) fn authenticate(&self, uri: &Uri, headers: &mut HeaderMap) -> RequestCredentials {
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer =
            authorization.and_then(|value| parse_bearer(value, BearerWhitespace::Kept).present()).map(str::to_owned);
        let apikey = match headers.get(APIKEY) {
            Some(value) => Some(value.to_str().unwrap_or_default().to_owned()),
            None => uri.query().and_then(find_apikey_parameter),
        };
        let found = self.classify(apikey.as_deref().or(bearer.as_deref()));
        // A newer key is not a token: in `Authorization` it must be valid regardless of the other credentials.
        let in_place = bearer.as_deref().filter(|bearer| bearer.starts_with("sb_"));
        match (in_place.map(|key| self.classify(Some(key))), found) {
            (Some(RequestCredentials::Key(role)), RequestCredentials::Key(_) | RequestCredentials::Token) => {
                self.set_role_token(headers, role);
            }
            (Some(_), RequestCredentials::Key(_) | RequestCredentials::Token) => return RequestCredentials::Invalid,
            (None, RequestCredentials::Key(role)) if !headers.contains_key(AUTHORIZATION) => {
                self.set_role_token(headers, role);
            }
            (None, RequestCredentials::Token) if !headers.contains_key(AUTHORIZATION) => {
                set_bearer(headers, apikey.as_deref().unwrap_or_default());
            }
            _ => {}
        }
        found
    }

    /// Returns whether a request has no credentials, so that [`Self::authenticate`] would find none.
    pub(crate) fn is_keyless(uri: &Uri, headers: &HeaderMap) -> bool {
        !headers.contains_key(APIKEY) && presented_keys(uri, headers).is_empty()
    }

    /// Gives a request without credentials those of visitors.
    pub(crate) fn set_visitor(&self, headers: &mut HeaderMap) {
        self.set_role_token(headers, ApiKeyRole::Anon);
    }

    /// Returns whether the token of a request is that of an API key, and not of a user.
    pub(crate) fn has_key_token(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = bearer.and_then(|value| parse_bearer(value, BearerWhitespace::Kept).present()) else {
            return false;
        };
        self.keys.ring().find_role(token).is_some()
    }

    /// Returns whether the token of a request has the role of the service: that of a secret key, or one that was signed for it.
    pub(crate) fn has_service_token(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = bearer.and_then(|value| parse_bearer(value, BearerWhitespace::Kept).present()) else {
            return false;
        };
        match self.keys.ring().find_role(token) {
            Some(role) => role == ApiKeyRole::Service,
            None => (self.verify_token)(token, TimeDelta::zero())
                .is_some_and(|claims| claims.get("role").and_then(Value::as_str) == Some(SERVICE_ROLE)),
        }
    }

    /// Returns the role of an API key; `None` if it is not one of the project.
    pub(crate) fn find_role(&self, key: &str) -> Option<ApiKeyRole> {
        self.keys.ring().find_role(key)
    }

    /// Returns whether a request presents a secret key of the project; the token of the role `service_role` is none.
    pub(crate) fn has_secret_key(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let is_secret = |key: &str| key.starts_with(SECRET_PREFIX) && self.find_role(key) == Some(ApiKeyRole::Service);
        presented_keys(uri, headers).iter().any(|(_, key)| is_secret(key))
    }

    /// Returns whether the keys are those that the Supabase CLI publishes.
    pub(crate) fn are_keys_published(&self) -> bool {
        self.keys.are_published()
    }

    /// Returns the token with which a role is sent to the services.
    pub(crate) fn role_token(&self, role: ApiKeyRole) -> String {
        self.keys.token(role)
    }

    /// Finds the key that makes the credentials of a request invalid, for its explanation.
    pub(crate) fn find_invalid_key(&self, uri: &Uri, headers: &HeaderMap) -> Option<PresentedKey> {
        let is_invalid = |key: &str| self.classify(Some(key)) == RequestCredentials::Invalid;
        let found = presented_keys(uri, headers).into_iter().find(|(_, key)| is_invalid(key));
        found.map(|(place, text)| PresentedKey { text, place })
    }

    fn classify(&self, key: Option<&str>) -> RequestCredentials {
        match key {
            None => RequestCredentials::Missing,
            Some(key) => match self.keys.ring().find_role(key) {
                Some(role) => RequestCredentials::Key(role),
                None if !key.starts_with("sb_") && self.is_role_token(key) => RequestCredentials::Token,
                None => RequestCredentials::Invalid,
            },
        }
    }

    /// Whether a key is a valid token with a role. The project's key also signs tokens for one purpose, which others may read in a
    /// URL: those of signed storage URLs and of sign-ins with a provider. They open no API.
    fn is_role_token(&self, key: &str) -> bool {
        (self.verify_token)(key, TimeDelta::zero())
            .is_some_and(|claims| claims.get("role").and_then(Value::as_str).is_some_and(|role| !role.is_empty()))
    }

    fn set_role_token(&self, headers: &mut HeaderMap, role: ApiKeyRole) {
        set_bearer(headers, &self.keys.token(role));
    }
}

/// Returns the keys and tokens of a request with their places.
fn presented_keys(uri: &Uri, headers: &HeaderMap) -> Vec<(&'static str, String)> {
    let header = headers.get(APIKEY).map(|value| value.to_str().unwrap_or_default().to_owned());
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| parse_bearer(value, BearerWhitespace::Kept).present()).map(str::to_owned);
    let keys = [
        ("the header apikey", header),
        ("the query parameter apikey", uri.query().and_then(find_apikey_parameter)),
        ("the header Authorization", bearer),
    ];
    keys.into_iter().filter_map(|(place, key)| Some((place, key?))).collect()
}

fn set_bearer(headers: &mut HeaderMap, token: &str) {
    if let Some(value) = bearer_value(token) {
        headers.insert(AUTHORIZATION, value);
    }
}

/// Finds the query parameter `apikey`.
/// Keys have no characters that a query would encode.
fn find_apikey_parameter(query: &str) -> Option<String> {
    query.split('&').find_map(|part| part.strip_prefix("apikey=")).map(str::to_owned)
}

impl std::fmt::Debug for ApiKeyGateway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Gateway(…)")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::super::keys::ApiKeys;
    use super::*;

    fn gateway() -> ApiKeyGateway {
        let key = str::to_owned;
        let keys = ApiKeys {
            jwt_secret: key("secret"),
            anon_key: key("jwt.of.anon"),
            service_role_key: key("jwt.of.service"),
            publishable_key: key("sb_publishable_p"),
            secret_key: key("sb_secret_s"),
        };
        ApiKeyGateway::new(LiveApiKeys::new(&keys), |token, _| {
            let claims = match token {
                "jwt.of.user" => json!({"sub": "u", "role": "authenticated"}),
                "jwt.of.url" => json!({"url": "b/a.txt", "scope": "download"}),
                "jwt.of.nobody" => json!({"role": ""}),
                _ => return None,
            };
            claims.as_object().cloned().map(Arc::new)
        })
    }

    /// Rows: `apikey`, query and `Authorization` of a request; the result and the new `Authorization`.
    #[test]
    fn keys_are_found_and_replaced_by_tokens() {
        use ApiKeyRole::{Anon, Service};
        use RequestCredentials::{Invalid, Key, Missing, Token};
        let none = None;
        let cases = [
            (none, "", none, Missing, none),
            (Some("sb_publishable_p"), "", none, Key(Anon), Some("Bearer jwt.of.anon")),
            (Some("sb_secret_s"), "", none, Key(Service), Some("Bearer jwt.of.service")),
            (Some("jwt.of.anon"), "", none, Key(Anon), Some("Bearer jwt.of.anon")),
            (none, "a=b&apikey=sb_secret_s", none, Key(Service), Some("Bearer jwt.of.service")),
            (none, "", Some("Bearer sb_secret_s"), Key(Service), Some("Bearer jwt.of.service")),
            (none, "", Some("bearer jwt.of.user"), Token, Some("bearer jwt.of.user")),
            (Some("jwt.of.user"), "", none, Token, Some("Bearer jwt.of.user")),
            // The token of a signed URL is no key. Beside a key the service decides about it.
            (Some("jwt.of.url"), "", none, Invalid, none),
            (none, "apikey=jwt.of.url", none, Invalid, none),
            (none, "", Some("Bearer jwt.of.url"), Invalid, Some("Bearer jwt.of.url")),
            (Some("jwt.of.url"), "", Some("Bearer jwt.of.user"), Invalid, Some("Bearer jwt.of.user")),
            (Some("sb_publishable_p"), "", Some("Bearer jwt.of.url"), Key(Anon), Some("Bearer jwt.of.url")),
            (Some("jwt.of.nobody"), "", none, Invalid, none),
            // Without a session, supabase-js sends its key twice; with a session, the user's token.
            (Some("sb_publishable_p"), "", Some("Bearer sb_publishable_p"), Key(Anon), Some("Bearer jwt.of.anon")),
            (Some("sb_publishable_p"), "", Some("Bearer jwt.of.user"), Key(Anon), Some("Bearer jwt.of.user")),
            // An invalid token is left to the service to reject.
            (Some("sb_publishable_p"), "", Some("Bearer expired"), Key(Anon), Some("Bearer expired")),
            (Some("sb_publishable_p"), "", Some("Bearer sb_secret_guess"), Invalid, Some("Bearer sb_secret_guess")),
            (Some("sb_publishable_x"), "", Some("Bearer jwt.of.user"), Invalid, Some("Bearer jwt.of.user")),
            (Some(""), "", Some("Bearer sb_secret_s"), Invalid, Some("Bearer sb_secret_s")),
            (none, "", Some("Bearer nonsense"), Invalid, Some("Bearer nonsense")),
            (none, "", Some("Basic abc"), Missing, Some("Basic abc")),
            (none, "xapikey=sb_secret_s", none, Missing, none),
        ];
        for (apikey, query, authorization, expected, after) in cases {
            let mut headers = HeaderMap::new();
            if let Some(value) = apikey {
                headers.insert(APIKEY, HeaderValue::from_static(value));
            }
            if let Some(value) = authorization {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            }
            let uri: Uri = format!("/settings?{query}").parse().expect("a path");
            let case = format!("{apikey:?} {query:?} {authorization:?}");
            assert_eq!(ApiKeyGateway::is_keyless(&uri, &headers), expected == Missing, "{case}");
            assert_eq!(gateway().authenticate(&uri, &mut headers), expected, "{case}");
            let found = headers.get(AUTHORIZATION).map(|value| value.to_str().expect("text"));
            assert_eq!(found, after, "{case}");
        }
    }
}
