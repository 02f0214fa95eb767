//! `LinkedIn` by OpenID Connect.

use super::super::id_token::issuer_profiles::profile_from_id_token;
use super::super::issuers;
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints, ProviderResponseError,
};
use super::linkedin;
use crate::domain::policy::ExternalProviderSettings;

/// `LinkedIn` by OpenID Connect.
#[derive(Debug)]
pub(super) struct LinkedInOidc;

impl Provider for LinkedInOidc {
    fn name(&self) -> &'static str {
        "linkedin_oidc"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let instead = Some(linkedin::endpoint_urls(settings));
        let endpoints = ProviderEndpoints::Discovered {
            issuer: issuers::LINKEDIN.to_owned(),
            discovery_url: None,
            endpoint_overrides: instead,
        };
        ProviderConfig::new(endpoints, &["openid", "email", "profile"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        match known.id_token {
            Some(token) => Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?))),
            None if known.token.has_id_token() => Ok(ProfileStep::check_id_token(issuers::LINKEDIN)),
            None => Ok(ProfileStep::Done(Box::default())),
        }
    }
}
