//! Vercel's marketplace. The profile comes from the ID token.

use super::super::id_token::issuer_profiles::profile_from_id_token;
use super::super::issuers;
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints, ProviderResponseError, base_url,
};
use crate::domain::policy::ExternalProviderSettings;

/// Vercel's marketplace.
#[derive(Debug)]
pub(super) struct VercelMarketplace;

impl Provider for VercelMarketplace {
    fn name(&self) -> &'static str {
        "vercel_marketplace"
    }

    fn is_in_settings(&self) -> bool {
        false
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "api.vercel.com");
        let instead = Some((format!("{host}/oauth/v2/authorization"), format!("{host}/oauth/v2/accessToken")));
        ProviderConfig::new(
            ProviderEndpoints::Discovered {
                issuer: issuers::VERCEL_MARKETPLACE.to_owned(),
                discovery_url: None,
                endpoint_overrides: instead,
            },
            &[],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        match known.id_token {
            Some(token) => Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?))),
            None if known.token.has_id_token() => Ok(ProfileStep::check_id_token(issuers::VERCEL_MARKETPLACE)),
            None => Err(ProviderResponseError("the response has no ID token".to_owned())),
        }
    }
}
