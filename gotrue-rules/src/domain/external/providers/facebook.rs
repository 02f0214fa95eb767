//! Facebook. What asks of a person carries a proof that it comes from who holds the secret.

use aws_lc_rs::hmac;
use serde::Deserialize;

use super::super::profile::{Claims, ProviderEmail};
use super::super::provider::{BadAnswer, Known, Place, Provider, Step, base, read};
use super::full_name;
use crate::domain::policy::ExternalProvider;

const API: &str = "graph.facebook.com";

/// Facebook.
#[derive(Debug)]
pub struct Facebook;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Person {
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

    fn place(&self, settings: &ExternalProvider) -> Place {
        let authorize = format!("{}/dialog/oauth", base(&settings.url, "www.facebook.com"));
        Place::oauth2(authorize, format!("{}/oauth/access_token", base(&settings.url, API)), &["email"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let profile = format!("{}/me?fields=email,first_name,last_name,name,picture", base(&known.settings.url, API));
        let [person, ..] = known.answers else {
            let proof = proof(known.settings.secret.reveal(), &known.token.access_token);
            return Ok(Step::fetch(format!("{profile}&appsecret_proof={proof}")));
        };
        let person: Person = read(person)?;
        let name = full_name(&person.first_name, &person.last_name);
        let claims = Claims {
            nickname: person.name.clone(),
            slug: person.name,
            ..Claims::of(profile, person.id, name, person.picture.data.url)
        };
        Ok(Step::done(ProviderEmail::only(person.email, true), claims))
    }
}

/// HMAC-SHA256 of the access token in hexadecimal digits.
fn proof(secret: &str, access_token: &str) -> String {
    use std::fmt::Write;

    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), access_token.as_bytes());
    tag.as_ref().iter().fold(String::with_capacity(64), |mut digits, byte| {
        let _cannot_fail = write!(digits, "{byte:02x}");
        digits
    })
}
