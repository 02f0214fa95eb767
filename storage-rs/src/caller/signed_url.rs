//! The tokens of signed URLs: each is for one object and one action.

use serde_json::{Map, Value, json};

use super::keys::Keys;
use crate::error::Error;

/// The last second that JavaScript can count in milliseconds: the end of the latest token.
const LAST_SECOND: i64 = 9_007_199_254_740;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Reading the object.
    Download,
    /// Writing the object.
    Upload,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }

    /// Whether a token is for this. Tokens from before there were scopes are for uploads if they have the claim `upsert`.
    fn covers(self, claims: &Map<String, Value>) -> bool {
        match claims.get("scope") {
            Some(scope) => *scope == self.name(),
            None => claims.contains_key("upsert") == (self == Self::Upload),
        }
    }
}

/// Signs a token for an object, named by bucket and name with a slash between.
///
/// # Errors
/// The token would live longer than a date can be.
pub fn sign(
    keys: &Keys,
    scope: Scope,
    object: &str,
    more: Map<String, Value>,
    lifetime: i64,
    now: i64,
) -> Result<String, Error> {
    let end = now.checked_add(lifetime).filter(|end| lifetime >= 1 && *end <= LAST_SECOND);
    let end = end.ok_or_else(|| Error::invalid_parameter("expiresIn"))?;
    let mut claims = more;
    // The signer chooses neither the object nor the action, and never a role.
    claims.remove("role");
    claims.insert("url".to_owned(), json!(object));
    claims.insert("scope".to_owned(), json!(scope.name()));
    claims.insert("iat".to_owned(), json!(now));
    claims.insert("exp".to_owned(), json!(end));
    keys.sign_url(&claims).map_err(Error::internal)
}

/// Verifies the token of a signed URL.
///
/// # Errors
/// 400: it cannot be verified, is for another action or object, or has no end.
pub fn verify(keys: &Keys, token: &str, scope: Scope, object: &str, now: i64) -> Result<Map<String, Value>, Error> {
    let claims = keys.verify_url(token, now).map_err(Error::invalid_jwt)?;
    if !scope.covers(&claims) {
        return Err(Error::invalid_signature(format!("Token is not scoped for {}", scope.name())));
    }
    if claims.get("url").and_then(Value::as_str) != Some(object) {
        return Err(Error::invalid_signature("Invalid signature"));
    }
    // Every token of this server ends: one without an end is a token of something else.
    if !claims.get("exp").is_some_and(Value::is_number) {
        return Err(Error::invalid_jwt("missing required \"exp\" claim"));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn token_is_for_one_action_and_one_object() {
        let keys = Keys::new("secret", &[]).unwrap();
        let claims = json!({"role": "service_role", "url": "x", "scope": "upload", "transformations": "width:3"});
        let token = sign(&keys, Scope::Download, "b/a.txt", claims.as_object().unwrap().clone(), 60, 1000).unwrap();
        let verified = verify(&keys, &token, Scope::Download, "b/a.txt", 1059).unwrap();
        assert_eq!(
            Value::Object(verified),
            json!({"url": "b/a.txt", "scope": "download", "transformations": "width:3", "iat": 1000, "exp": 1060})
        );
        let refused = |scope, object, now| verify(&keys, &token, scope, object, now).unwrap_err();
        assert_eq!(refused(Scope::Upload, "b/a.txt", 1000).code, Code::InvalidSignature);
        assert_eq!(refused(Scope::Download, "b/b.txt", 1000).code, Code::InvalidSignature);
        assert_eq!(refused(Scope::Download, "b/a.txt", 1060).code, Code::InvalidJWT);
    }

    #[test]
    fn tokens_without_scope_are_told_apart_by_upsert() {
        let keys = Keys::new("secret", &[]).unwrap();
        let upload = keys.sign(json!({"url": "b/a", "upsert": false, "exp": 9}).as_object().unwrap()).unwrap();
        let download = keys.sign(json!({"url": "b/a", "exp": 9}).as_object().unwrap()).unwrap();
        assert!(verify(&keys, &upload, Scope::Upload, "b/a", 0).is_ok());
        assert!(verify(&keys, &upload, Scope::Download, "b/a", 0).is_err());
        assert!(verify(&keys, &download, Scope::Download, "b/a", 0).is_ok());
        assert!(verify(&keys, &download, Scope::Upload, "b/a", 0).is_err());
    }

    #[test]
    fn token_without_an_end_is_refused() {
        let keys = Keys::new("secret", &[]).unwrap();
        let token = keys.sign(json!({"url": "b/a"}).as_object().unwrap()).unwrap();
        let refused = verify(&keys, &token, Scope::Download, "b/a", 0).unwrap_err();
        assert_eq!((refused.code, refused.message.as_ref()), (Code::InvalidJWT, "missing required \"exp\" claim"));
    }

    #[test]
    fn lifetime_is_limited() {
        let keys = Keys::new("secret", &[]).unwrap();
        for lifetime in [0, -1, i64::MAX, 99_999_999_999_999] {
            assert!(sign(&keys, Scope::Download, "b/a", Map::new(), lifetime, 1000).is_err(), "{lifetime}");
        }
    }
}
