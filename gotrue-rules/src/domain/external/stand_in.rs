//! A stand-in for other providers during development: plain OpenID Connect under any provider name.

use super::id_token::profile_from_id_token;
use super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints, ProviderResponseError,
};
use crate::domain::policy::ExternalProviderSettings;

/// Replaces the provider of this name; its settings contain the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn(pub String);

impl Provider for StandIn {
    fn name(&self) -> &str {
        &self.0
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let endpoints = ProviderEndpoints::Discovered {
            issuer: settings.url.clone(),
            discovery_url: None,
            endpoint_overrides: None,
        };
        ProviderConfig { uses_pkce: true, ..ProviderConfig::new(endpoints, &["openid", "email", "profile"]) }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        match known.id_token {
            None => Ok(ProfileStep::check_id_token(&known.settings.url)),
            Some(token) => Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::id_token::ExternalIdToken;
    use super::super::provider::ProviderTokenResponse;
    use super::*;

    #[test]
    fn profile_comes_from_id_token_under_any_provider_name() {
        let settings =
            ExternalProviderSettings { url: "http://127.0.0.1/p".into(), ..ExternalProviderSettings::default() };
        let stand_in = StandIn("google".into());
        assert!(
            matches!(stand_in.config(&settings).endpoints, ProviderEndpoints::Discovered { issuer, .. } if issuer == settings.url)
        );
        let token = ProviderTokenResponse::default();
        let known =
            ProfileContext { settings: &settings, token: &token, id_token: None, userinfo_url: "", responses: &[] };
        assert_eq!(stand_in.next_step(&known), Ok(ProfileStep::check_id_token("http://127.0.0.1/p")));
        let claims = json!({"sub": "dev-ann", "email": "ann@example.com", "email_verified": true});
        let id_token = ExternalIdToken { claims: claims.into(), ..ExternalIdToken::default() };
        let Ok(ProfileStep::Done(profile)) = stand_in.next_step(&ProfileContext { id_token: Some(&id_token), ..known })
        else {
            panic!()
        };
        assert_eq!(profile.claims.subject, "dev-ann");
        assert!(profile.emails[0].verified);
    }
}
