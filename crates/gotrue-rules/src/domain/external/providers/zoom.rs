//! Zoom.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientScopes, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::names::full_name;
use crate::domain::policy::ExternalProviderSettings;

/// The `login_type` of a sign-in with an email address and a Zoom password.
const PASSWORD_LOGIN_TYPE: &str = "100";

#[derive(Debug)]
pub(super) struct Zoom;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
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

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "zoom.us");
        let place = ProviderConfig::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &[]);
        ProviderConfig { client_scopes: ClientScopes::Ignore, ..place }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = format!("{}/v2", base_url(&known.settings.url, "api.zoom.us"));
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/users/me"))) };
        let user: UserInfo = decode(user)?;
        // Zoom verifies addresses of password sign-ins only; otherwise the service used to sign in has verified the
        // address.
        let verified = user.login_type != PASSWORD_LOGIN_TYPE || user.verified != 0;
        let name = full_name(&user.first_name, &user.last_name);
        Ok(ProfileStep::done(
            ProviderEmail::single(user.email, verified),
            Claims::new(api, user.id, name, user.pic_url),
        ))
    }
}
