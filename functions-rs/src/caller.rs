//! Who calls: nobody, a holder of an API key, or an account with its access token. A key or token that is there and bad is
//! refused; it never makes the caller anonymous.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use gotrue_rs::app::App;
use gotrue_rules::domain::secret::Secret;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value};
use subtle::{Choice, ConstantTimeEq};
use uuid::Uuid;

/// Who calls a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    /// No key and no token.
    Nobody,
    /// The public key (publishable or legacy `anon`).
    Anonymous,
    /// The secret key (`sb_secret_…` or legacy `service_role`): a server of the operator's.
    ServiceRole,
    /// An account with a valid access token.
    User(User),
}

/// The account of an access token.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// Claim `sub`.
    pub id: Uuid,
    /// Claim `email`, where it is not empty.
    pub email: Option<String>,
    /// Claim `role`.
    pub role: String,
}

/// Why a caller is refused, always with status 401.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The function wants a token or key, and there is none.
    Missing,
    /// The token is malformed, expired, or not ours.
    Token,
    /// The API key is none of ours.
    Key,
}

impl Refused {
    /// The code, as Supabase's gateway has it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "UNAUTHORIZED_NO_AUTH_HEADER",
            Self::Token => "UNAUTHORIZED_INVALID_JWT_FORMAT",
            Self::Key => "UNAUTHORIZED_INVALID_API_KEY",
        }
    }

    /// The message for the client.
    pub fn message(self) -> &'static str {
        match self {
            Self::Missing => "Missing authorization header",
            Self::Token => "Invalid JWT",
            Self::Key => "Invalid API key",
        }
    }
}

/// Tells who calls from the headers of a call.
pub trait Verifier: Send + Sync + 'static {
    /// Who calls, at this moment.
    ///
    /// # Errors
    /// A key or token is there and bad.
    fn verify(&self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<Caller, Refused>;
}

/// An API key and whom it stands for.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// The key itself.
    pub key: Secret,
    /// Whether it is the secret one.
    pub is_secret: bool,
}

/// The claims of an access token if it is ours and valid at that moment.
pub type CheckToken = Arc<dyn Fn(&str, DateTime<Utc>) -> Option<Map<String, Value>> + Send + Sync>;

/// Knows callers by a list of API keys and by the signature of their tokens.
#[derive(Clone)]
pub struct Credentials {
    keys: Vec<ApiKey>,
    check_token: CheckToken,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Knows these keys, and tokens that `check_token` takes. Legacy API keys are tokens too: they need not be listed.
    pub fn new(keys: Vec<ApiKey>, check_token: CheckToken) -> Self {
        Self { keys, check_token }
    }

    /// Knows these keys, and the tokens that the auth API signs, including the legacy API keys.
    pub fn of(keys: Vec<ApiKey>, auth: Arc<App>) -> Self {
        Self::new(keys, Arc::new(move |token, now| auth.keys.verify(token, now).ok()))
    }

    /// The caller that holds this key or token.
    fn holder(&self, credential: &str, now: DateTime<Utc>) -> Option<Caller> {
        self.by_key(credential).or_else(|| by_claims(&(self.check_token)(credential, now)?))
    }

    /// Looks at every key, so that the time taken tells nothing.
    fn by_key(&self, credential: &str) -> Option<Caller> {
        let same = |key: &ApiKey| key.key.reveal().as_bytes().ct_eq(credential.as_bytes());
        let (mut public, mut secret) = (Choice::from(0), Choice::from(0));
        for key in self.keys.iter().filter(|key| !key.key.is_empty()) {
            if key.is_secret {
                secret |= same(key);
            } else {
                public |= same(key);
            }
        }
        match (bool::from(secret), bool::from(public)) {
            (true, _) => Some(Caller::ServiceRole),
            (false, true) => Some(Caller::Anonymous),
            (false, false) => None,
        }
    }
}

impl Verifier for Credentials {
    fn verify(&self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<Caller, Refused> {
        let by_key = match single(headers, "apikey") {
            Found::Nothing => Caller::Nobody,
            Found::Text(key) => self.holder(key, now).ok_or(Refused::Key)?,
            Found::Bad => return Err(Refused::Key),
        };
        match bearer(headers) {
            Found::Nothing => Ok(by_key),
            Found::Text(token) => self.holder(token, now).ok_or(Refused::Token),
            Found::Bad => Err(Refused::Token),
        }
    }
}

enum Found<'a> {
    Nothing,
    Text(&'a str),
    Bad,
}

fn single<'a>(headers: &'a HeaderMap, name: &str) -> Found<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => Found::Nothing,
        (Some(Ok(value)), None) => Found::Text(value),
        _ => Found::Bad,
    }
}

