//! RSA keys of SAML parties: their self-signed certificates and their signatures.

pub mod certificate;
mod signature;
mod signing_key;

pub use signature::{SamlKeyError, sign_sha256};
pub use signing_key::SamlSigningKey;
