//! What a verified token of this project may be used for outside the auth API.

use serde_json::{Map, Value};

use super::scope::contains_scope;

/// What a token of this project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse<'a> {
    /// A legacy API key: a role without a user.
    ApiKey(&'a str),
    /// An access token of a user's own session.
    User,
    /// An access token of an OAuth client, with its scopes.
    Client(&'a str),
    /// A token without user, role and client, which services give the rights of visitors.
    Visitor,
    /// No access token, such as an ID token, which tells a client who the user is.
    Other,
}

/// Returns what verified claims are those of.
///
/// An ID token names a client and no session. The operator may sign access tokens without a session.
pub fn classify_token(claims: &Map<String, Value>) -> TokenUse<'_> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("client_id"), text("session_id"), text("sub"), text("role")) {
        (Some(_), Some(_), Some(_), _) => TokenUse::Client(text("scope").unwrap_or_default()),
        (None, _, Some(_), _) => TokenUse::User,
        (None, _, None, Some(role)) => TokenUse::ApiKey(role),
        (None, _, None, None) => TokenUse::Visitor,
        (Some(_), ..) => TokenUse::Other,
    }
}

impl TokenUse<'_> {
    /// Whether the token opens the service of that name.
    ///
    /// A client's token needs the scope of the service (see [`super::scope::SERVICES`]).
    pub fn opens_service(self, service: &str) -> bool {
        match self {
            Self::ApiKey(_) | Self::User | Self::Visitor => true,
            Self::Client(scopes) => contains_scope(scopes, service),
            Self::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_classified_by_their_claims() {
        for (claims, expected, opens) in [
            (json!({"role": "anon"}), TokenUse::ApiKey("anon"), true),
            (json!({"sub": "u", "session_id": "s", "role": "authenticated"}), TokenUse::User, true),
            (json!({"sub": "u", "role": "authenticated"}), TokenUse::User, true),
            (
                json!({"sub": "u", "session_id": "s", "client_id": "c", "scope": "openid"}),
                TokenUse::Client("openid"),
                false,
            ),
            (json!({"sub": "u", "session_id": "s", "client_id": "c"}), TokenUse::Client(""), false),
            (
                json!({"sub": "u", "session_id": "s", "client_id": "c", "scope": "a rest"}),
                TokenUse::Client("a rest"),
                true,
            ),
            (json!({"sub": "u", "client_id": "c", "aud": "c", "scope": "rest"}), TokenUse::Other, false),
            (json!({"role": "authenticated", "client_id": "c"}), TokenUse::Other, false),
            (json!({"sub": ""}), TokenUse::Visitor, true),
            (json!({}), TokenUse::Visitor, true),
        ] {
            let claims = claims.as_object().expect("an object");
            assert_eq!(classify_token(claims), expected, "{claims:?}");
            assert_eq!(classify_token(claims).opens_service("rest"), opens, "{claims:?}");
        }
    }
}
