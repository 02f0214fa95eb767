//! SAML 2.0 responses: from the received bytes to a verified assertion and a profile.
//! Only signed content is used: an element's canonical form is verified and then parsed again, which prevents signature
//! wrapping.

pub mod assertion;
pub mod binding;
pub mod certificate;
pub mod decryption;
mod error;
pub mod instant;
mod namespaces;
pub mod profile;
pub mod validation;

pub mod response;
pub mod signature;
pub mod xml;

pub use error::{DecryptionError, SamlError, SamlValidationError, SignatureError, XmlError};
pub use namespaces::{ASSERTION, DSIG, METADATA, PROTOCOL, XENC};
