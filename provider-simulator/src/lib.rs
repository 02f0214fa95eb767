//! Stand-ins for social providers and SAML identity providers, for development and tests.
