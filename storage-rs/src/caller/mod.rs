//! Who sends a request: tokens, keys and the claims that policies see.

pub mod keys;
pub mod signed_url;
pub mod token_check;

use http::HeaderMap;
use serde_json::{Map, Value};

use crate::error::Error;
use keys::Keys;
use token_check::TokenCheck;

/// The role of requests without a role.
const ANONYMOUS: &str = "anon";

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The role of the database.
    pub role: String,
    /// The claim `sub`: the owner of what the caller creates.
    pub owner: Option<String>,
    /// The claims as JSON.
    pub claims: String,
    pub token: String,
    /// Whether the token was verified.
    pub is_authenticated: bool,
}

impl Caller {
    /// A request without a verified token.
    pub fn anonymous() -> Self {
        Self {
            role: ANONYMOUS.to_owned(),
            owner: None,
            claims: r#"{"role":"anon"}"#.to_owned(),
            token: String::new(),
            is_authenticated: false,
        }
    }

    /// The server itself: row security does not apply.
    pub fn service(role: &str) -> Self {
        Self {
            role: role.to_owned(),
            owner: None,
            claims: serde_json::json!({ "role": role }).to_string(),
            token: String::new(),
            is_authenticated: true,
        }
    }

    /// The caller with these verified claims.
    pub fn from_claims(claims: &Map<String, Value>, token: &str) -> Self {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            // A token without a role has the rights of `anon`, so that the token of a signed URL is no key.
            role: text("role").filter(|role| !role.is_empty()).unwrap_or_else(|| ANONYMOUS.to_owned()),
            owner: text("sub").filter(|owner| !owner.is_empty()),
            claims: Value::Object(claims.clone()).to_string(),
            token: token.to_owned(),
            is_authenticated: true,
        }
    }

    /// Verifies a token, which the check must accept. Every token of a header, a query and a session of the S3 protocol
    /// comes here.
    ///
    /// # Errors
    /// 403 with the reason.
    pub fn authenticate(keys: &Keys, check: Option<&TokenCheck>, token: &str, now: i64) -> Result<Self, Error> {
        let claims = keys.verify(token, now).map_err(Error::access_denied)?;
        if let Some(check) = check {
            check.judge(&claims).map_err(Error::access_denied)?;
        }
        if claims.get("role").is_some_and(|role| !role.is_string() && !role.is_null()) {
            return Err(Error::role_refused());
        }
        if claims.get("role").and_then(Value::as_str) == Some("none") {
            // PostgreSQL would stay at the role of the connection.
            return Err(Error::access_denied("role \"none\" does not exist"));
        }
        Ok(Self::from_claims(&claims, token))
    }
}

/// The token of the header `Authorization`, with or without the scheme; empty when there is none.
pub fn find_token(headers: &HeaderMap) -> &str {
    let header = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match header.split_at_checked(6) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") && rest.starts_with(char::is_whitespace) => {
            rest.trim_start()
        }
        _ => header,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn token_is_found_with_and_without_scheme() {
        for (header, token) in [
            ("Bearer a.b.c", "a.b.c"),
            ("bearer  a.b.c", "a.b.c"),
            ("a.b.c", "a.b.c"),
            ("Bearerx", "Bearerx"),
            ("", ""),
        ] {
            let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, HeaderValue::from_static(header))]);
            assert_eq!(find_token(&headers), token, "{header}");
        }
        assert_eq!(find_token(&HeaderMap::new()), "");
    }

    #[test]
    fn token_without_role_is_anonymous() {
        let claims = serde_json::json!({"sub": "a", "url": "b/c"});
        let caller = Caller::from_claims(claims.as_object().unwrap(), "t");
        assert_eq!((caller.role.as_str(), caller.owner.as_deref()), ("anon", Some("a")));
    }
}
