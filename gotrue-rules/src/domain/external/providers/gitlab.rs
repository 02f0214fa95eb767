//! GitLab, at its own host or the operator's.

use serde::Deserialize;

use super::super::answer::id;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const HOST: &str = "gitlab.com";

/// GitLab.
#[derive(Debug)]
pub struct GitLab;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: i64,
    name: String,
    avatar_url: String,
    email: String,
    confirmed_at: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Address {
    // Only its type counts.
    id: i64,
    email: String,
}

impl Provider for GitLab {
    fn name(&self) -> &'static str {
        "gitlab"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, HOST);
        Place::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &["read_user"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let host = base(&known.settings.url, HOST);
        let (person, others) = match known.answers {
            [] => return Ok(Step::fetch(format!("{host}/api/v4/user"))),
            [_] => return Ok(Step::fetch(format!("{host}/api/v4/user/emails"))),
            [person, others, ..] => (read::<Person>(person)?, read::<Vec<Address>>(others)?),
        };
        // Nothing is said of whether the others are confirmed.
        let others = others.into_iter().map(|it| it.email).filter(|address| !address.is_empty());
        let others = others.map(|address| ProviderEmail { address, ..ProviderEmail::default() });
        let emails = others.chain(ProviderEmail::only(person.email, !person.confirmed_at.is_empty())).collect();
        Ok(Step::done(emails, Claims::of(host, id(person.id), person.name, person.avatar_url)))
    }
}
