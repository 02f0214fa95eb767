//! GitHub, and GitHub Enterprise where the operator set a base.

use serde::Deserialize;

use super::super::answer::id;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const API: &str = "api.github.com";

/// GitHub.
#[derive(Debug)]
pub struct GitHub;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: i64,
    login: String,
    name: String,
    avatar_url: String,
    // Only its type counts.
    email: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Address {
    email: String,
    primary: bool,
    verified: bool,
}

impl Provider for GitHub {
    fn name(&self) -> &'static str {
        "github"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "github.com");
        Place::oauth2(
            format!("{host}/login/oauth/authorize"),
            format!("{host}/login/oauth/access_token"),
            &["user:email"],
        )
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = api(known.settings);
        let (person, emails) = match known.answers {
            [] => return Ok(Step::fetch(format!("{api}/user"))),
            [_] => return Ok(Step::fetch(format!("{api}/user/emails"))),
            [person, emails, ..] => (read::<Person>(person)?, read::<Vec<Address>>(emails)?),
        };
        let claims = Claims {
            picture: String::new(),
            preferred_username: person.login.clone(),
            user_name: person.login,
            ..Claims::of(api, id(person.id), person.name, person.avatar_url)
        };
        let emails = emails
            .into_iter()
            .filter(|it| !it.email.is_empty())
            .map(|it| ProviderEmail { address: it.email, verified: it.verified, primary: it.primary })
            .collect();
        Ok(Step::done(emails, claims))
    }
}

/// The API beside the host: an enterprise server has it below itself.
fn api(settings: &ExternalProvider) -> String {
    let api = base(&settings.url, API);
    if api.ends_with(API) { api } else { format!("{api}/api/v3") }
}
