//! Figma.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

const API: &str = "api.figma.com";

#[derive(Debug)]
pub(super) struct Figma;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    email: String,
    handle: String,
    img_url: String,
}

impl Provider for Figma {
    fn name(&self) -> &'static str {
        "figma"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let authorize = format!("{}/oauth", base_url(&settings.url, "www.figma.com"));
        ProviderConfig::oauth2(
            authorize,
            format!("{}/v1/oauth/token", base_url(&settings.url, API)),
            &["current_user:read"],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = base_url(&known.settings.url, API);
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/v1/me"))) };
        let user: UserInfo = decode(user)?;
        // The reference sets `avatar_url` only.
        let claims = Claims { picture: String::new(), ..Claims::new(api, user.id, user.handle, user.img_url) };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}
