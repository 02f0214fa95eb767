//! What we say in XML as a SAML 2.0 service provider: who we are, and that somebody wants to sign in.

use std::borrow::Cow;

use chrono::SecondsFormat;

use crate::domain::sso::{EMAIL_ADDRESS, PERSISTENT};
use crate::domain::user::Time;

const METADATA: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
const POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
const ARTIFACT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact";
/// What may be encrypted to us, and how.
const ENCRYPTION: [&str; 4] = ["aes128-cbc", "aes192-cbc", "aes256-cbc", "rsa-oaep-mgf1p"];

/// Our addresses as a service provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProvider {
    /// Our name among SAML services: where this description is.
    pub entity_id: String,
    /// Where responses are taken.
    pub acs: String,
}

impl ServiceProvider {
    /// Our addresses below the base of our SAML addresses.
    pub fn at(base: &str) -> Self {
        let base = base.strip_suffix('/').unwrap_or(base);
        Self { entity_id: format!("{base}/sso/saml/metadata"), acs: format!("{base}/sso/saml/acs") }
    }
}

/// Who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description<'a> {
    /// Our addresses.
    pub service: &'a ServiceProvider,
    /// The certificate of the key that signs: DER in base64.
    pub certificate: &'a str,
    /// That of the key that will follow.
    pub next: Option<&'a str>,
    /// Assertions may be encrypted.
    pub encryption: bool,
    /// Until when all of this holds.
    pub valid_until: Time,
    /// Until when what is said of our keys and addresses holds.
    pub keys_valid_until: Time,
}

impl Description<'_> {
    /// As XML. While a key will follow it may be kept for an hour only.
    pub fn xml(&self) -> String {
        let Self { service, valid_until, keys_valid_until, .. } = self;
        let kept = if self.next.is_some() { r#" cacheDuration="PT1H""# } else { "" };
        let (entity_id, acs) = (escaped(&service.entity_id), escaped(&service.acs));
        let (until, keys_until) = (moment(valid_until), moment(keys_valid_until));
        format!(
            r#"<EntityDescriptor xmlns="{METADATA}" validUntil="{until}"{kept} entityID="{entity_id}"><SPSSODescriptor validUntil="{keys_until}" protocolSupportEnumeration="{PROTOCOL}" WantAssertionsSigned="true">{keys}<NameIDFormat>{EMAIL_ADDRESS}</NameIDFormat><NameIDFormat>{PERSISTENT}</NameIDFormat><AssertionConsumerService Binding="{POST}" Location="{acs}" index="1"/><AssertionConsumerService Binding="{ARTIFACT}" Location="{acs}" index="2"/></SPSSODescriptor></EntityDescriptor>"#,
            keys = self.keys(),
        )
    }

    /// The key in use, encryption first; then the next one, signing first.
    fn keys(&self) -> String {
        let mut keys = String::new();
        if self.encryption {
            let methods: String = ENCRYPTION
                .map(|name| format!(r#"<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#{name}"/>"#))
                .concat();
            keys += &key("encryption", self.certificate, &methods);
        }
        keys += &key("signing", self.certificate, "");
        if let Some(next) = self.next {
            keys += &key("signing", next, "");
            if self.encryption {
                keys += &key("encryption", next, "");
            }
        }
        keys
    }
}

fn key(purpose: &str, certificate: &str, methods: &str) -> String {
    format!(
        r#"<KeyDescriptor use="{purpose}"><KeyInfo xmlns="{DSIG}"><X509Data><X509Certificate>{certificate}</X509Certificate></X509Data></KeyInfo>{methods}</KeyDescriptor>"#
    )
}

/// That somebody wants to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthnRequest<'a> {
    /// Our addresses.
    pub service: &'a ServiceProvider,
    /// `ID`: what the response must name.
    pub id: &'a str,
    /// Where it is sent.
    pub destination: &'a str,
    /// How the person is to be named.
    pub name_id_format: &'a str,
    /// When it is asked.
    pub now: Time,
}

impl AuthnRequest<'_> {
    /// As XML. The response is to come by a form that the browser posts.
    pub fn xml(&self) -> String {
        let Self { service, id, destination, name_id_format, now } = self;
        let (entity_id, acs) = (escaped(&service.entity_id), escaped(&service.acs));
        let (destination, format) = (escaped(destination), escaped(name_id_format));
        let now = moment(now);
        format!(
            r#"<samlp:AuthnRequest xmlns:saml="{ASSERTION}" xmlns:samlp="{PROTOCOL}" ID="{id}" Version="2.0" IssueInstant="{now}" Destination="{destination}" AssertionConsumerServiceURL="{acs}" ProtocolBinding="{POST}"><saml:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">{entity_id}</saml:Issuer><samlp:NameIDPolicy Format="{format}" AllowCreate="true"/></samlp:AuthnRequest>"#
        )
    }
}

/// A moment in milliseconds: finer times are not to be relied on in SAML.
fn moment(time: &Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A text as it may stand in an element or an attribute.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'', '\t', '\n', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn described(next: Option<&str>, encryption: bool) -> String {
        let service = ServiceProvider::at("https://auth.example.com/auth/v1/");
        let soon = Time::UNIX_EPOCH + TimeDelta::milliseconds(1500);
        let description = Description {
            service: &service,
            certificate: "CURRENT",
            next,
            encryption,
            valid_until: soon,
            keys_valid_until: Time::UNIX_EPOCH,
        };
        description.xml()
    }

    fn keys(xml: &str) -> Vec<(&str, &str)> {
        let between = |text, start: &str, end: &str| {
            let text: &str = text;
            text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(found, _)| found)
        };
        xml.split("<KeyDescriptor ")
            .skip(1)
            .filter_map(|part| Some((between(part, "use=\"", "\"")?, between(part, "Certificate>", "<")?)))
            .collect()
    }

    #[test]
    fn keys_are_told_in_the_recorded_order() {
        assert_eq!(keys(&described(None, false)), [("signing", "CURRENT")]);
        assert_eq!(keys(&described(None, true)), [("encryption", "CURRENT"), ("signing", "CURRENT")]);
        assert_eq!(keys(&described(Some("NEXT"), false)), [("signing", "CURRENT"), ("signing", "NEXT")]);
        assert_eq!(
            keys(&described(Some("NEXT"), true)),
            [("encryption", "CURRENT"), ("signing", "CURRENT"), ("signing", "NEXT"), ("encryption", "NEXT")]
        );
    }

    #[test]
    fn a_description_says_for_how_long_it_holds() {
        let xml = described(None, false);
        assert!(
            xml.contains(r#"validUntil="1970-01-01T00:00:01.500Z" entityID="https://auth.example.com/auth/v1/sso/"#)
        );
        assert!(xml.contains(r#"<SPSSODescriptor validUntil="1970-01-01T00:00:00.000Z""#));
        assert!(described(Some("NEXT"), false).contains(r#" cacheDuration="PT1H""#));
    }

    #[test]
    fn nothing_escapes_from_its_attribute() {
        let service = ServiceProvider::at("https://auth.example.com");
        let destination = "https://idp.example.com/?a&b=\"><x>'\n";
        let request =
            AuthnRequest { service: &service, id: "id-1", destination, name_id_format: "\"", now: Time::UNIX_EPOCH };
        let xml = request.xml();
        assert!(xml.contains(r#"Destination="https://idp.example.com/?a&amp;b=&quot;&gt;&lt;x&gt;&apos;&#10;""#));
        assert!(xml.contains(r#"Format="&quot;" AllowCreate"#));
        assert_eq!(xml.matches('<').count(), 5, "as many tags as there should be");
    }
}
