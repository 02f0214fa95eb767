//! Authentication of function calls: none, an API key, or the access token of a user.
//! An invalid key or token is rejected; it never makes the caller anonymous.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use gotrue_rules::domain::oauth_server::token_use::{TokenUse, classify_token};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use http_edge::request::{APIKEY, ApiKeyRing, ApiKeyRole, BearerWhitespace, HeaderText, single_header};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The OAuth scope that opens functions to the token of a client.
const SERVICE_SCOPE: &str = "functions";

/// The authenticated caller of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    /// No key and no token.
    Unauthenticated,
    /// The public key (publishable or legacy `anon`).
    Anonymous,
    /// The secret key (`sb_secret_…` or legacy `service_role`): a server of the operator.
    ServiceRole,
    /// A user with a valid access token.
    User(User),
}

/// The user of an access token.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// Claim `sub`.
    pub id: Uuid,
    /// Claim `session_id`.
    pub session_id: Option<Uuid>,
    /// Claim `email`, unless empty.
    pub email: Option<String>,
    /// Claim `role`.
    pub role: String,
}

impl User {
    /// Returns the user of the verified claims of an access token; `None` without `sub`, and for malformed ids.
    pub fn from_claims(claims: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some(Self {
            id: Uuid::try_parse(text("sub")?).ok()?,
            session_id: text("session_id").map(Uuid::try_parse).transpose().ok()?.filter(|id| !id.is_nil()),
            email: text("email").map(str::to_owned),
            role: text("role").unwrap_or_default().to_owned(),
        })
    }
}

/// Why authentication failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthenticationError {
    /// The function requires a token or key, and there is none.
    Missing,
    /// The token is malformed, expired, or signed by another issuer.
    Token,
    /// The API key is unknown.
    Key,
    /// The token was issued to an OAuth client without the scope `functions`.
    Scope,
    /// The user of the token is deleted or banned, or its session has ended.
    Session,
}

impl AuthenticationError {
    /// Returns the error code of Supabase's gateway.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "UNAUTHORIZED_NO_AUTH_HEADER",
            Self::Token => "UNAUTHORIZED_INVALID_JWT_FORMAT",
            Self::Key => "UNAUTHORIZED_INVALID_API_KEY",
            Self::Scope => "FORBIDDEN_INSUFFICIENT_SCOPE",
            Self::Session => "UNAUTHORIZED_SESSION_ENDED",
        }
    }

    /// Returns the message for the client.
    pub fn message(self) -> &'static str {
        match self {
            Self::Missing => "Missing authorization header",
            Self::Token => "Invalid JWT",
            Self::Key => "Invalid API key",
            Self::Scope => "An OAuth client needs the scope functions",
            Self::Session => "The session of the token has ended. Sign in again",
        }
    }

    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        if self == Self::Scope { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED }
    }
}

/// Authenticates callers by the headers of a call.
pub trait Verifier: Send + Sync + 'static {
    /// Authenticates a caller at the time `now`.
    ///
    /// # Errors
    /// There is an invalid key or token.
    fn verify(&self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<Caller, AuthenticationError>;
}

/// Returns the claims of an access token that is valid at the given time.
pub type CheckToken = Arc<dyn Fn(&str, DateTime<Utc>) -> Option<Arc<Map<String, Value>>> + Send + Sync>;

/// Authenticates callers by a list of API keys and by signed tokens.
#[derive(Clone)]
pub struct CredentialVerifier {
    keys: ApiKeyRing,
    check_token: CheckToken,
}

impl fmt::Debug for CredentialVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl CredentialVerifier {
    /// Accepts these keys, and tokens that `check_token` accepts.
    /// Legacy API keys are tokens, so they need not be listed.
    pub fn new(keys: ApiKeyRing, check_token: CheckToken) -> Self {
        Self { keys, check_token }
    }

    /// Returns the caller that a key or token identifies.
    ///
    /// # Errors
    /// Returns `unknown` for a key or token that is not one of this project, [`AuthenticationError::Scope`] for the token
    /// of an OAuth client that may not call functions.
    fn find_caller(
        &self,
        credential: &str,
        now: DateTime<Utc>,
        unknown: AuthenticationError,
    ) -> Result<Caller, AuthenticationError> {
        match self.keys.find_role(credential) {
            Some(ApiKeyRole::Service) => Ok(Caller::ServiceRole),
            Some(ApiKeyRole::Anon) => Ok(Caller::Anonymous),
            None => {
                let claims = (self.check_token)(credential, now).ok_or(unknown)?;
                let token = classify_token(&claims);
                if matches!(token, TokenUse::Client(_)) && !token.opens_service(SERVICE_SCOPE) {
                    return Err(AuthenticationError::Scope);
                }
                caller_from_claims(&claims, token).ok_or(unknown)
            }
        }
    }
}

