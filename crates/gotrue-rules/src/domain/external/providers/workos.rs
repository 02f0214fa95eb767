//! `WorkOS`. The token response contains the profile.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientScopes, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::names::full_name;
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

const HOST: &str = "api.workos.com";

#[derive(Debug)]
pub(super) struct WorkOs;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    connection_id: String,
    organization_id: String,
    email: String,
    first_name: String,
    last_name: String,
}

impl Provider for WorkOs {
    fn name(&self) -> &'static str {
        "workos"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, HOST);
        let place = ProviderConfig::oauth2(format!("{host}/sso/authorize"), format!("{host}/sso/token"), &[]);
        ProviderConfig { client_scopes: ClientScopes::Ignore, ..place }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let profile = known.token.members.get("profile").cloned().unwrap_or_default();
        let user: UserInfo = decode(&Document::from(profile))?;
        let custom = [("connection_id", json!(user.connection_id)), ("organization_id", json!(user.organization_id))];
        let name = full_name(&user.first_name, &user.last_name);
        let claims = Claims {
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::new(base_url(&known.settings.url, HOST), user.id, name, String::new())
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}
