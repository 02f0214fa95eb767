//! Namespaces of XML.

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
/// The maximum number of namespaces in scope of an element.
pub(super) const MOST_NAMESPACES: usize = 32;
