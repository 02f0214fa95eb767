//! Kakao.

use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{
    ClientAuth, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use super::super::response;
use crate::domain::policy::ExternalProviderSettings;

#[derive(Debug)]
pub(super) struct Kakao;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    id: i64,
    kakao_account: Account,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Account {
    profile: Nickname,
    email: String,
    is_email_valid: bool,
    is_email_verified: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Nickname {
    nickname: String,
    profile_image_url: String,
}

impl Provider for Kakao {
    fn name(&self) -> &'static str {
        "kakao"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, "kauth.kakao.com");
        let scopes = ["account_email", "profile_image", "profile_nickname"];
        ProviderConfig {
            client_auth: ClientAuth::Form,
            ..ProviderConfig::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &scopes)
        }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let api = base_url(&known.settings.url, "kapi.kakao.com");
        let [user, ..] = known.responses else { return Ok(ProfileStep::fetch(format!("{api}/v2/user/me"))) };
        let UserInfo { id, kakao_account: account } = decode(user)?;
        let nickname = account.profile.nickname;
        let claims = Claims {
            // The reference sets `avatar_url` only.
            picture: String::new(),
            preferred_username: nickname.clone(),
            user_name: nickname.clone(),
            ..Claims::new(api, response::format_numeric_id(id), nickname, account.profile.profile_image_url)
        };
        let verified = account.is_email_valid && account.is_email_verified;
        Ok(ProfileStep::done(ProviderEmail::single(account.email, verified), claims))
    }
}
