//! SAML 2.0 responses: from the received bytes to a verified assertion and a profile.
//! Only signed content is used: an element's canonical form is verified and then parsed again, which prevents signature
//! wrapping.

pub mod assertion;
pub mod binding;
pub mod certificate;
pub mod decryption;
pub mod instant;
pub mod profile;
pub mod validation;

pub mod response;
pub mod signature;
pub mod xml;

/// The namespace of the protocol.
pub const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// The namespace of assertions.
pub const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// The namespace of metadata.
pub const METADATA: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
/// The namespace of XML signatures.
pub const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
/// The namespace of XML encryption.
pub const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";

/// Why a response is rejected. For the log only: the client receives a fixed message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamlError {
    /// The XML is malformed or not accepted.
    #[error(transparent)]
    Malformed(#[from] xml::XmlError),
    /// A required element is missing or occurs several times.
    #[error("{parent} must contain {name} once, and contains it {times} times")]
    ElementCount {
        /// The required element.
        name: &'static str,
        parent: &'static str,
        /// The number of occurrences.
        times: usize,
    },
    /// A time cannot be parsed.
    #[error("{0} is not an xs:dateTime")]
    Instant(&'static str),
    /// The root is not a `Response`.
    #[error("the root is not a Response of the protocol")]
    NotAResponse,
    /// There are too many assertions.
    #[error("the response has {0} assertions, which is more than the limit")]
    TooManyAssertions(usize),
    /// There is no assertion.
    #[error("the response has no assertion")]
    NoAssertion,
    /// A signature is invalid.
    #[error(transparent)]
    Signature(#[from] signature::SignatureError),
    /// An encrypted assertion cannot be decrypted.
    #[error(transparent)]
    Decryption(#[from] decryption::DecryptionError),
    /// The response or the assertion fails validation.
    #[error(transparent)]
    Validation(#[from] validation::SamlValidationError),
}
