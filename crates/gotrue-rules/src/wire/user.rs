//! Users as JSON.

use foundation::time::Time;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::factor::FactorJson;
use super::identity::IdentityJson;
use super::time;
use crate::domain::user::User;

/// The response of `GET /user`, and the member `user` of a token response.
#[derive(Debug, Serialize)]
pub struct UserJson<'a> {
    id: Uuid,
    aud: &'a str,
    role: &'a str,
    email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    email_confirmed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    invited_at: Option<Time>,
    phone: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    phone_confirmed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    confirmation_sent_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    confirmed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    recovery_sent_at: Option<Time>,
    #[serde(skip_serializing_if = "str::is_empty")]
    new_email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    email_change_sent_at: Option<Time>,
    #[serde(skip_serializing_if = "str::is_empty")]
    new_phone: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    phone_change_sent_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    reauthentication_sent_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    last_sign_in_at: Option<Time>,
    app_metadata: &'a Map<String, Value>,
    user_metadata: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    factors: Vec<FactorJson<'a>>,
    identities: Option<Vec<IdentityJson<'a>>>,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    banned_until: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    deleted_at: Option<Time>,
    is_anonymous: bool,
}

impl<'a> From<&'a User> for UserJson<'a> {
    fn from(user: &'a User) -> Self {
        Self {
            id: user.id,
            aud: &user.aud,
            role: &user.role,
            email: user.email.as_deref().unwrap_or_default(),
            email_confirmed_at: user.email_confirmed_at,
            invited_at: user.invited_at,
            phone: user.phone.as_deref().unwrap_or_default(),
            phone_confirmed_at: user.phone_confirmed_at,
            confirmation_sent_at: user.confirmation_sent_at,
            confirmed_at: user.confirmed_at,
            recovery_sent_at: user.recovery_sent_at,
            new_email: &user.email_change,
            email_change_sent_at: user.email_change_sent_at,
            new_phone: &user.phone_change,
            phone_change_sent_at: user.phone_change_sent_at,
            reauthentication_sent_at: user.reauthentication_sent_at,
            last_sign_in_at: user.last_sign_in_at,
            app_metadata: &user.app_metadata,
            user_metadata: Some(&user.user_metadata),
            factors: user.factors.iter().map(FactorJson::from).collect(),
            identities: Some(user.identities.iter().map(IdentityJson::from).collect()),
            created_at: user.created_at,
            updated_at: user.updated_at,
            banned_until: user.banned_until,
            deleted_at: user.deleted_at,
            is_anonymous: user.is_anonymous,
        }
    }
}

impl<'a> UserJson<'a> {
    /// Builds an entry of a list, which has no identities (`null`) and no factors (absent).
    pub fn in_list(user: &'a User) -> Self {
        Self { identities: None, factors: Vec::new(), ..Self::from(user) }
    }

    /// Sets `user_metadata` to `null`.
    #[must_use]
    pub fn without_user_metadata(self) -> Self {
        Self { user_metadata: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimal_user_has_only_mandatory_members() {
        let user = User::default();
        let json = serde_json::to_value(UserJson::from(&user)).unwrap();
        let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let always = [
            "app_metadata",
            "aud",
            "created_at",
            "email",
            "id",
            "identities",
            "is_anonymous",
            "phone",
            "role",
            "updated_at",
            "user_metadata",
        ];
        assert_eq!(names, always);
        assert_eq!(json["identities"], serde_json::json!([]));
    }

    #[test]
    fn user_list_has_no_identities() {
        let json = serde_json::to_value(UserJson::in_list(&User::default())).unwrap();
        assert_eq!(json["identities"], Value::Null);
    }
}
