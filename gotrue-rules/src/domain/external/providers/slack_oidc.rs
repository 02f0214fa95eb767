//! Slack by OpenID Connect.

use serde::Deserialize;

use super::super::provider::{BadAnswer, Known, Place, Provider, Step, read};
use super::slack;
use crate::domain::policy::ExternalProvider;

/// Slack by OpenID Connect.
#[derive(Debug)]
pub struct SlackOidc;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Confirmed {
    email_verified: bool,
}

impl Provider for SlackOidc {
    fn name(&self) -> &'static str {
        "slack_oidc"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        slack::place(settings, "/openid/connect/authorize", "/api/openid.connect.token")
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        slack::next(known, |person| Ok(read::<Confirmed>(person)?.email_verified))
    }
}
