//! Apple. It answers by posting a form, to keep the name, which it tells on a person's first sign-in only, out of addresses.

use serde::Deserialize;

use super::super::id_token::profile;
use super::super::profile::Profile;
use super::super::provider::{
    BadAnswer, ClientAuth, Endpoints, IdTokenCheck, Known, NamedScopes, Place, Provider, Step, read,
};
use super::full_name;
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

const ISSUER: &str = "https://appleid.apple.com";

/// Apple.
#[derive(Debug)]
pub struct Apple;

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    name: Name,
    // Only its type counts: the address is that of the ID token.
    email: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Name {
    first_name: String,
    last_name: String,
}

impl Provider for Apple {
    fn name(&self) -> &'static str {
        "apple"
    }

    fn place(&self, _settings: &ExternalProvider) -> Place {
        let endpoints = Endpoints::Discovered { issuer: ISSUER.to_owned(), document: None, instead: None };
        Place {
            named_scopes: NamedScopes::Ignored,
            params: vec![("response_mode".to_owned(), "form_post".to_owned())],
            passes_on: false,
            client_auth: ClientAuth::BasicAndForm,
            ..Place::at(endpoints, &["email", "name"])
        }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        match known.id_token {
            Some(token) => Ok(Step::Done(Box::new(profile(token)?))),
            // Signed with the same keys, `iss` is account.apple.com at times.
            None if known.token.has_id_token() => Ok(Step::CheckIdToken(IdTokenCheck {
                issuer: ISSUER.to_owned(),
                any_issuer: true,
                ..IdTokenCheck::default()
            })),
            None => Ok(Step::Done(Box::default())),
        }
    }

    fn reads_user(&self) -> bool {
        true
    }

    fn with_user(&self, user: &str, mut profile: Profile) -> Result<Profile, BadAnswer> {
        let User { name, .. } = read(&Document::parse(user.as_bytes())?)?;
        profile.claims.name = full_name(&name.first_name, &name.last_name);
        profile.claims.full_name.clone_from(&profile.claims.name);
        Ok(profile)
    }
}
