//! Token responses: tokens with their user.

use serde::Serialize;

use super::user::UserJson;

/// The response of a grant.
#[derive(Debug, Serialize)]
pub struct SessionJson<'a> {
    /// The signed access token.
    pub access_token: &'a str,
    /// Always `bearer`.
    pub token_type: &'static str,
    /// Seconds until the access token expires.
    pub expires_in: i64,
    /// Expiry of the access token, seconds since the epoch.
    pub expires_at: i64,
    pub refresh_token: &'a str,
    pub user: UserJson<'a>,
    /// The provider's access token, returned once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_token: Option<&'a str>,
    /// The provider's refresh token, returned once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_refresh_token: Option<&'a str>,
    /// Only in the password grant: why the current rules reject the password, else `null`.
    #[serde(skip_serializing_if = "PasswordStrength::is_unchecked")]
    pub weak_password: PasswordStrength<'a>,
}

/// Whether the current strength rules accept the password of a grant.
#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
pub enum PasswordStrength<'a> {
    /// The grant has no password; the member is absent.
    #[default]
    Unchecked,
    /// The rules accept it: `null`.
    Sufficient,
    /// The rules reject it.
    Weak(WeakPasswordJson<'a>),
}

impl PasswordStrength<'_> {
    fn is_unchecked(&self) -> bool {
        matches!(self, Self::Unchecked)
    }
}

/// Why the current strength rules reject a correct password.
#[derive(Debug, Serialize)]
pub struct WeakPasswordJson<'a> {
    /// The messages, joined by a space.
    pub message: &'a str,
    /// `length`, `characters`, `pwned`.
    pub reasons: &'a [&'static str],
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_a_checked_password_has_the_member() {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "PasswordStrength::is_unchecked")]
            weak_password: PasswordStrength<'a>,
        }
        let member = |weak_password| json!(Body { weak_password }).get("weak_password").cloned();
        let weak = WeakPasswordJson { message: "Too short.", reasons: &["length"] };
        assert_eq!(member(PasswordStrength::Unchecked), None);
        assert_eq!(member(PasswordStrength::Sufficient), Some(Value::Null));
        let shown = json!({"message": "Too short.", "reasons": ["length"]});
        assert_eq!(member(PasswordStrength::Weak(weak)), Some(shown));
    }
}
