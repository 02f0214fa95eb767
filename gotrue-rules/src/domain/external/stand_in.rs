//! A provider of our own that stands in for others while an app is developed: plain OpenID Connect, whatever it is called.

use super::id_token::profile;
use super::provider::{BadAnswer, Endpoints, Known, Place, Provider, Step};
use crate::domain::policy::ExternalProvider;

/// It stands in for the provider of this name; its settings say where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn(pub String);

impl Provider for StandIn {
    fn name(&self) -> &str {
        &self.0
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let endpoints = Endpoints::Discovered { issuer: settings.url.clone(), document: None, instead: None };
        Place { pkce: true, ..Place::at(endpoints, &["openid", "email", "profile"]) }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        match known.id_token {
            None => Ok(Step::check_id_token(&known.settings.url)),
            Some(token) => Ok(Step::Done(Box::new(profile(token)?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::id_token::IdToken;
    use super::super::provider::TokenAnswer;
    use super::*;

    #[test]
    fn it_is_what_its_id_token_says_whatever_it_is_called() {
        let settings = ExternalProvider { url: "http://127.0.0.1/p".into(), ..ExternalProvider::default() };
        let stand_in = StandIn("google".into());
        assert!(
            matches!(stand_in.place(&settings).endpoints, Endpoints::Discovered { issuer, .. } if issuer == settings.url)
        );
        let token = TokenAnswer::default();
        let known = Known { settings: &settings, token: &token, id_token: None, userinfo_url: "", answers: &[] };
        assert_eq!(stand_in.next(&known), Ok(Step::check_id_token("http://127.0.0.1/p")));
        let claims = json!({"sub": "dev-ann", "email": "ann@example.com", "email_verified": true});
        let id_token = IdToken { claims: claims.into(), ..IdToken::default() };
        let Ok(Step::Done(profile)) = stand_in.next(&Known { id_token: Some(&id_token), ..known }) else { panic!() };
        assert_eq!(profile.claims.subject, "dev-ann");
        assert!(profile.emails[0].verified);
    }
}
