//! Whether a response and its assertion are from whom they should be, for us, and for now.

use chrono::TimeDelta;

use super::assertion::{Assertion, ConfirmationData};
use crate::domain::user::Time;

/// By how much clocks may differ.
pub const TOLERANCE: TimeDelta = TimeDelta::seconds(180);
/// How old a response and its assertion may be.
pub const OLDEST: TimeDelta = TimeDelta::seconds(90);

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/// What a response must say to be accepted.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The identity provider's name.
    pub issuer: &'a str,
    /// Where responses are taken.
    pub recipient: &'a str,
    /// Our own name.
    pub audience: &'a str,
    /// The request that must be answered; none where the identity provider started by itself: what the response says of
    /// requests is not looked at then.
    pub request: Option<&'a str>,
    /// Also what SAML's profile for browsers demands is asked for, where the reference does not ask.
    pub strict: bool,
    /// Now.
    pub now: Time,
}

/// What a response says, apart from its assertions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// A signature stands in it, good or not.
    pub is_signed: bool,
    /// `Destination`.
    pub destination: String,
    /// `InResponseTo`.
    pub in_response_to: String,
    /// `IssueInstant`.
    pub issued: Option<Time>,
    /// `Issuer`, if it is said.
    pub issuer: Option<String>,
    /// The outermost status code.
    pub status: String,
}

/// Why a response or an assertion is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unacceptable {
    /// It is sent to another address.
    #[error("it is sent to {0:?}, which is not where responses are taken")]
    Destination(String),
    /// It is to another request, or to none.
    #[error("it answers {0:?}, which is not the request that was sent")]
    Request(String),
    /// It was issued too long ago, or nobody knows when.
    #[error("it was issued too long ago, or does not say when")]
    Old,
    /// It was issued in times to come.
    #[error("it says that it was issued in times to come")]
    Future,
    /// It is by somebody else.
    #[error("it is issued by {0:?}, who was not asked")]
    Issuer(String),
    /// The identity provider refuses the sign-in.
    #[error("the identity provider answers {0:?}")]
    Status(String),
    /// It has no id.
    #[error("it has no ID")]
    NoId,
    /// It does not say whom it is about.
    #[error("it has no Subject")]
    NoSubject,
    /// It is not bound to whoever brings it.
    #[error("no confirmation is for whoever brings it")]
    Unconfirmed,
    /// A confirmation does not say what must be so.
    #[error("a confirmation says nothing that could be checked")]
    EmptyConfirmation,
    /// It is for another recipient.
    #[error("a confirmation is for {0:?}, which is not where responses are taken")]
    Recipient(String),
    /// It says nothing of when and for whom it holds.
    #[error("it has no Conditions")]
    NoConditions,
    /// It does not hold yet.
    #[error("it does not hold yet")]
    Early,
    /// It does not hold any more, or does not say until when it does.
    #[error("it does not hold any more, or does not say until when")]
    Late,
    /// It is for others.
    #[error("it is for other services: {0:?}")]
    Audience(Vec<String>),
    /// It is for whomever it may concern.
    #[error("it does not say for which service it is")]
    NoAudience,
}

/// Refuses a response that is not for us or not to our request.
pub fn envelope(envelope: &Envelope, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    // Without a signature the address may be left out.
    let is_addressed = envelope.is_signed || !envelope.destination.is_empty();
    if is_addressed && envelope.destination != expected.recipient {
        return Err(Unacceptable::Destination(envelope.destination.clone()));
    }
    answers(&envelope.in_response_to, expected)?;
    issued(envelope.issued, expected)?;
    if let Some(other) = envelope.issuer.as_ref().filter(|issuer| *issuer != expected.issuer) {
        return Err(Unacceptable::Issuer(other.clone()));
    }
    if envelope.status != SUCCESS {
        return Err(Unacceptable::Status(envelope.status.clone()));
    }
    Ok(())
}

/// Refuses an assertion that is not for us, not for now, or not to our request.
pub fn assertion(assertion: &Assertion, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    issued(assertion.issued, expected)?;
    if expected.strict && assertion.id.is_empty() {
        return Err(Unacceptable::NoId);
    }
    if assertion.issuer != expected.issuer {
        return Err(Unacceptable::Issuer(assertion.issuer.clone()));
    }
    let confirmations = assertion.confirmations.as_ref().ok_or(Unacceptable::NoSubject)?;
    for confirmation in confirmations {
        confirms(confirmation.data.as_ref().ok_or(Unacceptable::EmptyConfirmation)?, expected)?;
    }
    if expected.strict && !confirmations.iter().any(|it| it.method == BEARER) {
        return Err(Unacceptable::Unconfirmed);
    }
    let conditions = assertion.conditions.as_ref().ok_or(Unacceptable::NoConditions)?;
    holds(conditions.from, conditions.until, expected)?;
    is_for(&conditions.audiences, expected)
}

fn answers(request: &str, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    match expected.request {
        Some(asked) if asked != request => Err(Unacceptable::Request(request.to_owned())),
        _ => Ok(()),
    }
}

fn issued(at: Option<Time>, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    let at = at.ok_or(Unacceptable::Old)?;
    if at + OLDEST < expected.now {
        return Err(Unacceptable::Old);
    }
    if expected.strict && at - TOLERANCE > expected.now {
        return Err(Unacceptable::Future);
    }
    Ok(())
}

fn confirms(data: &ConfirmationData, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    answers(&data.in_response_to, expected)?;
    if data.recipient != expected.recipient {
        return Err(Unacceptable::Recipient(data.recipient.clone()));
    }
    holds(data.from.filter(|_| expected.strict), data.until, expected)
}

fn holds(from: Option<Time>, until: Option<Time>, expected: &Expected<'_>) -> Result<(), Unacceptable> {
    if from.is_some_and(|from| from - TOLERANCE > expected.now) {
        return Err(Unacceptable::Early);
    }
    match until {
        Some(until) if until + TOLERANCE >= expected.now => Ok(()),
        _ => Err(Unacceptable::Late),
    }
}

/// Each restriction names those who may read it; to the reference it is enough to be named in one, or that there is none.
fn is_for(restrictions: &[Vec<String>], expected: &Expected<'_>) -> Result<(), Unacceptable> {
    let names_us = |audiences: &Vec<String>| audiences.iter().any(|audience| audience == expected.audience);
    let holds = match restrictions {
        [] if expected.strict => return Err(Unacceptable::NoAudience),
        [] => true,
        some if expected.strict => some.iter().all(names_us),
        some => some.iter().any(names_us),
    };
    if holds { Ok(()) } else { Err(Unacceptable::Audience(restrictions.concat())) }
}
