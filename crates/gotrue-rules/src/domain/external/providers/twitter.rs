//! Twitter by OAuth 1.0a. New applications should use [`super::x::X`].

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientScopes, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints, ProviderResponseError,
    base_url,
};
use crate::domain::policy::ExternalProviderSettings;

const HOST: &str = "api.twitter.com";

#[derive(Debug)]
pub(super) struct Twitter;

impl Provider for Twitter {
    fn name(&self) -> &'static str {
        "twitter"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, HOST);
        let endpoints = ProviderEndpoints::OAuth1 {
            request_token: format!("{host}/oauth/request_token"),
            authorize: format!("{host}/oauth/authenticate"),
            access_token: format!("{host}/oauth/access_token"),
        };
        ProviderConfig {
            client_scopes: ClientScopes::Ignore,
            forwards_client_params: false,
            ..ProviderConfig::new(endpoints, &[])
        }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let profile = format!("{}/1.1/account/verify_credentials.json", base_url(&known.settings.url, HOST));
        let [user, ..] = known.responses else {
            return Ok(ProfileStep::fetch(format!(
                "{profile}?include_email=true&include_entities=false&skip_status=true"
            )));
        };
        // A member of another type counts as absent; an empty id is refused later.
        let text = |name: &str| user.member::<String>(name).unwrap_or_default();
        let claims = Claims {
            preferred_username: text("screen_name"),
            user_name: text("screen_name"),
            ..Claims::new(profile, text("id_str"), text("name"), text("profile_image_url_https"))
        };
        Ok(ProfileStep::done(ProviderEmail::single(text("email"), true), claims))
    }
}
