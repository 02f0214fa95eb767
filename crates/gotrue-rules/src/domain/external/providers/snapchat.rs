//! Snapchat. The profile comes from a GraphQL query.

use serde::Deserialize;

use super::super::issuers;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

/// `{me { externalId displayName bitmoji { avatar id } email } }`
const QUERY: &str = "%7Bme+%7B+externalId+displayName+bitmoji+%7B+avatar+id+%7D+email+%7D+%7D";

#[derive(Debug)]
pub(super) struct Snapchat;

#[derive(Deserialize, Default)]
#[serde(default)]
struct GraphQlResponse {
    data: Data,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    me: UserInfo,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct UserInfo {
    external_id: String,
    display_name: String,
    bitmoji: Bitmoji,
    email: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bitmoji {
    avatar: String,
}

impl Provider for Snapchat {
    fn name(&self) -> &'static str {
        "snapchat"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "accounts.snapchat.com");
        ProviderConfig::oauth2(
            format!("{host}/accounts/oauth2/auth"),
            format!("{host}/accounts/oauth2/token"),
            &[
                "https://auth.snapchat.com/oauth2/api/user.external_id",
                "https://auth.snapchat.com/oauth2/api/user.display_name",
                "https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
            ],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let [answer, ..] = known.responses else {
            let host = base_url(&known.settings.url, "kit.snapchat.com");
            return Ok(ProfileStep::fetch(format!("{host}/v1/me?query={QUERY}")));
        };
        let user = decode::<GraphQlResponse>(answer)?.data.me;
        let claims = Claims {
            slug: user.display_name.clone(),
            ..Claims::new(issuers::SNAPCHAT, user.external_id, user.display_name, user.bitmoji.avatar)
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}
