//! Fly.io.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const HOST: &str = "api.fly.io";

/// Fly.io.
#[derive(Debug)]
pub struct Fly;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    resource_owner_id: String,
    user_id: String,
    user_name: String,
    email: String,
    organizations: Option<Vec<Organization>>,
    scope: Option<Vec<String>>,
    application: Option<BTreeMap<String, String>>,
    created_at: i64,
    // Only its type counts.
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, HOST);
        Place::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &["read"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let host = base(&known.settings.url, HOST);
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{host}/oauth/token/info"))) };
        let person: Person = read(person)?;
        let custom = [
            ("resource_owner_id", json!(person.resource_owner_id)),
            ("organizations", json!(person.organizations)),
            ("application", json!(person.application)),
            ("scope", json!(person.scope)),
            ("created_at", json!(person.created_at)),
        ];
        let claims = Claims {
            issuer: host,
            subject: person.user_id.clone(),
            provider_id: person.user_id,
            full_name: person.user_name,
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::default()
        };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}
