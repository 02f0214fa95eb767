//! Notion: the person is whoever owns the bot that the access token stands for.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Fetch, Known, NamedScopes, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const HOST: &str = "api.notion.com";

/// Notion.
#[derive(Debug)]
pub struct Notion;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
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
    user: Person,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, HOST);
        let (authorize, token) = (format!("{host}/v1/oauth/authorize"), format!("{host}/v1/oauth/token"));
        Place { named_scopes: NamedScopes::Ignored, ..Place::oauth2(authorize, token, &[]) }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let host = base(&known.settings.url, HOST);
        let [answer, ..] = known.answers else {
            let version = ("Notion-Version".to_owned(), "2021-08-16".to_owned());
            return Ok(Step::Fetch(Fetch {
                url: format!("{host}/v1/users/me"),
                headers: vec![version],
                is_whole: true,
            }));
        };
        let person = read::<Answer>(answer)?.bot.owner.user;
        // It does not say whether the address is confirmed; the reference takes it as if it were.
        let emails = ProviderEmail::only(person.contact.email, true);
        Ok(Step::done(emails, Claims::of(host, person.id, person.name, person.avatar_url)))
    }
}
