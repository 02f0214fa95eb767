//! Facebook. A request for the profile carries a proof of the client secret (`appsecret_proof`).

use aws_lc_rs::hmac;
use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::names::full_name;
use crate::domain::policy::ExternalProviderSettings;

const API: &str = "graph.facebook.com";

#[derive(Debug)]
pub(super) struct Facebook;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: String,
    email: String,
    first_name: String,
    last_name: String,
    name: String,
    picture: Picture,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Picture {
    data: PictureData,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PictureData {
    url: String,
}

impl Provider for Facebook {
    fn name(&self) -> &'static str {
        "facebook"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let authorize = format!("{}/dialog/oauth", base_url(&settings.url, "www.facebook.com"));
        ProviderConfig::oauth2(authorize, format!("{}/oauth/access_token", base_url(&settings.url, API)), &["email"])
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let profile =
            format!("{}/me?fields=email,first_name,last_name,name,picture", base_url(&known.settings.url, API));
        let [user, ..] = known.responses else {
            let proof = app_secret_proof(known.settings.secret.reveal(), &known.token.access_token);
            return Ok(ProfileStep::fetch(format!("{profile}&appsecret_proof={proof}")));
        };
        let user: UserInfo = decode(user)?;
        let name = full_name(&user.first_name, &user.last_name);
        let claims = Claims {
            nickname: user.name.clone(),
            slug: user.name,
            ..Claims::new(profile, user.id, name, user.picture.data.url)
        };
        Ok(ProfileStep::done(ProviderEmail::single(user.email, true), claims))
    }
}

/// HMAC-SHA256 of the access token under the client secret, in hexadecimal digits.
fn app_secret_proof(secret: &str, access_token: &str) -> String {
    hex::encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), access_token.as_bytes()).as_ref())
}
