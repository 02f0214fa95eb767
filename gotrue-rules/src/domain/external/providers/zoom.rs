//! Zoom.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, NamedScopes, Place, Provider, Step, base, read};
use super::full_name;
use crate::domain::policy::ExternalProvider;

/// The kind of a sign-in with an address and a password of Zoom's own.
const BY_ADDRESS: &str = "100";

/// Zoom.
#[derive(Debug)]
pub struct Zoom;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: String,
    first_name: String,
    last_name: String,
    email: String,
    verified: i64,
    login_type: String,
    pic_url: String,
}

impl Provider for Zoom {
    fn name(&self) -> &'static str {
        "zoom"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "zoom.us");
        let place = Place::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &[]);
        Place { named_scopes: NamedScopes::Ignored, ..place }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = format!("{}/v2", base(&known.settings.url, "api.zoom.us"));
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/users/me"))) };
        let person: Person = read(person)?;
        // Whoever signs in at Zoom by another service was never asked to confirm the address there: that service did it.
        let verified = person.login_type != BY_ADDRESS || person.verified != 0;
        let name = full_name(&person.first_name, &person.last_name);
        Ok(Step::done(ProviderEmail::only(person.email, verified), Claims::of(api, person.id, name, person.pic_url)))
    }
}
