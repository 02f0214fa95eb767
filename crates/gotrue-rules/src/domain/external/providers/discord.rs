//! Discord.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

const PICTURES: &str = "https://cdn.discordapp.com";

#[derive(Debug)]
pub(super) struct Discord;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    username: String,
    discriminator: String,
    global_name: String,
    avatar: String,
    email: String,
    verified: bool,
}

impl Provider for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let api = api_url(settings);
        ProviderConfig::oauth2(format!("{api}/oauth2/authorize"), format!("{api}/oauth2/token"), &["email", "identify"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = api_url(known.settings);
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/users/@me"))) };
        let user: UserInfo = decode(user)?;
        let picture = user.picture_url()?;
        let claims = Claims {
            name: format!("{}#{}", user.username, user.discriminator),
            custom_claims: Some(Map::from_iter([("global_name".to_owned(), json!(user.global_name))])),
            ..Claims::new(api, user.id, user.username, picture)
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, user.verified), claims))
    }
}

impl UserInfo {
    /// The URL of the user's avatar, animated or static, or of one of five default avatars.
    fn picture_url(&self) -> Result<String, ProviderResponseError> {
        if self.avatar.is_empty() {
            let number = self.discriminator.parse::<i64>();
            let number = number.map_err(|_| ProviderResponseError("the discriminator is not a number".to_owned()))?;
            return Ok(format!("{PICTURES}/embed/avatars/{}.png", number % 5));
        }
        let kind = if self.avatar.starts_with("a_") { "gif" } else { "png" };
        Ok(format!("{PICTURES}/avatars/{}/{}.{kind}", self.id, self.avatar))
    }
}

fn api_url(settings: &ExternalProviderSettings) -> String {
    format!("{}/api", base_url(&settings.url, "discord.com"))
}
