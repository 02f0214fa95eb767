//! Why responses are rejected.

use super::namespaces::MOST_NAMESPACES;

/// Why a response is rejected. For the log only: the client receives a fixed message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamlError {
    /// The XML is malformed or not accepted.
    #[error(transparent)]
    Malformed(#[from] XmlError),
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
    Signature(#[from] SignatureError),
    /// An encrypted assertion cannot be decrypted.
    #[error(transparent)]
    Decryption(#[from] DecryptionError),
    /// The response or the assertion fails validation.
    #[error(transparent)]
    Validation(#[from] SamlValidationError),
}

/// The XML is malformed or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// There is an element after the end of the root.
    #[error("cannot be read as XML: it has more than one root element")]
    SeveralRoots,
    /// Another reason, in words.
    #[error("cannot be read as XML: {0}")]
    Malformed(String),
}

/// Why a signature is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no signature.
    #[error("there is no signature")]
    Missing,
    /// The identity provider's metadata has no certificate.
    #[error("the identity provider's metadata has no certificate to verify signatures with")]
    NoCertificate,
    /// The named certificate is not in the metadata, or the metadata has several and none is named.
    #[error("the certificate is not in the identity provider's metadata")]
    UnknownCertificate,
    /// The certificate has expired or is not valid yet.
    #[error("the certificate's validity period does not include today")]
    CertificateNotValid,
    /// The algorithm is not supported or no longer accepted.
    #[error("{0:?} is not accepted")]
    Algorithm(String),
    /// The signed element is not exactly the parent of the signature.
    #[error("the signature does not reference exactly its parent element")]
    WrongReference,
    /// Another element has the same id.
    #[error("the id of the signed element is not unique")]
    SharedId,
    /// The prefix list is longer than the number of prefixes that can be declared.
    #[error("the canonicalization lists more than {MOST_NAMESPACES} prefixes")]
    TooManyPrefixes,
    /// A value is not base64.
    #[error("{0} is not base64")]
    NotBase64(&'static str),
    /// The signature value does not match.
    #[error("the signature does not match the identity provider's key")]
    InvalidValue,
    /// The digest does not match the element.
    #[error("the digest does not match the element")]
    DigestMismatch,
}

/// Why an encrypted assertion cannot be decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecryptionError {
    /// Encrypted assertions are disabled.
    #[error("the assertion is encrypted, and encrypted ones are not accepted")]
    NotAccepted,
    /// The algorithm is not supported.
    #[error("encryption with {0:?} is not supported")]
    Algorithm(String),
    /// Decryption failed. The cause is not distinguished, since it would be an oracle.
    #[error("the assertion cannot be decrypted")]
    Failed,
}

/// Why a response or an assertion fails validation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamlValidationError {
    /// `Destination` is another URL.
    #[error("Destination is {0:?}, not the assertion consumer service")]
    Destination(String),
    /// `InResponseTo` is another request or absent.
    #[error("InResponseTo is {0:?}, not the request that was sent")]
    InResponseTo(String),
    /// `IssueInstant` is too old or absent.
    #[error("IssueInstant is too old or absent")]
    TooOld,
    /// `IssueInstant` is in the future.
    #[error("IssueInstant is in the future")]
    IssuedInFuture,
    /// `Issuer` is another entity.
    #[error("Issuer is {0:?}, not the expected identity provider")]
    Issuer(String),
    /// The status is not `Success`.
    #[error("the status is {0:?}")]
    Status(String),
    /// `ID` is missing.
    #[error("the assertion has no ID")]
    NoId,
    /// `Subject` is missing.
    #[error("the assertion has no Subject")]
    NoSubject,
    /// There is no bearer `SubjectConfirmation`.
    #[error("the assertion has no bearer SubjectConfirmation")]
    NoBearerConfirmation,
    /// `SubjectConfirmationData` is missing.
    #[error("a SubjectConfirmation has no SubjectConfirmationData")]
    NoConfirmationData,
    /// `Recipient` is another URL.
    #[error("Recipient is {0:?}, not the assertion consumer service")]
    Recipient(String),
    /// `Conditions` is missing.
    #[error("the assertion has no Conditions")]
    NoConditions,
    /// `NotBefore` is in the future.
    #[error("NotBefore is in the future")]
    NotYetValid,
    /// `NotOnOrAfter` has passed or is absent.
    #[error("NotOnOrAfter has passed or is absent")]
    Expired,
    /// `AudienceRestriction` names other services.
    #[error("the audience is {0:?}")]
    Audience(Vec<String>),
    /// There is no `AudienceRestriction`.
    #[error("the assertion has no AudienceRestriction")]
    NoAudience,
}
