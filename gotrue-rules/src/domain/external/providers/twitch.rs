//! Twitch, which wants to be told our client id with each question.

use chrono::DateTime;
use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Fetch, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

/// Twitch.
#[derive(Debug)]
pub struct Twitch;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    data: Vec<Person>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "id.twitch.tv");
        Place::oauth2(format!("{host}/oauth2/authorize"), format!("{host}/oauth2/token"), &["user:read:email"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = base(&known.settings.url, "api.twitch.tv");
        let [answer, ..] = known.answers else {
            let client = known.settings.client_ids.first().cloned().unwrap_or_default();
            let headers = vec![("Client-Id".to_owned(), client)];
            return Ok(Step::Fetch(Fetch { url: format!("{api}/helix/users"), headers, is_whole: true }));
        };
        let people = read::<Answer>(answer)?.data;
        people.iter().try_for_each(Person::check)?;
        let Some(person) = people.into_iter().next() else {
            return Err(BadAnswer("there is no person in it".to_owned()));
        };
        let custom = [
            ("broadcaster_type", json!(person.broadcaster_type)),
            ("description", json!(person.description)),
            ("type", json!(person.kind)),
            ("offline_image_url", json!(person.offline_image_url)),
            ("view_count", json!(person.view_count)),
        ];
        let claims = Claims {
            nickname: person.display_name.clone(),
            slug: person.display_name,
            custom_claims: Some(Map::from_iter(custom.map(|(name, value)| (name.to_owned(), value)))),
            ..Claims::of(api, person.id, person.login, person.profile_image_url)
        };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}

impl Person {
    fn check(&self) -> Result<(), BadAnswer> {
        let is_time = self.created_at.as_ref().is_none_or(|time| DateTime::parse_from_rfc3339(time).is_ok());
        if is_time { Ok(()) } else { Err(BadAnswer("created_at is no time".to_owned())) }
    }
}
