//! GitLab, at gitlab.com or the operator's host.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::super::response::format_numeric_id;
use crate::domain::policy::ExternalProviderSettings;

const HOST: &str = "gitlab.com";

#[derive(Debug)]
pub(super) struct GitLab;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: i64,
    name: String,
    avatar_url: String,
    email: String,
    confirmed_at: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EmailEntry {
    // Only the type is checked.
    id: i64,
    email: String,
}

impl Provider for GitLab {
    fn name(&self) -> &'static str {
        "gitlab"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, HOST);
        ProviderConfig::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &["read_user"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let host = base_url(&known.settings.url, HOST);
        let (user, others) = match known.responses {
            [] => return Ok(ProfileStep::fetch(format!("{host}/api/v4/user"))),
            [_] => return Ok(ProfileStep::fetch(format!("{host}/api/v4/user/emails"))),
            [user, others, ..] => (decode::<UserInfo>(user)?, decode::<Vec<EmailEntry>>(others)?),
        };
        // The response does not tell whether the other addresses are confirmed.
        let others = others.into_iter().map(|entry| entry.email).filter(|address| !address.is_empty());
        let others = others.map(|address| ProviderEmail { address, ..ProviderEmail::default() });
        let emails = others.chain(ProviderEmail::single(user.email, !user.confirmed_at.is_empty())).collect();
        Ok(ProfileStep::done(emails, Claims::new(host, format_numeric_id(user.id), user.name, user.avatar_url)))
    }
}
