//! Google. The profile comes from the ID token, or from the userinfo endpoint without one.

use serde::Deserialize;

use super::super::id_token::issuer_profiles::profile_from_id_token;
use super::super::issuers;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints, ProviderResponseError, decode,
};
use crate::domain::policy::ExternalProviderSettings;

const USERINFO: &str = "https://www.googleapis.com/userinfo/v2/me";

#[derive(Debug)]
pub(super) struct Google;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    name: String,
    picture: String,
    email: String,
    verified_email: bool,
    email_verified: bool,
    // Only the type is checked.
    sub: String,
    // Only the type is checked.
    iss: String,
    // Only the type is checked.
    hd: String,
}

impl Provider for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn config(&self, _settings: &ExternalProviderSettings) -> ProviderConfig {
        let endpoints = ProviderEndpoints::Discovered {
            issuer: issuers::GOOGLE.to_owned(),
            discovery_url: None,
            endpoint_overrides: None,
        };
        ProviderConfig::new(endpoints, &["email", "profile"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        if let Some(token) = known.id_token {
            return Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?)));
        }
        if known.token.has_id_token() {
            return Ok(ProfileStep::check_id_token(issuers::GOOGLE));
        }
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(USERINFO)) };
        let user: UserInfo = decode(user)?;
        let verified = user.verified_email || user.email_verified;
        let claims = Claims::new(USERINFO, user.id, user.name, user.picture);
        Ok(ProfileStep::done(ProviderEmail::single(user.email, verified), claims))
    }
}
