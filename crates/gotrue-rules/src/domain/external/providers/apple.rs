//! Apple.
//! Apple posts the callback as a form. It sends the user's name only on the first sign-in, in the form field `user`.

use serde::Deserialize;

use super::super::id_token::issuer_profiles::profile_from_id_token;
use super::super::profile::ProviderProfile;
use super::super::provider::{
    ClientAuth, ClientScopes, IdTokenCheck, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints,
    ProviderResponseError, decode,
};
use super::names::full_name;
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

const ISSUER: &str = "https://appleid.apple.com";

#[derive(Debug)]
pub(super) struct Apple;

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserField {
    name: Name,
    // Only the type is checked: the ID token contains the address.
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

    fn config(&self, _settings: &ExternalProviderSettings) -> ProviderConfig {
        let endpoints =
            ProviderEndpoints::Discovered { issuer: ISSUER.to_owned(), discovery_url: None, endpoint_overrides: None };
        ProviderConfig {
            client_scopes: ClientScopes::Ignore,
            params: vec![("response_mode".to_owned(), "form_post".to_owned())],
            forwards_client_params: false,
            client_auth: ClientAuth::BasicAndForm,
            ..ProviderConfig::new(endpoints, &["email", "name"])
        }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        match known.id_token {
            Some(token) => Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?))),
            // `iss` is sometimes account.apple.com, signed with the same keys.
            None if known.token.has_id_token() => Ok(ProfileStep::CheckIdToken(IdTokenCheck {
                issuer: ISSUER.to_owned(),
                allows_any_issuer: true,
                ..IdTokenCheck::default()
            })),
            None => Ok(ProfileStep::Done(Box::default())),
        }
    }

    fn has_user_field(&self) -> bool {
        true
    }

    fn apply_user_field(
        &self,
        user: &str,
        mut profile: ProviderProfile,
    ) -> Result<ProviderProfile, ProviderResponseError> {
        let UserField { name, .. } = decode(&Document::parse(user.as_bytes())?)?;
        profile.claims.name = full_name(&name.first_name, &name.last_name);
        profile.claims.full_name.clone_from(&profile.claims.name);
        Ok(profile)
    }
}
