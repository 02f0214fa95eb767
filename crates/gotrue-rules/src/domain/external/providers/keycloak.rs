//! Keycloak. The operator sets the realm's URL; all unknown claims are kept as custom claims.

use serde_json::Value;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url};
use crate::domain::policy::ExternalProviderSettings;

#[derive(Debug)]
pub(super) struct Keycloak;

impl Provider for Keycloak {
    fn name(&self) -> &'static str {
        "keycloak"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let realm = realm_url(settings);
        ProviderConfig::oauth2(
            format!("{realm}/protocol/openid-connect/auth"),
            format!("{realm}/protocol/openid-connect/token"),
            &["profile", "email"],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let realm = realm_url(known.settings);
        let [user, ..] = known.responses else {
            return Ok(ProfileStep::fetch(format!("{realm}/protocol/openid-connect/userinfo")));
        };
        let mut user = user.to_map()?;
        // A member of another type counts as absent.
        let mut take = |name: &str| match user.shift_remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (name, id, email) = (take("name"), take("sub"), take("email"));
        let verified = user.shift_remove("email_verified") == Some(Value::Bool(true));
        let claims = Claims { custom_claims: Some(user), ..Claims::new(realm, id, name, String::new()) };
        Ok(ProfileStep::done(ProviderEmail::single(email, verified), claims))
    }

    fn missing_setting(&self, settings: &ExternalProviderSettings) -> Option<&'static str> {
        settings.url.is_empty().then_some("unable to find URL for the Keycloak provider")
    }
}

fn realm_url(settings: &ExternalProviderSettings) -> String {
    base_url(&settings.url, "")
}
