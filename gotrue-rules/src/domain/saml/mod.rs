//! What a SAML 2.0 identity provider says of a person, from the bytes of its response to a profile. Nothing is read but
//! what a signature covers: an element's canonical form is checked and then read anew, so that what was verified and what
//! is believed cannot differ, however a document is wrapped.

pub mod acceptance;
pub mod assertion;
pub mod certificate;
pub mod decryption;
pub mod delivery;
pub mod instant;
pub mod person;

pub mod response;
pub mod signature;
pub mod xml;

/// Namespace of what is exchanged.
pub const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// Namespace of what is asserted.
pub const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// Namespace of descriptions of services.
pub const METADATA: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
/// Namespace of signatures.
pub const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
/// Namespace of what is encrypted.
pub const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";

/// Why a response is not believed. For the log only: whoever sent it learns that it is not valid, and no more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no XML, or none that is accepted here.
    #[error(transparent)]
    Malformed(#[from] xml::Malformed),
    /// An element that must be there once is not, or more often.
    #[error("{parent} must hold {name} once, and holds it {times} times")]
    Times {
        /// The element that must be there.
        name: &'static str,
        /// Where.
        parent: &'static str,
        /// How often it is there.
        times: usize,
    },
    /// A time that cannot be read.
    #[error("{0} is not a time as XML Schema writes it")]
    Instant(&'static str),
    /// It is no response of the protocol.
    #[error("the root is not a Response of the protocol")]
    NoResponse,
    /// There are more assertions than anybody sends.
    #[error("it holds {0} assertions, which is more than anybody sends")]
    TooManyAssertions(usize),
    /// There is no assertion.
    #[error("it holds no assertion")]
    NoAssertion,
    /// A signature does not hold.
    #[error(transparent)]
    Signature(#[from] signature::BadSignature),
    /// An encrypted assertion cannot be read.
    #[error(transparent)]
    Sealed(#[from] decryption::Sealed),
    /// What it says is not for us, not for now, or not from whom we asked.
    #[error(transparent)]
    Unacceptable(#[from] acceptance::Unacceptable),
}
