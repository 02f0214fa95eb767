//! Spotify, which never says that an address is confirmed.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

/// Spotify.
#[derive(Debug)]
pub struct Spotify;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: String,
    display_name: String,
    email: String,
    images: Vec<Image>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Image {
    url: String,
    height: i64,
    width: i64,
}

impl Provider for Spotify {
    fn name(&self) -> &'static str {
        "spotify"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "accounts.spotify.com");
        Place::oauth2(format!("{host}/authorize"), format!("{host}/api/token"), &["user-read-email"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = base(&known.settings.url, "api.spotify.com/v1");
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/me"))) };
        let person: Person = read(person)?;
        let claims = Claims::of(api, person.id, person.display_name, largest(person.images));
        Ok(Step::done(ProviderEmail::only(person.email, false), claims))
    }
}

/// The address of the largest picture, the first of several as large; empty: there is none.
fn largest(images: Vec<Image>) -> String {
    let larger = |one: Image, other: Image| if other.area() > one.area() { other } else { one };
    images.into_iter().reduce(larger).unwrap_or_default().url
}

impl Image {
    fn area(&self) -> i64 {
        self.height.wrapping_mul(self.width)
    }
}
