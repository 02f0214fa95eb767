//! Bitbucket. Its base serves for its API too, where the operator set one.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, NamedScopes, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

/// Bitbucket.
#[derive(Debug)]
pub struct Bitbucket;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    uuid: String,
    display_name: String,
    avatar: Link,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Link {
    href: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Addresses {
    values: Vec<Address>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Address {
    email: String,
    is_primary: bool,
    is_confirmed: bool,
}

impl Provider for Bitbucket {
    fn name(&self) -> &'static str {
        "bitbucket"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "bitbucket.org");
        let (authorize, token) = (format!("{host}/site/oauth2/authorize"), format!("{host}/site/oauth2/access_token"));
        Place { named_scopes: NamedScopes::Ignored, ..Place::oauth2(authorize, token, &["account", "email"]) }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = format!("{}/2.0", base(&known.settings.url, "api.bitbucket.org"));
        let (person, addresses) = match known.answers {
            [] => return Ok(Step::fetch(format!("{api}/user"))),
            [_] => return Ok(Step::fetch(format!("{api}/user/emails"))),
            [person, addresses, ..] => (read::<Person>(person)?, read::<Addresses>(addresses)?),
        };
        let emails = addresses.values.into_iter().filter(|it| !it.email.is_empty());
        let emails =
            emails.map(|it| ProviderEmail { address: it.email, verified: it.is_confirmed, primary: it.is_primary });
        let claims = Claims::of(api, person.uuid, person.display_name, person.avatar.href);
        Ok(Step::done(emails.collect(), claims))
    }
}
