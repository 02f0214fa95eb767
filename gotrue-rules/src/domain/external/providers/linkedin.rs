//! `LinkedIn` as it was before OpenID Connect: names in many languages, and the address asked for apart.

use serde::Deserialize;
use serde_json::Value;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use super::full_name;
use crate::domain::policy::ExternalProvider;

/// `LinkedIn`'s host, which serves the newer one too.
pub(super) const HOST: &str = "api.linkedin.com";

/// `LinkedIn`.
#[derive(Debug)]
pub struct LinkedIn;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Person {
    id: String,
    first_name: Name,
    last_name: Name,
    profile_picture: Picture,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Name {
    localized: Value,
    preferred_locale: Locale,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Locale {
    country: String,
    language: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Picture {
    #[serde(rename = "displayImage~")]
    shown: List<Image>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Image {
    identifiers: Vec<Identifier>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Identifier {
    identifier: String,
}

#[derive(Deserialize)]
struct List<T> {
    #[serde(default = "Vec::new")]
    elements: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { elements: Vec::new() }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Contact {
    #[serde(rename = "handle")]
    // Only its type counts.
    name: String,
    #[serde(rename = "handle~")]
    handle: Address,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Address {
    email_address: String,
}

impl Provider for LinkedIn {
    fn name(&self) -> &'static str {
        "linkedin"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let (authorize, token) = addresses(settings);
        Place::oauth2(authorize, token, &["r_emailaddress", "r_liteprofile"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let host = base(&known.settings.url, HOST);
        let (person, contacts) = match known.answers {
            [] => {
                let wanted = "(id,firstName,lastName,profilePicture(displayImage~:playableStreams))";
                return Ok(Step::fetch(format!("{host}/v2/me?projection={wanted}")));
            }
            [_] => {
                let wanted = "q=members&projection=(elements*(handle~))";
                return Ok(Step::fetch(format!("{host}/v2/emailAddress?{wanted}")));
            }
            [person, contacts, ..] => (read::<Person>(person)?, read::<List<Contact>>(contacts)?),
        };
        let name = full_name(person.first_name.preferred()?, person.last_name.preferred()?);
        let picture = person.profile_picture.shown.elements.into_iter().next();
        let picture = picture.and_then(|image| image.identifiers.into_iter().next()).unwrap_or_default().identifier;
        // Only the main address is told, and only once it is confirmed.
        let address = contacts.elements.into_iter().next().unwrap_or_default().handle.email_address;
        Ok(Step::done(ProviderEmail::only(address, true), Claims::of(host, person.id, name, picture)))
    }
}

impl Name {
    /// The name in the language that the person prefers.
    fn preferred(&self) -> Result<&str, BadAnswer> {
        let locale = format!("{}_{}", self.preferred_locale.language, self.preferred_locale.country);
        let name = self.localized.get(&locale).and_then(Value::as_str);
        name.ok_or_else(|| BadAnswer("there is no name in the preferred language".to_owned()))
    }
}

/// Where a browser is sent and where a code is exchanged.
pub(super) fn addresses(settings: &ExternalProvider) -> (String, String) {
    let host = base(&settings.url, HOST);
    (format!("{host}/oauth/v2/authorization"), format!("{host}/oauth/v2/accessToken"))
}
