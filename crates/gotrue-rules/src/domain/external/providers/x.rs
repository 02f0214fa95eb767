//! X by OAuth 2.0, which requires PKCE.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

const API: &str = "api.x.com";

#[derive(Debug)]
pub(super) struct X;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserResponse {
    data: UserInfo,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    name: String,
    username: String,
    confirmed_email: String,
    profile_image_url: String,
    url: String,
    created_at: String,
}

impl Provider for X {
    fn name(&self) -> &'static str {
        "x"
    }

    fn is_in_settings(&self) -> bool {
        false
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let authorize = format!("{}/i/oauth2/authorize", base_url(&settings.url, "x.com"));
        let token = format!("{}/2/oauth2/token", base_url(&settings.url, API));
        let scopes = ["users.email", "tweet.read", "users.read", "offline.access"];
        ProviderConfig { uses_pkce: true, ..ProviderConfig::oauth2(authorize, token, &scopes) }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = base_url(&known.settings.url, API);
        let [answer, ..] = known.responses else {
            let fields = "id,name,username,confirmed_email,profile_image_url,url,created_at";
            return Ok(ProfileStep::fetch(format!("{api}/2/users/me?user.fields={fields}")));
        };
        let user = decode::<UserResponse>(answer)?.data;
        let claims = Claims {
            preferred_username: user.username.clone(),
            profile: format!("https://x.com/{}", user.username),
            website: user.url,
            user_name: user.username,
            custom_claims: Some(Map::from_iter([("created_at".to_owned(), json!(user.created_at))])),
            ..Claims::new(api, user.id, user.name, user.profile_image_url)
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.confirmed_email, true), claims))
    }
}
