//! Writes SAML 2.0 XML of the service provider: metadata and authentication requests.

use std::borrow::Cow;

use foundation::time::{Time, format_milliseconds};

use crate::domain::sso::{EMAIL_ADDRESS, PERSISTENT};

const METADATA: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
const POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
const ARTIFACT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact";
/// The supported encryption methods.
const ENCRYPTION: [&str; 4] = ["aes128-cbc", "aes192-cbc", "aes256-cbc", "rsa-oaep-mgf1p"];

/// The URLs of the service provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProvider {
    /// `entityID`, which is also the URL of the metadata.
    pub entity_id: String,
    /// The assertion consumer service URL.
    pub acs_url: String,
}

impl ServiceProvider {
    /// The URLs below the base URL of the SAML endpoints.
    pub fn new(base: &str) -> Self {
        let base = base.strip_suffix('/').unwrap_or(base);
        Self { entity_id: format!("{base}/sso/saml/metadata"), acs_url: format!("{base}/sso/saml/acs") }
    }
}

/// What `GET /sso/saml/metadata` describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProviderMetadata<'a> {
    /// The URLs of the service provider.
    pub service_provider: &'a ServiceProvider,
    /// The certificate of the current key: base64 DER.
    pub certificate: &'a str,
    /// The certificate of the next key.
    pub next_certificate: Option<&'a str>,
    /// Whether encrypted assertions are accepted.
    pub accepts_encryption: bool,
    /// `validUntil` of the entity.
    pub valid_until: Time,
    /// `validUntil` of the role descriptor with keys and endpoints.
    pub keys_valid_until: Time,
}

impl ServiceProviderMetadata<'_> {
    /// Formats the metadata. With a next key it may be cached for one hour only.
    pub fn to_xml(&self) -> String {
        let Self { service_provider: service, valid_until, keys_valid_until, .. } = self;
        let kept = if self.next_certificate.is_some() { r#" cacheDuration="PT1H""# } else { "" };
        let (entity_id, acs) = (escape(&service.entity_id), escape(&service.acs_url));
        let (until, keys_until) = (format_milliseconds(*valid_until), format_milliseconds(*keys_valid_until));
        format!(
            r#"<EntityDescriptor xmlns="{METADATA}" validUntil="{until}"{kept} entityID="{entity_id}"><SPSSODescriptor validUntil="{keys_until}" protocolSupportEnumeration="{PROTOCOL}" WantAssertionsSigned="true">{keys}<NameIDFormat>{EMAIL_ADDRESS}</NameIDFormat><NameIDFormat>{PERSISTENT}</NameIDFormat><AssertionConsumerService Binding="{POST}" Location="{acs}" index="1"/><AssertionConsumerService Binding="{ARTIFACT}" Location="{acs}" index="2"/></SPSSODescriptor></EntityDescriptor>"#,
            keys = self.key_descriptors(),
        )
    }

    /// The key descriptors: the current key, encryption first, then the next key, signing first.
    fn key_descriptors(&self) -> String {
        let mut keys = String::new();
        if self.accepts_encryption {
            let methods: String = ENCRYPTION
                .map(|name| format!(r#"<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#{name}"/>"#))
                .concat();
            keys += &key_descriptor("encryption", self.certificate, &methods);
        }
        keys += &key_descriptor("signing", self.certificate, "");
        if let Some(next) = self.next_certificate {
            keys += &key_descriptor("signing", next, "");
            if self.accepts_encryption {
                keys += &key_descriptor("encryption", next, "");
            }
        }
        keys
    }
}

fn key_descriptor(purpose: &str, certificate: &str, methods: &str) -> String {
    format!(
        r#"<KeyDescriptor use="{purpose}"><KeyInfo xmlns="{DSIG}"><X509Data><X509Certificate>{certificate}</X509Certificate></X509Data></KeyInfo>{methods}</KeyDescriptor>"#
    )
}

/// An authentication request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthnRequest<'a> {
    /// The URLs of the service provider.
    pub service: &'a ServiceProvider,
    /// `ID`, which `InResponseTo` of the response must equal.
    pub id: &'a str,
    /// The URL of the identity provider's single sign-on service.
    pub destination: &'a str,
    /// The requested `NameID` format.
    pub name_id_format: &'a str,
    /// The issue instant.
    pub now: Time,
}

impl AuthnRequest<'_> {
    /// Formats the request, which asks for the HTTP-POST binding of the response.
    pub fn xml(&self) -> String {
        let Self { service, id, destination, name_id_format, now } = self;
        let (entity_id, acs) = (escape(&service.entity_id), escape(&service.acs_url));
        let (destination, format) = (escape(destination), escape(name_id_format));
        let now = format_milliseconds(*now);
        format!(
            r#"<samlp:AuthnRequest xmlns:saml="{ASSERTION}" xmlns:samlp="{PROTOCOL}" ID="{id}" Version="2.0" IssueInstant="{now}" Destination="{destination}" AssertionConsumerServiceURL="{acs}" ProtocolBinding="{POST}"><saml:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">{entity_id}</saml:Issuer><samlp:NameIDPolicy Format="{format}" AllowCreate="true"/></samlp:AuthnRequest>"#
        )
    }
}

/// Escapes a text for an element or an attribute.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'', '\t', '\n', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
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

    fn metadata_xml(next: Option<&str>, encryption: bool) -> String {
        let service = ServiceProvider::new("https://auth.example.com/auth/v1/");
        let soon = Time::UNIX_EPOCH + TimeDelta::milliseconds(1500);
        let description = ServiceProviderMetadata {
            service_provider: &service,
            certificate: "CURRENT",
            next_certificate: next,
            accepts_encryption: encryption,
            valid_until: soon,
            keys_valid_until: Time::UNIX_EPOCH,
        };
        description.to_xml()
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
    fn key_descriptors_are_in_recorded_order() {
        assert_eq!(keys(&metadata_xml(None, false)), [("signing", "CURRENT")]);
        assert_eq!(keys(&metadata_xml(None, true)), [("encryption", "CURRENT"), ("signing", "CURRENT")]);
        assert_eq!(keys(&metadata_xml(Some("NEXT"), false)), [("signing", "CURRENT"), ("signing", "NEXT")]);
        assert_eq!(
            keys(&metadata_xml(Some("NEXT"), true)),
            [("encryption", "CURRENT"), ("signing", "CURRENT"), ("signing", "NEXT"), ("encryption", "NEXT")]
        );
    }

    #[test]
    fn metadata_has_validity() {
        let xml = metadata_xml(None, false);
        assert!(
            xml.contains(r#"validUntil="1970-01-01T00:00:01.500Z" entityID="https://auth.example.com/auth/v1/sso/"#)
        );
        assert!(xml.contains(r#"<SPSSODescriptor validUntil="1970-01-01T00:00:00.000Z""#));
        assert!(metadata_xml(Some("NEXT"), false).contains(r#" cacheDuration="PT1H""#));
    }

    #[test]
    fn attribute_values_are_escaped() {
        let service = ServiceProvider::new("https://auth.example.com");
        let destination = "https://idp.example.com/?a&b=\"><x>'\n";
        let request =
            AuthnRequest { service: &service, id: "id-1", destination, name_id_format: "\"", now: Time::UNIX_EPOCH };
        let xml = request.xml();
        assert!(xml.contains(r#"Destination="https://idp.example.com/?a&amp;b=&quot;&gt;&lt;x&gt;&apos;&#10;""#));
        assert!(xml.contains(r#"Format="&quot;" AllowCreate"#));
        assert_eq!(xml.matches('<').count(), 5, "as many tags as there should be");
    }
}
