//! Notion. The profile is that of the owner of the bot that the access token belongs to.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientScopes, FetchRequest, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url,
    decode,
};
use crate::domain::policy::ExternalProviderSettings;

const HOST: &str = "api.notion.com";

#[derive(Debug)]
pub(super) struct Notion;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserResponse {
    bot: Bot,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bot {
    owner: Owner,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Owner {
    user: UserInfo,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    name: String,
    avatar_url: String,
    #[serde(rename = "person")]
    contact: Contact,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Contact {
    email: String,
}

impl Provider for Notion {
    fn name(&self) -> &'static str {
        "notion"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, HOST);
        let (authorize, token) = (format!("{host}/v1/oauth/authorize"), format!("{host}/v1/oauth/token"));
        ProviderConfig { client_scopes: ClientScopes::Ignore, ..ProviderConfig::oauth2(authorize, token, &[]) }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let host = base_url(&known.settings.url, HOST);
        let [answer, ..] = known.responses else {
            let version = ("Notion-Version".to_owned(), "2021-08-16".to_owned());
            return Ok(ProfileStep::Fetch(FetchRequest {
                url: format!("{host}/v1/users/me"),
                headers: vec![version],
                rejects_trailing_data: true,
            }));
        };
        let user = decode::<UserResponse>(answer)?.bot.owner.user;
        // Notion does not tell whether the address is confirmed; the reference takes it as confirmed.
        let emails = ProviderEmail::single(user.contact.email, true);
        Ok(ProfileStep::done(emails, Claims::new(host, user.id, user.name, user.avatar_url)))
    }
}