/// The credential of `Authorization: Bearer …`. Another scheme belongs to somebody in between (a staging site's password).
fn bearer(headers: &HeaderMap) -> Found<'_> {
    match single(headers, header::AUTHORIZATION.as_str()) {
        Found::Text(value) => {
            let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
            match scheme.eq_ignore_ascii_case("bearer") {
                true if token.trim().is_empty() => Found::Bad,
                true => Found::Text(token.trim()),
                false => Found::Nothing,
            }
        }
        other => other,
    }
}

/// The caller of verified claims. A token without account and without one of the two roles of API keys is nobody's.
fn by_claims(claims: &Map<String, Value>) -> Option<Caller> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("sub"), text("role")) {
        (Some(id), role) => Some(Caller::User(User {
            id: Uuid::try_parse(id).ok()?,
            email: text("email").map(str::to_owned),
            role: role.unwrap_or_default().to_owned(),
        })),
        (None, Some("service_role")) => Some(Caller::ServiceRole),
        (None, Some("anon")) => Some(Caller::Anonymous),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const USER: &str = "9b5a7ba2-1b3a-4f0e-8a40-0f1f2f3f4f5f";

    fn caller(headers: &[(&'static str, &str)]) -> Result<Caller, Refused> {
        let key = |key: &str, is_secret| ApiKey { key: key.into(), is_secret };
        let check_token = |token: &str, _now| {
            let claims = match token {
                "user" => json!({ "sub": USER, "email": "ada@example.com", "role": "authenticated" }),
                "guest" => json!({ "sub": USER, "email": "", "role": "authenticated" }),
                "anon" => json!({ "role": "anon" }),
                "service" => json!({ "role": "service_role" }),
                "stranger" => json!({ "sub": "not-a-uuid", "role": "authenticated" }),
                "empty" => json!({}),
                _ => return None,
            };
            claims.as_object().cloned()
        };
        let keys = vec![key("sb_publishable_1", false), key("sb_secret_1", true), key("", true)];
        let headers =
            headers.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        Credentials::new(keys, Arc::new(check_token)).verify(&headers.collect(), DateTime::UNIX_EPOCH)
    }

    fn user(email: Option<&str>) -> Caller {
        let id = USER.parse().expect("a UUID");
        Caller::User(User { id, email: email.map(str::to_owned), role: "authenticated".to_owned() })
    }

    #[test]
    fn callers_are_told_by_key_and_token() {
        let cases = [
            (vec![], Ok(Caller::Nobody)),
            (vec![("apikey", "sb_publishable_1")], Ok(Caller::Anonymous)),
            (vec![("apikey", "sb_secret_1")], Ok(Caller::ServiceRole)),
            (vec![("apikey", "anon")], Ok(Caller::Anonymous)),
            (vec![("authorization", "Bearer sb_publishable_1")], Ok(Caller::Anonymous)),
            (vec![("authorization", "bearer service")], Ok(Caller::ServiceRole)),
            (vec![("authorization", "Bearer user"), ("apikey", "sb_publishable_1")], Ok(user(Some("ada@example.com")))),
            (vec![("authorization", "Bearer guest")], Ok(user(None))),
            (vec![("authorization", "Basic c3RhZ2U6")], Ok(Caller::Nobody)),
        ];
        for (headers, expected) in cases {
            assert_eq!(caller(&headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_bad_key_or_token_is_refused_whatever_else_is_there() {
        let cases = [
            (vec![("authorization", "Bearer expired"), ("apikey", "sb_publishable_1")], Refused::Token),
            (vec![("authorization", "Bearer "), ("apikey", "sb_publishable_1")], Refused::Token),
            (vec![("authorization", "Bearer")], Refused::Token),
            (vec![("authorization", "Bearer user"), ("authorization", "Bearer anon")], Refused::Token),
            (vec![("authorization", "Bearer stranger")], Refused::Token),
            (vec![("authorization", "Bearer empty")], Refused::Token),
            (vec![("authorization", "Bearer user"), ("apikey", "sb_publishable_2")], Refused::Key),
            (vec![("apikey", "")], Refused::Key),
            (vec![("apikey", "sb_publishable_1"), ("apikey", "sb_secret_1")], Refused::Key),
        ];
        for (headers, expected) in cases {
            assert_eq!(caller(&headers), Err(expected), "{headers:?}");
        }
    }
}
