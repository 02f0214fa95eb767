//! A factor as JSON (`endpoints.md` §2.3).

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::time;
use crate::domain::user::{Factor, Time};

/// An entry of an account's `factors`.
#[derive(Debug, Serialize)]
pub struct FactorJson<'a> {
    id: Uuid,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    friendly_name: &'a str,
    factor_type: &'a str,
    phone: &'a str,
    #[serde(serialize_with = "time::serialize_option")]
    last_challenged_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_authn_aaguid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_webauthn_challenge_data: Option<&'a Value>,
}

impl<'a> From<&'a Factor> for FactorJson<'a> {
    fn from(factor: &'a Factor) -> Self {
        Self {
            id: factor.id,
            created_at: factor.created_at,
            updated_at: factor.updated_at,
            status: &factor.status,
            friendly_name: &factor.friendly_name,
            factor_type: &factor.factor_type,
            phone: &factor.phone,
            last_challenged_at: factor.last_challenged_at,
            web_authn_aaguid: factor.web_authn_aaguid,
            last_webauthn_challenge_data: factor.last_webauthn_challenge_data.as_ref(),
        }
    }
}
