//! Google. The person is in the ID token; where there is none, they are asked about.

use serde::Deserialize;

use super::super::id_token::profile;
use super::super::issuers;
use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Endpoints, Known, Place, Provider, Step, read};
use crate::domain::policy::ExternalProvider;

const USERINFO: &str = "https://www.googleapis.com/userinfo/v2/me";

/// Google.
#[derive(Debug)]
pub struct Google;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
    id: String,
    name: String,
    picture: String,
    email: String,
    verified_email: bool,
    email_verified: bool,
    // Only its type counts.
    sub: String,
    // Only its type counts.
    iss: String,
    // Only its type counts.
    hd: String,
}

impl Provider for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn place(&self, _settings: &ExternalProvider) -> Place {
        let endpoints = Endpoints::Discovered { issuer: issuers::GOOGLE.to_owned(), document: None, instead: None };
        Place::at(endpoints, &["email", "profile"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        if let Some(token) = known.id_token {
            return Ok(Step::Done(Box::new(profile(token)?)));
        }
        if known.token.has_id_token() {
            return Ok(Step::check_id_token(issuers::GOOGLE));
        }
        let [person, ..] = known.answers else { return Ok(Step::fetch(USERINFO)) };
        let person: Person = read(person)?;
        let verified = person.verified_email || person.email_verified;
        let claims = Claims::of(USERINFO, person.id, person.name, person.picture);
        Ok(Step::done(ProviderEmail::only(person.email, verified), claims))
    }
}
