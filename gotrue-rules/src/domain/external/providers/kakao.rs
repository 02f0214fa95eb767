//! Kakao.

use serde::Deserialize;

use super::super::answer;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, ClientAuth, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

/// Kakao.
#[derive(Debug)]
pub struct Kakao;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "kauth.kakao.com");
        let scopes = ["account_email", "profile_image", "profile_nickname"];
        Place {
            client_auth: ClientAuth::Form,
            ..Place::oauth2(format!("{host}/oauth/authorize"), format!("{host}/oauth/token"), &scopes)
        }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = base(&known.settings.url, "kapi.kakao.com");
        let [person, ..] = known.answers else { return Ok(Step::fetch(format!("{api}/v2/user/me"))) };
        let Person { id, kakao_account: account } = read(person)?;
        let nickname = account.profile.nickname;
        let claims = Claims {
            // Its picture has the older name only.
            picture: String::new(),
            preferred_username: nickname.clone(),
            user_name: nickname.clone(),
            ..Claims::of(api, answer::id(id), nickname, account.profile.profile_image_url)
        };
        let verified = account.is_email_valid && account.is_email_verified;
        Ok(Step::done(ProviderEmail::only(account.email, verified), claims))
    }
}
