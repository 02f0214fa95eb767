//! The rows of the route table, each with requests that succeed.

mod accounts;
mod admin;
mod entry;
mod factors;
mod federation;
mod messages;
mod oauth_server;
mod passkeys;

use gotrue_rs::testing::WorldBuilder;

use super::run::{Arrange, Case};

/// Rows that touch no database.
pub(super) const WITHOUT_DATABASE: [&str; 9] = [
    "GET /health",
    "GET /settings",
    "GET /.well-known/jwks.json",
    "GET /.well-known/openid-configuration",
    "GET /.well-known/oauth-authorization-server",
    "GET /sso/saml/metadata",
    "GET /scim/v2/ServiceProviderConfig",
    "GET /scim/v2/ResourceTypes",
    "GET /scim/v2/Schemas",
];

/// An area with its cases.
type Area = (&'static str, fn() -> Vec<Case>);

/// The areas, each a test of its own.
pub(super) const AREAS: [Area; 8] = [
    ("accounts", accounts::cases),
    ("admin", admin::cases),
    ("entry", entry::cases),
    ("factors", factors::cases),
    ("federation", federation::cases),
    ("messages", messages::cases),
    ("oauth_server", oauth_server::cases),
    ("passkeys", passkeys::cases),
];

fn case(route: &'static str, variant: &'static str, arrange: Arrange) -> Case {
    Case { route, variant, arrange, differing: |builder| builder, again: &[], steps: &[], failures: &[] }
}

impl Case {
    fn differing(self, differing: fn(WorldBuilder) -> WorldBuilder) -> Self {
        Self { differing, ..self }
    }

    /// What may stand when only some of the writes were done. Each caller says why nothing is lost by it.
    fn steps(self, steps: &'static [&'static [&'static str]]) -> Self {
        Self { steps, ..self }
    }

    fn failures(self, failures: &'static [&'static str]) -> Self {
        Self { failures, ..self }
    }

    fn again(self, again: &'static [&'static str]) -> Self {
        Self { again, ..self }
    }
}
