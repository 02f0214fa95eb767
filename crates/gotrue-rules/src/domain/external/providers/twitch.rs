//! Twitch. Its API requires the client id in the `Client-Id` header.

use chrono::DateTime;
use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    FetchRequest, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

#[derive(Debug)]
pub(super) struct Twitch;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UsersResponse {
    data: Vec<UserInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    login: String,
    display_name: String,
    #[serde(rename = "type")]
    kind: String,
    broadcaster_type: String,
    description: String,
    profile_image_url: String,
    offline_image_url: String,
    view_count: i64,
    email: String,
    created_at: Option<String>,
}

impl Provider for Twitch {
    fn name(&self) -> &'static str {
        "twitch"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "id.twitch.tv");
        ProviderConfig::oauth2(format!("{host}/oauth2/authorize"), format!("{host}/oauth2/token"), &["user:read:email"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = base_url(&known.settings.url, "api.twitch.tv");
        let [answer, ..] = known.responses else {
            let client = known.settings.client_ids.first().cloned().unwrap_or_default();
            let headers = vec![("Client-Id".to_owned(), client)];
            return Ok(ProfileStep::Fetch(FetchRequest {
                url: format!("{api}/helix/users"),
                headers,
                rejects_trailing_data: true,
            }));
        };
        let users = decode::<UsersResponse>(answer)?.data;
        users.iter().try_for_each(UserInfo::validate)?;
        let Some(user) = users.into_iter().next() else {
            return Err(ProviderResponseError("the response has no user".to_owned()));
        };
        let custom = [
            ("broadcaster_type", json!(user.broadcaster_type)),
            ("description", json!(user.description)),
            ("type", json!(user.kind)),
            ("offline_image_url", json!(user.offline_image_url)),
            ("view_count", json!(user.view_count)),
        ];
        let claims = Claims {
            nickname: user.display_name.clone(),
            slug: user.display_name,
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::new(api, user.id, user.login, user.profile_image_url)
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}

impl UserInfo {
    fn validate(&self) -> Result<(), ProviderResponseError> {
        let is_time = self.created_at.as_ref().is_none_or(|time| DateTime::parse_from_rfc3339(time).is_ok());
        if is_time { Ok(()) } else { Err(ProviderResponseError("created_at is not a time".to_owned())) }
    }
}
