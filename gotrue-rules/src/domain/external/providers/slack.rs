//! Slack by its older OAuth, which does not say whether an address is confirmed: it is taken as if it were, as the
//! reference does. [`super::slack_oidc`] does say.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

const TEAM: &str = "https://slack.com/team_id";

/// Slack by its older OAuth.
#[derive(Debug)]
pub struct Slack;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        place(settings, "/oauth/authorize", "/api/oauth.access")
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        next(known, |_| Ok(true))
    }
}

/// Slack at these paths.
pub(super) fn place(settings: &ExternalProvider, authorize: &str, token: &str) -> Place {
    let host = host(settings);
    Place::oauth2(format!("{host}{authorize}"), format!("{host}{token}"), &["profile", "email", "openid"])
}

/// What both ask; whether the address is confirmed is told by the answer in different ways.
pub(super) fn next(
    known: &Known<'_>,
    is_confirmed: impl Fn(&Document) -> Result<bool, BadAnswer>,
) -> Result<Step, BadAnswer> {
    let api = format!("{}/api", host(known.settings));
    let [answer, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/openid.connect.userInfo"))) };
    let person: Person = read(answer)?;
    let claims = Claims {
        custom_claims: Some(Map::from_iter([(TEAM.to_owned(), json!(person.team))])),
        ..Claims::of(api, person.id, person.name, person.picture)
    };
    Ok(Step::done(ProviderEmail::only(person.email, is_confirmed(answer)?), claims))
}

fn host(settings: &ExternalProvider) -> String {
    base(&settings.url, "slack.com")
}
