//! Figma.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const API: &str = "api.figma.com";

/// Figma.
#[derive(Debug)]
pub struct Figma;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: String,
    email: String,
    handle: String,
    img_url: String,
}

impl Provider for Figma {
    fn name(&self) -> &'static str {
        "figma"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let authorize = format!("{}/oauth", base(&settings.url, "www.figma.com"));
        Place::oauth2(authorize, format!("{}/v1/oauth/token", base(&settings.url, API)), &["current_user:read"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = base(&known.settings.url, API);
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/v1/me"))) };
        let person: Person = read(person)?;
        // Its picture has the older name only.
        let claims = Claims { picture: String::new(), ..Claims::of(api, person.id, person.handle, person.img_url) };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}