impl Verifier for CredentialVerifier {
    fn verify(&self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<Caller, AuthenticationError> {
        let by_key = match single_header(headers, &APIKEY) {
            HeaderText::Missing => Caller::Unauthenticated,
            HeaderText::Present(key) => self.find_caller(key, now, AuthenticationError::Key)?,
            HeaderText::Invalid => return Err(AuthenticationError::Key),
        };
        match single_header(headers, &AUTHORIZATION).bearer(BearerWhitespace::Trimmed) {
            HeaderText::Missing => Ok(by_key),
            HeaderText::Present(token) => self.find_caller(token, now, AuthenticationError::Token),
            HeaderText::Invalid => Err(AuthenticationError::Token),
        }
    }
}

/// Returns the caller of verified claims; `None` for an ID token, for malformed ids and for roles of no API key.
fn caller_from_claims(claims: &Map<String, Value>, token: TokenUse<'_>) -> Option<Caller> {
    match token {
        TokenUse::User | TokenUse::Client(_) => User::from_claims(claims).map(Caller::User),
        TokenUse::ApiKey("service_role") => Some(Caller::ServiceRole),
        TokenUse::ApiKey("anon") => Some(Caller::Anonymous),
        TokenUse::ApiKey(_) | TokenUse::Visitor | TokenUse::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const USER: &str = "9b5a7ba2-1b3a-4f0e-8a40-0f1f2f3f4f5f";

    fn caller(headers: &[(&'static str, &str)]) -> Result<Caller, AuthenticationError> {
        let check_token = |token: &str, _now| {
            let claims = match token {
                "user" => json!({ "sub": USER, "email": "ada@example.com", "role": "authenticated" }),
                "guest" => json!({ "sub": USER, "email": "", "role": "authenticated" }),
                "anon" => json!({ "role": "anon" }),
                "service" => json!({ "role": "service_role" }),
                "stranger" => json!({ "sub": "not-a-uuid", "role": "authenticated" }),
                "empty" => json!({}),
                "id-token" => json!({ "sub": USER, "aud": USER, "client_id": USER, "scope": "functions" }),
                "client" => json!({ "sub": USER, "session_id": USER, "client_id": USER, "scope": "openid email" }),
                "calling-client" => {
                    json!({ "sub": USER, "session_id": USER, "client_id": USER, "scope": "functions" })
                }
                "odd-session" => json!({ "sub": USER, "session_id": "x" }),
                _ => return None,
            };
            claims.as_object().cloned().map(Arc::new)
        };
        let keys = ApiKeyRing::new([
            ("sb_publishable_1", ApiKeyRole::Anon),
            ("sb_secret_1", ApiKeyRole::Service),
            ("", ApiKeyRole::Service),
        ]);
        let headers =
            headers.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        CredentialVerifier::new(keys, Arc::new(check_token)).verify(&headers.collect(), DateTime::UNIX_EPOCH)
    }

    fn user(email: Option<&str>) -> Caller {
        let id = USER.parse().expect("a UUID");
        Caller::User(User { id, session_id: None, email: email.map(str::to_owned), role: "authenticated".to_owned() })
    }

    #[test]
    fn caller_is_identified_by_key_or_token() {
        let cases = [
            (vec![], Ok(Caller::Unauthenticated)),
            (vec![("apikey", "sb_publishable_1")], Ok(Caller::Anonymous)),
            (vec![("apikey", "sb_secret_1")], Ok(Caller::ServiceRole)),
            (vec![("apikey", "anon")], Ok(Caller::Anonymous)),
            (vec![("authorization", "Bearer sb_publishable_1")], Ok(Caller::Anonymous)),
            (vec![("authorization", "bearer service")], Ok(Caller::ServiceRole)),
            (vec![("authorization", "Bearer user"), ("apikey", "sb_publishable_1")], Ok(user(Some("ada@example.com")))),
            (vec![("authorization", "Bearer guest")], Ok(user(None))),
            (vec![("authorization", "Basic c3RhZ2U6")], Ok(Caller::Unauthenticated)),
        ];
        for (headers, expected) in cases {
            assert_eq!(caller(&headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn client_with_the_scope_calls_as_its_user() {
        let id = Uuid::try_parse(USER).expect("a UUID");
        let expected = User { id, session_id: Some(id), email: None, role: String::new() };
        assert_eq!(caller(&[("authorization", "Bearer calling-client")]), Ok(Caller::User(expected)));
    }

    #[test]
    fn invalid_key_or_token_is_rejected() {
        let cases = [
            (vec![("authorization", "Bearer expired"), ("apikey", "sb_publishable_1")], AuthenticationError::Token),
            (vec![("authorization", "Bearer "), ("apikey", "sb_publishable_1")], AuthenticationError::Token),
            (vec![("authorization", "Bearer")], AuthenticationError::Token),
            (vec![("authorization", "Bearer user"), ("authorization", "Bearer anon")], AuthenticationError::Token),
            (vec![("authorization", "Bearer stranger")], AuthenticationError::Token),
            (vec![("authorization", "Bearer empty")], AuthenticationError::Token),
            (vec![("authorization", "Bearer id-token")], AuthenticationError::Token),
            (vec![("authorization", "Bearer odd-session")], AuthenticationError::Token),
            (vec![("apikey", "id-token")], AuthenticationError::Key),
            (vec![("authorization", "Bearer client"), ("apikey", "sb_publishable_1")], AuthenticationError::Scope),
            (vec![("authorization", "Bearer user"), ("apikey", "sb_publishable_2")], AuthenticationError::Key),
            (vec![("apikey", "")], AuthenticationError::Key),
            (vec![("apikey", "sb_publishable_1"), ("apikey", "sb_secret_1")], AuthenticationError::Key),
        ];
        for (headers, expected) in cases {
            assert_eq!(caller(&headers), Err(expected), "{headers:?}");
        }
    }
}
