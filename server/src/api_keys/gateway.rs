//! What Supabase's gateway does in front of a service: finds the caller's key and turns the newer kind into the token of
//! its role.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::{ApiKeys, Role};

const APIKEY: HeaderName = HeaderName::from_static("apikey");

/// Knows the keys, and a way to tell whether a token is one of ours.
#[derive(Clone)]
pub struct Gateway {
    keys: Arc<ApiKeys>,
    verifies: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

/// What a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// One of the project's keys.
    Key(Role),
    /// A token that we signed.
    Token,
    /// Something else.
    Wrong,
    /// Nothing.
    Missing,
}

impl Gateway {
    /// `verifies` says whether a token is signed by us and still good.
    pub fn new(keys: Arc<ApiKeys>, verifies: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { keys, verifies: Arc::new(verifies) }
    }

    /// Finds the key: the header `apikey`, the parameter `apikey`, the header `Authorization`; the first that is there
    /// counts. A key without a token beside it becomes the token of its role in `Authorization`, and so does a newer key
    /// that stands there itself.
    pub fn admit(&self, uri: &Uri, headers: &mut HeaderMap) -> Credentials {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| bearer(value.to_str().ok()?)).map(str::to_owned);
        let apikey = match headers.get(APIKEY) {
            Some(value) => Some(value.to_str().unwrap_or_default().to_owned()),
            None => uri.query().and_then(apikey_in),
        };
        let found = self.judge(apikey.as_deref().or(bearer.as_deref()));
        // A newer key is no token, so in `Authorization` it must be ours whatever else is brought.
        let in_place = bearer.as_deref().filter(|bearer| bearer.starts_with("sb_"));
        match (in_place.map(|key| self.judge(Some(key))), found) {
            (Some(Credentials::Key(role)), Credentials::Key(_) | Credentials::Token) => self.authorize(headers, role),
            (Some(_), Credentials::Key(_) | Credentials::Token) => return Credentials::Wrong,
            (None, Credentials::Key(role)) if !headers.contains_key(AUTHORIZATION) => self.authorize(headers, role),
            (None, Credentials::Token) if !headers.contains_key(AUTHORIZATION) => {
                set_bearer(headers, apikey.as_deref().unwrap_or_default());
            }
            _ => {}
        }
        found
    }

    fn judge(&self, key: Option<&str>) -> Credentials {
        match key {
            None => Credentials::Missing,
            Some(key) => match self.keys.role_of(key) {
                Some(role) => Credentials::Key(role),
                None if !key.starts_with("sb_") && (self.verifies)(key) => Credentials::Token,
                None => Credentials::Wrong,
            },
        }
    }

    fn authorize(&self, headers: &mut HeaderMap, role: Role) {
        set_bearer(headers, self.keys.token(role));
    }
}

fn set_bearer(headers: &mut HeaderMap, token: &str) {
    if let Ok(mut value) = HeaderValue::try_from(format!("Bearer {token}")) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

/// The token of `Bearer …`, in any letter case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Keys have no character that a query would encode.
fn apikey_in(query: &str) -> Option<String> {
    query.split('&').find_map(|part| part.strip_prefix("apikey=")).map(str::to_owned)
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Gateway(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway() -> Gateway {
        let key = str::to_owned;
        let keys = ApiKeys {
            jwt_secret: key("secret"),
            anon_key: key("jwt.of.anon"),
            service_role_key: key("jwt.of.service"),
            publishable_key: key("sb_publishable_p"),
            secret_key: key("sb_secret_s"),
        };
        Gateway::new(Arc::new(keys), |token| token == "jwt.of.user")
    }

    /// A request's `apikey` header, query and `Authorization`; what is found, and what `Authorization` becomes.
    #[test]
    fn keys_are_found_where_clients_put_them_and_become_tokens() {
        use Credentials::{Key, Missing, Token, Wrong};
        use Role::{Anon, Service};
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
            // supabase-js without a session sends its key twice, with one the user's token.
            (Some("sb_publishable_p"), "", Some("Bearer sb_publishable_p"), Key(Anon), Some("Bearer jwt.of.anon")),
            (Some("sb_publishable_p"), "", Some("Bearer jwt.of.user"), Key(Anon), Some("Bearer jwt.of.user")),
            // A token that is no good is the service's to refuse.
            (Some("sb_publishable_p"), "", Some("Bearer expired"), Key(Anon), Some("Bearer expired")),
            (Some("sb_publishable_p"), "", Some("Bearer sb_secret_guess"), Wrong, Some("Bearer sb_secret_guess")),
            (Some("sb_publishable_x"), "", Some("Bearer jwt.of.user"), Wrong, Some("Bearer jwt.of.user")),
            (Some(""), "", Some("Bearer sb_secret_s"), Wrong, Some("Bearer sb_secret_s")),
            (none, "", Some("Bearer nonsense"), Wrong, Some("Bearer nonsense")),
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
            assert_eq!(gateway().admit(&uri, &mut headers), expected, "{case}");
            let found = headers.get(AUTHORIZATION).map(|value| value.to_str().expect("text"));
            assert_eq!(found, after, "{case}");
        }
    }
}
