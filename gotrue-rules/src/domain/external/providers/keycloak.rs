//! Keycloak: the operator names the realm's address. All it says of a person is kept.

use serde_json::Value;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base};
use crate::domain::policy::ExternalProvider;

/// Keycloak.
#[derive(Debug)]
pub struct Keycloak;

impl Provider for Keycloak {
    fn name(&self) -> &'static str {
        "keycloak"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let realm = realm(settings);
        Place::oauth2(
            format!("{realm}/protocol/openid-connect/auth"),
            format!("{realm}/protocol/openid-connect/token"),
            &["profile", "email"],
        )
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let realm = realm(known.settings);
        let [person, ..] = known.answers else {
            return Ok(Step::fetch(format!("{realm}/protocol/openid-connect/userinfo")));
        };
        let mut person = person.to_map()?;
        // One of another type counts as absent.
        let mut take = |name: &str| match person.shift_remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (name, id, email) = (take("name"), take("sub"), take("email"));
        let verified = person.shift_remove("email_verified") == Some(Value::Bool(true));
        let claims = Claims { custom_claims: Some(person), ..Claims::of(realm, id, name, String::new()) };
        Ok(Step::done(ProviderEmail::only(email, verified), claims))
    }

    fn lacks(&self, settings: &ExternalProvider) -> Option<&'static str> {
        settings.url.is_empty().then_some("unable to find URL for the Keycloak provider")
    }
}

fn realm(settings: &ExternalProvider) -> String {
    base(&settings.url, "")
}
