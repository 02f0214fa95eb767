//! `LinkedIn` by OAuth 2.0, with localized names and a separate request for the email address.

use serde::Deserialize;
use serde_json::Value;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::names::full_name;
use crate::domain::policy::ExternalProviderSettings;

/// `LinkedIn`'s host, also of the OpenID Connect provider.
pub(super) const HOST: &str = "api.linkedin.com";

#[derive(Debug)]
pub(super) struct LinkedIn;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct UserInfo {
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
    // Only the type is checked.
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

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let (authorize, token) = endpoint_urls(settings);
        ProviderConfig::oauth2(authorize, token, &["r_emailaddress", "r_liteprofile"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let host = base_url(&known.settings.url, HOST);
        let (user, contacts) = match known.responses {
            [] => {
                let wanted = "(id,firstName,lastName,profilePicture(displayImage~:playableStreams))";
                return Ok(ProfileStep::fetch(format!("{host}/v2/me?projection={wanted}")));
            }
            [_] => {
                let wanted = "q=members&projection=(elements*(handle~))";
                return Ok(ProfileStep::fetch(format!("{host}/v2/emailAddress?{wanted}")));
            }
            [user, contacts, ..] => (decode::<UserInfo>(user)?, decode::<List<Contact>>(contacts)?),
        };
        let name = full_name(user.first_name.preferred_name()?, user.last_name.preferred_name()?);
        let picture = user.profile_picture.shown.elements.into_iter().next();
        let picture = picture.and_then(|image| image.identifiers.into_iter().next()).unwrap_or_default().identifier;
        // LinkedIn returns the primary address only, and only if it is confirmed.
        let address = contacts.elements.into_iter().next().unwrap_or_default().handle.email_address;
        Ok(ProfileStep::done(ProviderEmail::single(address, true), Claims::new(host, user.id, name, picture)))
    }
}

impl Name {
    /// The name in the user's preferred locale.
    fn preferred_name(&self) -> Result<&str, ProviderResponseError> {
        let locale = format!("{}_{}", self.preferred_locale.language, self.preferred_locale.country);
        let name = self.localized.get(&locale).and_then(Value::as_str);
        name.ok_or_else(|| ProviderResponseError("the response has no name in the preferred locale".to_owned()))
    }
}

/// The authorization endpoint and the token endpoint.
pub(super) fn endpoint_urls(settings: &ExternalProviderSettings) -> (String, String) {
    let host = base_url(&settings.url, HOST);
    (format!("{host}/oauth/v2/authorization"), format!("{host}/oauth/v2/accessToken"))
}
