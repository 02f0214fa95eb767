//! Snapchat: the person is asked about by a query in GraphQL.

use serde::Deserialize;

use super::super::issuers;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

/// `{me { externalId displayName bitmoji { avatar id } email } }`
const QUERY: &str = "%7Bme+%7B+externalId+displayName+bitmoji+%7B+avatar+id+%7D+email+%7D+%7D";

/// Snapchat.
#[derive(Debug)]
pub struct Snapchat;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    data: Data,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    me: Person,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "accounts.snapchat.com");
        Place::oauth2(
            format!("{host}/accounts/oauth2/auth"),
            format!("{host}/accounts/oauth2/token"),
            &[
                "https://auth.snapchat.com/oauth2/api/user.external_id",
                "https://auth.snapchat.com/oauth2/api/user.display_name",
                "https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
            ],
        )
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let [answer, ..] = known.answers else {
            let host = base(&known.settings.url, "kit.snapchat.com");
            return Ok(Step::fetch(format!("{host}/v1/me?query={QUERY}")));
        };
        let person = read::<Answer>(answer)?.data.me;
        let claims = Claims {
            slug: person.display_name.clone(),
            ..Claims::of(issuers::SNAPCHAT, person.external_id, person.display_name, person.bitmoji.avatar)
        };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}
