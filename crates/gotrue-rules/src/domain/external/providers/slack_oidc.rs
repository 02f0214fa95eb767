//! Slack by OpenID Connect.

use serde::Deserialize;

use super::super::provider::{ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, decode};
use super::slack;
use crate::domain::policy::ExternalProviderSettings;

/// Slack by OpenID Connect.
#[derive(Debug)]
pub(super) struct SlackOidc;

#[derive(Deserialize, Default)]
#[serde(default)]
struct EmailVerification {
    email_verified: bool,
}

impl Provider for SlackOidc {
    fn name(&self) -> &'static str {
        "slack_oidc"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        slack::build_config(settings, "/openid/connect/authorize", "/api/openid.connect.token")
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        slack::next_profile_step(known, |user| Ok(decode::<EmailVerification>(user)?.email_verified))
    }
}
