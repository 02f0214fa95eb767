//! Slack by its older OAuth API.
//! It does not tell whether an address is confirmed; as in the reference it counts as confirmed. [`super::slack_oidc`]
//! reads `email_verified`.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

const TEAM: &str = "https://slack.com/team_id";

/// Slack by its older OAuth API.
#[derive(Debug)]
pub(super) struct Slack;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    #[serde(rename = "https://slack.com/user_id")]
    id: String,
    #[serde(rename = "https://slack.com/team_id")]
    team: String,
    email: String,
    name: String,
    picture: String,
}

impl Provider for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        build_config(settings, "/oauth/authorize", "/api/oauth.access")
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        next_profile_step(known, |_| Ok(true))
    }
}

/// Slack with these endpoint paths.
pub(super) fn build_config(settings: &ExternalProviderSettings, authorize: &str, token: &str) -> ProviderConfig {
    let host = host_url(settings);
    ProviderConfig::oauth2(format!("{host}{authorize}"), format!("{host}{token}"), &["profile", "email", "openid"])
}

/// The steps of both Slack providers, which differ in how `email_verified` is determined.
pub(super) fn next_profile_step(
    known: &ProfileContext<'_>,
    is_confirmed: impl Fn(&Document) -> Result<bool, ProviderResponseError>,
) -> Result<ProfileStep, ProviderResponseError> {
    let api = format!("{}/api", host_url(known.settings));
    let [answer, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/openid.connect.userInfo"))) };
    let user: UserInfo = decode(answer)?;
    let claims = Claims {
        custom_claims: Some(Map::from_iter([(TEAM.to_owned(), json!(user.team))])),
        ..Claims::new(api, user.id, user.name, user.picture)
    };
    Ok(ProfileStep::done(ProviderEmail::single(user.email, is_confirmed(answer)?), claims))
}

fn host_url(settings: &ExternalProviderSettings) -> String {
    base_url(&settings.url, "slack.com")
}
