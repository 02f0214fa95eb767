//! The scenarios of a sign-in that a test can request.

use std::time::Duration;

/// What is unusual about a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// The user denies the request.
    Denied,
    /// The user has no e-mail address.
    MissingEmail,
    /// The address is not verified.
    UnverifiedEmail,
    /// The user has another address than before.
    ChangedEmail,
    /// Another user has the same address.
    SharedEmail,
    /// The address is a relay address of Apple.
    RelayEmail,
    /// The ID token has another nonce than the request; the SAML response answers another request.
    WrongNonce,
    /// The signature of ID token or SAML assertion is not valid.
    BadSignature,
    /// The code or the SAML assertion has expired.
    ExpiredCode,
    /// The token response is no JSON; the SAML response is no XML.
    MalformedResponse,
    /// The token response or the SAML response comes late.
    SlowResponse,
    /// The token endpoint or the SAML identity provider answers with status 500.
    ServerError,
    /// The refresh token has been revoked.
    RevokedRefreshToken,
}

/// The scenarios by name.
pub(crate) const SCENARIOS: [(&str, Scenario); 13] = [
    ("denied", Scenario::Denied),
    ("missing_email", Scenario::MissingEmail),
    ("unverified_email", Scenario::UnverifiedEmail),
    ("changed_email", Scenario::ChangedEmail),
    ("shared_email", Scenario::SharedEmail),
    ("relay_email", Scenario::RelayEmail),
    ("wrong_nonce", Scenario::WrongNonce),
    ("bad_signature", Scenario::BadSignature),
    ("expired_code", Scenario::ExpiredCode),
    ("malformed_response", Scenario::MalformedResponse),
    ("slow_response", Scenario::SlowResponse),
    ("server_error", Scenario::ServerError),
    ("revoked_refresh_token", Scenario::RevokedRefreshToken),
];

/// What is unusual about a sign-in, with its delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Deviation {
    /// The scenario; `None` in a usual sign-in.
    pub scenario: Option<Scenario>,
    /// The delay of a slow response.
    pub delay: Duration,
}

impl Deviation {
    /// Returns whether it is this scenario.
    pub(crate) fn is(&self, scenario: Scenario) -> bool {
        self.scenario == Some(scenario)
    }
}

impl Scenario {
    /// Finds a scenario by its name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, scenario)| *scenario)
    }
}
