//! X by OAuth 2.0, which insists on a challenge.

use serde::Deserialize;
use serde_json::{Map, json};

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;

const API: &str = "api.x.com";

/// X.
#[derive(Debug)]
pub struct X;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    data: Person,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: String,
    name: String,
    username: String,
    confirmed_email: String,
    profile_image_url: String,
    url: String,
    created_at: String,
}

impl Provider for X {
    fn name(&self) -> &'static str {
        "x"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let authorize = format!("{}/i/oauth2/authorize", base(&settings.url, "x.com"));
        let token = format!("{}/2/oauth2/token", base(&settings.url, API));
        let scopes = ["users.email", "tweet.read", "users.read", "offline.access"];
        Place { pkce: true, ..Place::oauth2(authorize, token, &scopes) }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let api = base(&known.settings.url, API);
        let [answer, ..] = known.answers else {
            let fields = "id,name,username,confirmed_email,profile_image_url,url,created_at";
            return Ok(Step::fetch(format!("{api}/2/users/me?user.fields={fields}")));
        };
        let person = read::<Answer>(answer)?.data;
        let claims = Claims {
            preferred_username: person.username.clone(),
            profile: format!("https://x.com/{}", person.username),
            website: person.url,
            user_name: person.username,
            custom_claims: Some(Map::from_iter([("created_at".to_owned(), json!(person.created_at))])),
            ..Claims::of(api, person.id, person.name, person.profile_image_url)
        };
        Ok(Step::done(ProviderEmail::only(person.confirmed_email, true), claims))
    }
}
