//! `LinkedIn` by OpenID Connect.

use super::super::id_token::profile;
use super::super::issuers;
use super::super::provider::{BadAnswer, Endpoints, Known, Place, Provider, Step};
use super::linkedin;
use crate::domain::policy::ExternalProvider;

/// `LinkedIn` by OpenID Connect.
#[derive(Debug)]
pub struct LinkedInOidc;

impl Provider for LinkedInOidc {
    fn name(&self) -> &'static str {
        "linkedin_oidc"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let instead = Some(linkedin::addresses(settings));
        let endpoints = Endpoints::Discovered { issuer: issuers::LINKEDIN.to_owned(), document: None, instead };
        Place::at(endpoints, &["openid", "email", "profile"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        match known.id_token {
            Some(token) => Ok(Step::Done(Box::new(profile(token)?))),
            None if known.token.has_id_token() => Ok(Step::check_id_token(issuers::LINKEDIN)),
            None => Ok(Step::Done(Box::default())),
        }
    }
}
