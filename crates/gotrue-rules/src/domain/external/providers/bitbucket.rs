//! Bitbucket. A configured base URL also applies to the API.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientScopes, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

#[derive(Debug)]
pub(super) struct Bitbucket;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    uuid: String,
    display_name: String,
    avatar: Link,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Link {
    href: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EmailList {
    values: Vec<EmailEntry>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EmailEntry {
    email: String,
    is_primary: bool,
    is_confirmed: bool,
}

impl Provider for Bitbucket {
    fn name(&self) -> &'static str {
        "bitbucket"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "bitbucket.org");
        let (authorize, token) = (format!("{host}/site/oauth2/authorize"), format!("{host}/site/oauth2/access_token"));
        ProviderConfig {
            client_scopes: ClientScopes::Ignore,
            ..ProviderConfig::oauth2(authorize, token, &["account", "email"])
        }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = format!("{}/2.0", base_url(&known.settings.url, "api.bitbucket.org"));
        let (user, addresses) = match known.responses {
            [] => return Ok(ProfileStep::fetch(format!("{api}/user"))),
            [_] => return Ok(ProfileStep::fetch(format!("{api}/user/emails"))),
            [user, addresses, ..] => (decode::<UserInfo>(user)?, decode::<EmailList>(addresses)?),
        };
        let emails = addresses.values.into_iter().filter(|entry| !entry.email.is_empty());
        let emails = emails.map(|entry| ProviderEmail {
            address: entry.email,
            verified: entry.is_confirmed,
            primary: entry.is_primary,
        });
        let claims = Claims::new(api, user.uuid, user.display_name, user.avatar.href);
        Ok(ProfileStep::done(emails.collect(), claims))
    }
}
