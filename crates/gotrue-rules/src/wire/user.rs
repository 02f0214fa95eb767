//! Users as JSON.

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::factor::FactorJson;
use super::identity::IdentityJson;
use super::time;
use crate::domain::user::{Time, User};

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
    fn from(account: &'a User) -> Self {
        Self {
            id: account.id,
            aud: &account.aud,
            role: &account.role,
            email: account.email.as_deref().unwrap_or_default(),
            email_confirmed_at: account.email_confirmed_at,
            invited_at: account.invited_at,
            phone: account.phone.as_deref().unwrap_or_default(),
            phone_confirmed_at: account.phone_confirmed_at,
            confirmation_sent_at: account.confirmation_sent_at,
            confirmed_at: account.confirmed_at,
            recovery_sent_at: account.recovery_sent_at,
            new_email: &account.email_change,
            email_change_sent_at: account.email_change_sent_at,
            new_phone: &account.phone_change,
            phone_change_sent_at: account.phone_change_sent_at,
            reauthentication_sent_at: account.reauthentication_sent_at,
            last_sign_in_at: account.last_sign_in_at,
            app_metadata: &account.app_metadata,
            user_metadata: Some(&account.user_metadata),
            factors: account.factors.iter().map(FactorJson::from).collect(),
            identities: Some(account.identities.iter().map(IdentityJson::from).collect()),
            created_at: account.created_at,
            updated_at: account.updated_at,
            banned_until: account.banned_until,
            deleted_at: account.deleted_at,
            is_anonymous: account.is_anonymous,
        }
    }
}

impl<'a> UserJson<'a> {
    /// Builds an entry of a list, which has no identities (`null`) and no factors (absent).
    pub fn in_list(account: &'a User) -> Self {
        Self { identities: None, factors: Vec::new(), ..Self::from(account) }
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
        let account = User::default();
        let json = serde_json::to_value(UserJson::from(&account)).unwrap();
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
