//! Spotify. It does not tell whether an address is confirmed, so none counts as verified.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;

#[derive(Debug)]
pub(super) struct Spotify;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
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

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "accounts.spotify.com");
        ProviderConfig::oauth2(format!("{host}/authorize"), format!("{host}/api/token"), &["user-read-email"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = base_url(&known.settings.url, "api.spotify.com/v1");
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/me"))) };
        let user: UserInfo = decode(user)?;
        let claims = Claims::new(api, user.id, user.display_name, largest_image_url(user.images));
        Ok(ProfileStep::done(ProviderEmail::single(user.email, false), claims))
    }
}

/// The URL of the largest image, the first of several equally large ones; empty if there is none.
fn largest_image_url(images: Vec<Image>) -> String {
    let larger = |one: Image, other: Image| if other.area() > one.area() { other } else { one };
    images.into_iter().reduce(larger).unwrap_or_default().url
}

impl Image {
    fn area(&self) -> i64 {
        self.height.wrapping_mul(self.width)
    }
}
