//! Validates issuer, audience, recipient and validity period of a response and its assertion.

use chrono::TimeDelta;
use foundation::time::Time;

use super::assertion::{Assertion, SubjectConfirmationData};
use super::error::SamlValidationError;

/// The accepted clock skew.
pub const CLOCK_SKEW: TimeDelta = TimeDelta::seconds(180);
/// The maximum age of a response and its assertion.
pub const MAX_AGE: TimeDelta = TimeDelta::seconds(90);

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/// The values that a response is validated against.
#[derive(Debug, Clone, Copy)]
pub struct SamlExpectations<'a> {
    /// The identity provider's entity id.
    pub issuer: &'a str,
    /// The assertion consumer service URL.
    pub recipient: &'a str,
    /// The service provider's entity id.
    pub audience: &'a str,
    /// The id of the `AuthnRequest`.
    /// `None` for an IdP-initiated response, whose `InResponseTo` is not checked.
    pub request_id: Option<&'a str>,
    /// Whether to check also what the browser SSO profile requires and the reference does not check.
    pub strict: bool,
    /// The current time.
    pub now: Time,
}

/// The members of a response besides its assertions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseEnvelope {
    /// Whether the response contains a signature, valid or not.
    pub is_signed: bool,
    pub destination: String,
    pub in_response_to: String,
    pub issue_instant: Option<Time>,
    /// `Issuer`, if present.
    pub issuer: Option<String>,
    /// The top-level status code.
    pub status: String,
}

/// Validates the response element: destination, request, age, issuer and status.
pub fn validate_envelope(
    envelope: &ResponseEnvelope,
    expected: &SamlExpectations<'_>,
) -> Result<(), SamlValidationError> {
    // An unsigned response may omit `Destination`.
    let is_addressed = envelope.is_signed || !envelope.destination.is_empty();
    if is_addressed && envelope.destination != expected.recipient {
        return Err(SamlValidationError::Destination(envelope.destination.clone()));
    }
    check_in_response_to(&envelope.in_response_to, expected)?;
    check_issue_instant(envelope.issue_instant, expected)?;
    if let Some(other) = envelope.issuer.as_ref().filter(|issuer| *issuer != expected.issuer) {
        return Err(SamlValidationError::Issuer(other.clone()));
    }
    if envelope.status != SUCCESS {
        return Err(SamlValidationError::Status(envelope.status.clone()));
    }
    Ok(())
}

/// Validates an assertion: age, issuer, subject confirmations, conditions and audience.
pub fn validate_assertion(assertion: &Assertion, expected: &SamlExpectations<'_>) -> Result<(), SamlValidationError> {
    check_issue_instant(assertion.issue_instant, expected)?;
    if expected.strict && assertion.id.is_empty() {
        return Err(SamlValidationError::NoId);
    }
    if assertion.issuer != expected.issuer {
        return Err(SamlValidationError::Issuer(assertion.issuer.clone()));
    }
    let confirmations = assertion.confirmations.as_ref().ok_or(SamlValidationError::NoSubject)?;
    for confirmation in confirmations {
        check_confirmation(confirmation.data.as_ref().ok_or(SamlValidationError::NoConfirmationData)?, expected)?;
    }
    if expected.strict && !confirmations.iter().any(|confirmation| confirmation.method == BEARER) {
        return Err(SamlValidationError::NoBearerConfirmation);
    }
    let conditions = assertion.conditions.as_ref().ok_or(SamlValidationError::NoConditions)?;
    check_validity(conditions.from, conditions.until, expected)?;
    check_audience(&conditions.audience_restrictions, expected)
}

fn check_in_response_to(request: &str, expected: &SamlExpectations<'_>) -> Result<(), SamlValidationError> {
    match expected.request_id {
        Some(expected_id) if expected_id != request => Err(SamlValidationError::InResponseTo(request.to_owned())),
        _ => Ok(()),
    }
}

fn check_issue_instant(at: Option<Time>, expected: &SamlExpectations<'_>) -> Result<(), SamlValidationError> {
    let at = at.ok_or(SamlValidationError::TooOld)?;
    if at + MAX_AGE < expected.now {
        return Err(SamlValidationError::TooOld);
    }
    if expected.strict && at - CLOCK_SKEW > expected.now {
        return Err(SamlValidationError::IssuedInFuture);
    }
    Ok(())
}

fn check_confirmation(
    data: &SubjectConfirmationData,
    expected: &SamlExpectations<'_>,
) -> Result<(), SamlValidationError> {
    check_in_response_to(&data.in_response_to, expected)?;
    if data.recipient != expected.recipient {
        return Err(SamlValidationError::Recipient(data.recipient.clone()));
    }
    check_validity(data.from.filter(|_| expected.strict), data.until, expected)
}

fn check_validity(
    from: Option<Time>,
    until: Option<Time>,
    expected: &SamlExpectations<'_>,
) -> Result<(), SamlValidationError> {
    if from.is_some_and(|from| from - CLOCK_SKEW > expected.now) {
        return Err(SamlValidationError::NotYetValid);
    }
    match until {
        Some(until) if until + CLOCK_SKEW >= expected.now => Ok(()),
        _ => Err(SamlValidationError::Expired),
    }
}

/// Checks the audience restrictions.
/// The reference accepts an assertion without restrictions and one that names the service in any of them; `strict`
/// requires all.
fn check_audience(restrictions: &[Vec<String>], expected: &SamlExpectations<'_>) -> Result<(), SamlValidationError> {
    let names_us = |audiences: &Vec<String>| audiences.iter().any(|audience| audience == expected.audience);
    let holds = match restrictions {
        [] if expected.strict => return Err(SamlValidationError::NoAudience),
        [] => true,
        some if expected.strict => some.iter().all(names_us),
        some => some.iter().any(names_us),
    };
    if holds { Ok(()) } else { Err(SamlValidationError::Audience(restrictions.concat())) }
}
