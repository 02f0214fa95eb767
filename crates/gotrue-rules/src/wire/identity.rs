//! An identity as JSON.

use foundation::time::Time;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::time;
use crate::domain::user::Identity;

/// An entry of a user's `identities`.
#[derive(Debug, Serialize)]
pub struct IdentityJson<'a> {
    identity_id: Uuid,
    id: &'a str,
    user_id: Uuid,
    #[serde(skip_serializing_if = "Map::is_empty")]
    identity_data: &'a Map<String, Value>,
    provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize_option")]
    last_sign_in_at: Option<Time>,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
}

impl<'a> From<&'a Identity> for IdentityJson<'a> {
    fn from(identity: &'a Identity) -> Self {
        Self {
            identity_id: identity.id,
            id: &identity.provider_id,
            user_id: identity.user_id,
            identity_data: &identity.identity_data,
            provider: &identity.provider,
            last_sign_in_at: identity.last_sign_in_at,
            created_at: identity.created_at,
            updated_at: identity.updated_at,
            email: identity.email.as_deref().filter(|email| !email.is_empty()),
        }
    }
}
