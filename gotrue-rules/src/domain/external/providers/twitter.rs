//! Twitter by OAuth 1.0a. Whoever can choose takes [`super::x::X`].

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Endpoints, Known, NamedScopes, Place, Provider, Step, base};
use crate::domain::policy::ExternalProvider;

const HOST: &str = "api.twitter.com";

/// Twitter.
#[derive(Debug)]
pub struct Twitter;

impl Provider for Twitter {
    fn name(&self) -> &'static str {
        "twitter"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, HOST);
        let endpoints = Endpoints::OAuth1 {
            request_token: format!("{host}/oauth/request_token"),
            authorize: format!("{host}/oauth/authenticate"),
            access_token: format!("{host}/oauth/access_token"),
        };
        Place { named_scopes: NamedScopes::Ignored, passes_on: false, ..Place::at(endpoints, &[]) }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let profile = format!("{}/1.1/account/verify_credentials.json", base(&known.settings.url, HOST));
        let [person, ..] = known.answers else {
            return Ok(Step::fetch(format!("{profile}?include_email=true&include_entities=false&skip_status=true")));
        };
        // A member of another type is passed over; without an id nobody is signed in.
        let text = |name: &str| person.member::<String>(name).unwrap_or_default();
        let claims = Claims {
            preferred_username: text("screen_name"),
            user_name: text("screen_name"),
            ..Claims::of(profile, text("id_str"), text("name"), text("profile_image_url_https"))
        };
        Ok(Step::done(ProviderEmail::only(text("email"), true), claims))
    }
}
