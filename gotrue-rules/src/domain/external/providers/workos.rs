//! `WorkOS`, which puts the person into the answer to the code.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, NamedScopes, Place, Provider, Step, base, read};
use super::full_name;
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

const HOST: &str = "api.workos.com";

/// `WorkOS`.
#[derive(Debug)]
pub struct WorkOs;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, HOST);
        let place = Place::oauth2(format!("{host}/sso/authorize"), format!("{host}/sso/token"), &[]);
        Place { named_scopes: NamedScopes::Ignored, ..place }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let profile = known.token.members.get("profile").cloned().unwrap_or_default();
        let person: Person = read(&Document::from(profile))?;
        let custom =
            [("connection_id", json!(person.connection_id)), ("organization_id", json!(person.organization_id))];
        let name = full_name(&person.first_name, &person.last_name);
        let claims = Claims {
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::of(base(&known.settings.url, HOST), person.id, name, String::new())
        };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}
