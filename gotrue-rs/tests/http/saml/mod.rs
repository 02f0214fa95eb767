//! SAML 2.0 single sign-on: validation of responses and sign-in.

mod assertions;
pub(crate) mod company;
mod encryption;
mod repeated;
mod sign_in;
mod signatures;
mod wrapping;

use chrono::{TimeZone, Utc};
use foundation::time::Time;
use gotrue_rs::testing::identity_provider::{IdentityProvider, SamlAssertion};
use gotrue_rules::domain::saml::SamlError;
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::decryption::DecryptionKey;
use gotrue_rules::domain::saml::response::{ResponseCheck, find_valid_assertion};
use gotrue_rules::domain::saml::signature::TrustedSigners;
use gotrue_rules::domain::saml::validation::SamlExpectations;

/// The name of the identity provider.
pub(crate) const IDP: &str = "https://idp.example.com/metadata";
/// Our address.
pub(crate) const SERVICE: &str = "http://auth.example.com";

/// What the clocks of these tests show.
pub(crate) fn now() -> Time {
    Utc.with_ymd_and_hms(2026, 6, 1, 12, 0, 0).single().expect("a moment")
}

/// What an honest provider says of Ann.
pub(crate) fn assertion() -> SamlAssertion {
    SamlAssertion::for_service(SERVICE, IDP, now())
}

/// How a service looks at responses.
#[derive(Clone)]
pub(crate) struct Reader {
    pub certificates: Vec<Certificate>,
    pub request: Option<String>,
    pub strict: bool,
    pub sha1: bool,
}

impl Reader {
    /// A reader that trusts the default provider, for unsolicited responses.
    pub(crate) fn of(provider: &IdentityProvider) -> Self {
        let certificate = Certificate::from_base64(provider.certificate).expect("a certificate");
        Self { certificates: vec![certificate], request: None, strict: false, sha1: true }
    }

    /// The same, as `basalt serve` reads.
    pub(crate) fn in_serve(self) -> Self {
        Self { strict: true, sha1: false, ..self }
    }

    /// What comes of a response.
    pub(crate) fn read(&self, xml: &str) -> Result<Assertion, SamlError> {
        self.read_with(xml, &[])
    }

    /// The same with keys for what is encrypted.
    pub(crate) fn read_with(&self, xml: &str, keys: &[DecryptionKey]) -> Result<Assertion, SamlError> {
        let (recipient, audience) = (format!("{SERVICE}/sso/saml/acs"), format!("{SERVICE}/sso/saml/metadata"));
        let expected = SamlExpectations {
            issuer: IDP,
            recipient: &recipient,
            audience: &audience,
            request_id: self.request.as_deref(),
            strict: self.strict,
            now: now(),
        };
        let signers = TrustedSigners { certificates: &self.certificates, allows_sha1: self.sha1, now: now() };
        find_valid_assertion(xml, &ResponseCheck { expected, signers, keys })
    }

    /// Who is believed to come.
    #[track_caller]
    pub(crate) fn name(&self, xml: &str) -> String {
        self.read(xml).unwrap_or_else(|refusal| panic!("{refusal}: {xml}")).name_id.expect("a name").value
    }
}
