//! Single sign-on by SAML 2.0: what a response may say, what is believed of it, and who is signed in by it.

mod assertions;
pub mod company;
mod encryption;
mod repeated;
mod sign_in;
mod signatures;
mod wrapping;

use chrono::{TimeZone, Utc};
use gotrue_rs::testing::identity_provider::{IdentityProvider, Said};
use gotrue_rules::domain::saml::Refusal;
use gotrue_rules::domain::saml::acceptance::Expected;
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::decryption::ReadingKey;
use gotrue_rules::domain::saml::response::{Check, accepted};
use gotrue_rules::domain::saml::signature::Signers;
use gotrue_rules::domain::user::Time;

/// The name of the identity provider.
pub const IDP: &str = "https://idp.example.com/metadata";
/// Our address.
pub const SERVICE: &str = "http://auth.example.com";

/// What the clocks of these tests show.
pub fn now() -> Time {
    Utc.with_ymd_and_hms(2026, 6, 1, 12, 0, 0).single().expect("a moment")
}

/// What an honest provider says of Ann.
pub fn said() -> Said {
    Said::to(SERVICE, IDP, now())
}

/// How a service looks at responses.
#[derive(Clone)]
pub struct Reader {
    pub certificates: Vec<Certificate>,
    pub request: Option<String>,
    pub strict: bool,
    pub sha1: bool,
}

impl Reader {
    /// One that knows the provider of tests, and that is asked by nobody.
    pub fn of(provider: &IdentityProvider) -> Self {
        let certificate = Certificate::read(provider.certificate).expect("a certificate");
        Self { certificates: vec![certificate], request: None, strict: false, sha1: true }
    }

    /// The same, as `basalt serve` reads.
    pub fn in_serve(self) -> Self {
        Self { strict: true, sha1: false, ..self }
    }

    /// What comes of a response.
    pub fn read(&self, xml: &str) -> Result<Assertion, Refusal> {
        self.read_with(xml, &[])
    }

    /// The same with keys for what is encrypted.
    pub fn read_with(&self, xml: &str, keys: &[ReadingKey]) -> Result<Assertion, Refusal> {
        let (recipient, audience) = (format!("{SERVICE}/sso/saml/acs"), format!("{SERVICE}/sso/saml/metadata"));
        let expected = Expected {
            issuer: IDP,
            recipient: &recipient,
            audience: &audience,
            request: self.request.as_deref(),
            strict: self.strict,
            now: now(),
        };
        let signers = Signers { certificates: &self.certificates, sha1: self.sha1, now: now() };
        accepted(xml, &Check { expected, signers, keys })
    }

    /// Who is believed to come.
    #[track_caller]
    pub fn name(&self, xml: &str) -> String {
        self.read(xml).unwrap_or_else(|refusal| panic!("{refusal}: {xml}")).name.expect("a name").value
    }
}
