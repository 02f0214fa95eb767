//! Vercel's marketplace: the person is in the ID token.

use super::super::id_token::profile;
use super::super::issuers;
use super::super::provider::{BadAnswer, Endpoints, Known, Place, Provider, Step, base};
use crate::domain::policy::ExternalProvider;

/// Vercel's marketplace.
#[derive(Debug)]
pub struct VercelMarketplace;

impl Provider for VercelMarketplace {
    fn name(&self) -> &'static str {
        "vercel_marketplace"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, "api.vercel.com");
        let instead = Some((format!("{host}/oauth/v2/authorization"), format!("{host}/oauth/v2/accessToken")));
        Place::at(
            Endpoints::Discovered { issuer: issuers::VERCEL_MARKETPLACE.to_owned(), document: None, instead },
            &[],
        )
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        match known.id_token {
            Some(token) => Ok(Step::Done(Box::new(profile(token)?))),
            None if known.token.has_id_token() => Ok(Step::check_id_token(issuers::VERCEL_MARKETPLACE)),
            None => Err(BadAnswer("there is no ID token in it".to_owned())),
        }
    }
}
