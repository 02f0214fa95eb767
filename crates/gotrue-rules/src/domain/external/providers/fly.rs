//! Fly.io.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

const HOST: &str = "api.fly.io";

/// Fly.io.
#[derive(Debug)]
pub(super) struct Fly;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    resource_owner_id: String,
    user_id: String,
    user_name: String,
    email: String,
    organizations: Option<Vec<Organization>>,
    scope: Option<Vec<String>>,
    application: Option<BTreeMap<String, String>>,
    created_at: i64,
    // Only the type is checked.
    expires_in: i64,
}

#[derive(Deserialize, Serialize, Default)]
#[serde(default)]
struct Organization {
    id: String,
    role: String,
}

impl Provider for Fly {
    fn name(&self) -> &'static str {
        "fly"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, HOST);
        ProviderConfig::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &["read"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let host = base_url(&known.settings.url, HOST);
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{host}/oauth/token/info"))) };
        let user: UserInfo = decode(user)?;
        let custom = [
            ("resource_owner_id", json!(user.resource_owner_id)),
            ("organizations", json!(user.organizations)),
            ("application", json!(user.application)),
            ("scope", json!(user.scope)),
            ("created_at", json!(user.created_at)),
        ];
        let claims = Claims {
            issuer: host,
            subject: user.user_id.clone(),
            provider_id: user.user_id,
            full_name: user.user_name,
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::default()
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}
