//! GitHub, and GitHub Enterprise where the operator set a base.

use serde::Deserialize;

use super::super::profile::{Claims, Profile, ProviderEmail};
use super::super::provider::{BadAnswer, ClientAuth, Endpoints, Known, NamedScopes, Place, Provider, Step, base, read};
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
        Place {
            endpoints: Endpoints::OAuth2 {
                authorize: format!("{host}/login/oauth/authorize"),
                token: format!("{host}/login/oauth/access_token"),
                issuer: String::new(),
            },
            scopes: vec!["user:email".to_owned()],
            named_scopes: NamedScopes::Appended,
            pkce: false,
            params: Vec::new(),
            passes_on: true,
            client_auth: ClientAuth::BasicThenForm,
        }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = api(known.settings);
        let (person, emails) = match known.answers {
            [] => return Ok(Step::fetch(format!("{api}/user"))),
            [_] => return Ok(Step::fetch(format!("{api}/user/emails"))),
            [person, emails, ..] => (read::<Person>(person)?, read::<Vec<Address>>(emails)?),
        };
        let (id, name) = (person.id.to_string(), person.name);
        let claims = Claims {
            issuer: api,
            subject: id.clone(),
            name: name.clone(),
            preferred_username: person.login.clone(),
            avatar_url: person.avatar_url,
            full_name: name,
            provider_id: id,
            user_name: person.login,
            ..Claims::default()
        };
        let emails = emails
            .into_iter()
            .filter(|it| !it.email.is_empty())
            .map(|it| ProviderEmail { address: it.email, verified: it.verified, primary: it.primary })
            .collect();
        Ok(Step::Done(Box::new(Profile { emails, claims })))
    }
}

/// The API beside the host: an enterprise server has it below itself.
fn api(settings: &ExternalProvider) -> String {
    let api = base(&settings.url, API);
    if api.ends_with(API) { api } else { format!("{api}/api/v3") }
}
