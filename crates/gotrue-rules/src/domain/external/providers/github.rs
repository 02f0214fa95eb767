//! GitHub, and GitHub Enterprise Server if the operator sets a base URL.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::super::response::format_numeric_id;
use crate::domain::policy::ExternalProviderSettings;

const API: &str = "api.github.com";

#[derive(Debug)]
pub(super) struct GitHub;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: i64,
    login: String,
    name: String,
    avatar_url: String,
    // Only the type is checked.
    email: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EmailEntry {
    email: String,
    primary: bool,
    verified: bool,
}

impl Provider for GitHub {
    fn name(&self) -> &'static str {
        "github"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "github.com");
        ProviderConfig::oauth2(
            format!("{host}/login/oauth/authorize"),
            format!("{host}/login/oauth/access_token"),
            &["user:email"],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = api_url(known.settings);
        let (user, emails) = match known.responses {
            [] => return Ok(ProfileStep::fetch(format!("{api}/user"))),
            [_] => return Ok(ProfileStep::fetch(format!("{api}/user/emails"))),
            [user, emails, ..] => (decode::<UserInfo>(user)?, decode::<Vec<EmailEntry>>(emails)?),
        };
        let claims = Claims {
            picture: String::new(),
            preferred_username: user.login.clone(),
            user_name: user.login,
            ..Claims::new(api, format_numeric_id(user.id), user.name, user.avatar_url)
        };
        let emails = emails
            .into_iter()
            .filter(|entry| !entry.email.is_empty())
            .map(|entry| ProviderEmail { address: entry.email, verified: entry.verified, primary: entry.primary })
            .collect();
        Ok(ProfileStep::done(emails, claims))
    }
}

/// The base URL of the API; GitHub Enterprise Server has it below its own host.
fn api_url(settings: &ExternalProviderSettings) -> String {
    let api = base_url(&settings.url, API);
    if api.ends_with(API) { api } else { format!("{api}/api/v3") }
}
