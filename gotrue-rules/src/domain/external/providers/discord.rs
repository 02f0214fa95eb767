//! Discord.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const PICTURES: &str = "https://cdn.discordapp.com";

/// Discord.
#[derive(Debug)]
pub struct Discord;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let api = api(settings);
        Place::oauth2(format!("{api}/oauth2/authorize"), format!("{api}/oauth2/token"), &["email", "identify"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = api(known.settings);
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/users/@me"))) };
        let person: Person = read(person)?;
        let picture = person.picture()?;
        let claims = Claims {
            name: format!("{}#{}", person.username, person.discriminator),
            custom_claims: Some(Map::from_iter([("global_name".to_owned(), json!(person.global_name))])),
            ..Claims::of(api, person.id, person.username, picture)
        };
        Ok(Step::done(ProviderEmail::only(person.email, person.verified), claims))
    }
}

impl Person {
    /// The person's picture, which may move; without one, one of the five that the discriminator chooses.
    fn picture(&self) -> Result<String, BadAnswer> {
        if self.avatar.is_empty() {
            let number = self.discriminator.parse::<i64>();
            let number = number.map_err(|_| BadAnswer("the discriminator is no number".to_owned()))?;
            return Ok(format!("{PICTURES}/embed/avatars/{}.png", number % 5));
        }
        let kind = if self.avatar.starts_with("a_") { "gif" } else { "png" };
        Ok(format!("{PICTURES}/avatars/{}/{}.{kind}", self.id, self.avatar))
    }
}

fn api(settings: &ExternalProvider) -> String {
    format!("{}/api", base(&settings.url, "discord.com"))
}
