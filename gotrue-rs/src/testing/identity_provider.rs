//! A software SAML 2.0 identity provider.
//!
//! The values of a correct assertion are fields, so that a test can replace them. The XML is written in canonical
//! form: the signed octets are the text itself.

mod authn_request;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::digest::{self, digest};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaSignatureEncoding};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use foundation::time::{Time, format_seconds};
use gotrue_rules::domain::saml::{ASSERTION, DSIG, METADATA, PROTOCOL, XENC};
use gotrue_rules::domain::sso::PERSISTENT;

pub use self::authn_request::{AuthnRequest, acs_form_request};

/// The service provider key of tests: PKCS#1 in base64.
pub const SERVICE_KEY: &str = include_str!("saml_keys/service.key");
/// The next service provider key, after [`SERVICE_KEY`].
pub const NEXT_SERVICE_KEY: &str = include_str!("saml_keys/service_next.key");
/// A certificate for the key of [`IdentityProvider::new`] that expired in 2021.
pub const OLD_CERTIFICATE: &str = include_str!("saml_keys/identity_provider_old.crt");

/// The algorithm of Exclusive XML Canonicalization.
pub const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
/// The enveloped-signature transform.
pub const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// SHA-256.
pub const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
/// RSA with SHA-256.
pub const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/// A SAML identity provider with one key.
#[derive(Debug)]
pub struct IdentityProvider {
    pub entity_id: String,
    /// The certificate of the key.
    pub certificate: &'static str,
    key: KeyPair,
}

/// The content of an assertion and its response. Times are seconds from [`SamlAssertion::now`].
#[derive(Debug, Clone)]
pub struct SamlAssertion {
    /// The time of issue.
    pub now: Time,
    /// `ID` of the assertion; the response's is the same with `r` in front of it.
    pub id: String,
    /// `Issuer` of the assertion.
    pub issuer: String,
    /// The `NameID`.
    pub name: String,
    /// `Format` of the `NameID`.
    pub format: String,
    /// Attributes with their values.
    pub attributes: Vec<(String, Vec<String>)>,
    /// `InResponseTo`: the id of the request.
    pub in_response_to: Option<String>,
    /// `IssueInstant`.
    pub issued_at: i64,
    /// `NotBefore` of the conditions.
    pub not_before: i64,
    /// `NotOnOrAfter` of conditions and confirmation.
    pub not_on_or_after: i64,
    pub session_not_on_or_after: Option<i64>,
    pub audience: String,
    /// `Recipient` of the confirmation.
    pub recipient: String,
    /// `Destination` of the response.
    pub destination: String,
    /// The last part of the status code URI.
    pub status: String,
}

/// How an element is signed.
#[derive(Debug, Clone)]
pub struct Signing {
    /// The digest algorithm and the URI that is written for it.
    pub digest: (&'static digest::Algorithm, &'static str),
    /// The signature algorithm and the URI that is written for it.
    pub method: (&'static RsaSignatureEncoding, &'static str),
    /// The transforms of the reference.
    pub transforms: Vec<&'static str>,
    /// `URI` of the reference; `None` for the id of the element.
    pub uri: Option<String>,
    /// XML of additional references.
    pub more: String,
    /// XML of `KeyInfo`; `None` for the certificate.
    pub key_info: Option<String>,
}

impl Default for Signing {
    fn default() -> Self {
        Self {
            digest: (&digest::SHA256, SHA256),
            method: (&RSA_PKCS1_SHA256, RSA_SHA256),
            transforms: vec![ENVELOPED, EXCLUSIVE],
            uri: None,
            more: String::new(),
            key_info: None,
        }
    }
}

impl Signing {
    /// Signing with SHA-512 instead of SHA-256.
    pub fn with_sha512() -> Self {
        Self {
            digest: (&digest::SHA512, "http://www.w3.org/2001/04/xmlenc#sha512"),
            method: (&RSA_PKCS1_SHA512, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"),
            ..Self::default()
        }
    }
}

/// The content encryption algorithm of an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128-CBC.
    Cbc,
    /// AES-256-GCM.
    Gcm,
}

impl SamlAssertion {
    /// A correct assertion about Ann for the service provider with this base URL.
    pub fn for_service(service: &str, issuer: &str, now: Time) -> Self {
        Self {
            now,
            id: "a1".to_owned(),
            issuer: issuer.to_owned(),
            name: "ann-at-work".to_owned(),
            format: PERSISTENT.to_owned(),
            attributes: vec![("mail".to_owned(), vec!["ann@example.com".to_owned()])],
            in_response_to: None,
            issued_at: 0,
            not_before: -60,
            not_on_or_after: 300,
            session_not_on_or_after: None,
            audience: format!("{service}/sso/saml/metadata"),
            recipient: format!("{service}/sso/saml/acs"),
            destination: format!("{service}/sso/saml/acs"),
            status: "Success".to_owned(),
        }
    }

    fn format_time(&self, seconds: i64) -> String {
        format_seconds(self.now + TimeDelta::seconds(seconds))
    }

    fn in_response_to_attribute(&self) -> String {
        self.in_response_to.as_ref().map(|id| format!(" InResponseTo=\"{}\"", escape_xml(id))).unwrap_or_default()
    }

    /// The assertion without a signature.
    pub fn assertion_xml(&self) -> String {
        let attributes: String = self.attributes.iter().map(|(name, values)| attribute(name, values)).collect();
        let ends = self
            .session_not_on_or_after
            .map(|at| format!(" SessionNotOnOrAfter=\"{}\"", self.format_time(at)))
            .unwrap_or_default();
        format!(
            "<saml:Assertion xmlns:saml=\"{ASSERTION}\" ID=\"{id}\" IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer>\
             {issuer}</saml:Issuer><saml:Subject><saml:NameID Format=\"{format}\">{name}</saml:NameID>\
             <saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\"><saml:SubjectConfirmationData\
             {answers} NotOnOrAfter=\"{until}\" Recipient=\"{recipient}\"></saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=\"{from}\" NotOnOrAfter=\"{until}\">\
             <saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction>\
             </saml:Conditions><saml:AuthnStatement AuthnInstant=\"{issued}\"{ends}></saml:AuthnStatement>\
             <saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>",
            id = self.id,
            issued = self.format_time(self.issued_at),
            issuer = escape_xml(&self.issuer),
            format = self.format,
            name = escape_xml(&self.name),
            answers = self.in_response_to_attribute(),
            until = self.format_time(self.not_on_or_after),
            recipient = self.recipient,
            from = self.format_time(self.not_before),
            audience = self.audience,
        )
    }

    /// The unsigned response that contains these assertions.
    pub fn response_xml(&self, assertions: &str) -> String {
        format!(
            "<samlp:Response xmlns:samlp=\"{PROTOCOL}\" Destination=\"{destination}\" ID=\"r{id}\"{answers} \
             IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer xmlns:saml=\"{ASSERTION}\">{issuer}</saml:Issuer>\
             <samlp:Status><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:{status}\"></samlp:StatusCode>\
             </samlp:Status>{assertions}</samlp:Response>",
            destination = self.destination,
            id = self.id,
            answers = self.in_response_to_attribute(),
            issued = self.format_time(self.issued_at),
            issuer = escape_xml(&self.issuer),
            status = self.status,
        )
    }
}

impl IdentityProvider {
    /// The default provider with this entity id.
    pub fn new(entity_id: &str) -> Self {
        let (key, certificate) =
            (include_str!("saml_keys/identity_provider.key"), include_str!("saml_keys/identity_provider.crt"));
        Self { entity_id: entity_id.to_owned(), certificate, key: key_pair(key) }
    }

    /// A provider with the same entity id and an unrelated key.
    pub fn with_unrelated_key(entity_id: &str) -> Self {
        let (key, certificate) = (include_str!("saml_keys/stranger.key"), include_str!("saml_keys/stranger.crt"));
        Self { entity_id: entity_id.to_owned(), certificate, key: key_pair(key) }
    }

    /// The metadata with the `SingleSignOnService` location `sign_on`.
    pub fn metadata(&self, sign_on: &str) -> String {
        self.metadata_with(&[self.certificate], sign_on)
    }

    /// The metadata with other certificates.
    pub fn metadata_with(&self, certificates: &[&str], sign_on: &str) -> String {
        let key = |certificate: &&str| {
            format!(
                "<KeyDescriptor use=\"signing\"><KeyInfo xmlns=\"{DSIG}\"><X509Data><X509Certificate>{certificate}\
                 </X509Certificate></X509Data></KeyInfo></KeyDescriptor>"
            )
        };
        let keys: String = certificates.iter().map(key).collect();
        format!(
            "<EntityDescriptor xmlns=\"{METADATA}\" entityID=\"{}\"><IDPSSODescriptor \
             protocolSupportEnumeration=\"{PROTOCOL}\">{keys}<SingleSignOnService \
             Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect\" Location=\"{}\"></SingleSignOnService>\
             </IDPSSODescriptor></EntityDescriptor>",
            escape_xml(&self.entity_id),
            escape_xml(sign_on)
        )
    }

    /// A response with a signed assertion, the most common form.
    pub fn signed_response(&self, assertion: &SamlAssertion) -> String {
        assertion.response_xml(&self.signed(&assertion.assertion_xml(), &assertion.id))
    }

    /// The element with a signature after its issuer.
    pub fn signed(&self, element: &str, id: &str) -> String {
        self.signed_as(element, id, &Signing::default())
    }

    /// The element with a signature made with these options.
    pub fn signed_as(&self, element: &str, id: &str, signing: &Signing) -> String {
        let signature = self.signature(element, id, signing);
        element.replacen("</saml:Issuer>", &format!("</saml:Issuer>{signature}"), 1)
    }

    /// The signature of an element.
    pub fn signature(&self, element: &str, id: &str, signing: &Signing) -> String {
        let own = format!("#{id}");
        let uri = signing.uri.as_deref().unwrap_or(&own);
        let value = STANDARD.encode(digest(signing.digest.0, element.as_bytes()));
        let transforms: Vec<_> = signing
            .transforms
            .iter()
            .map(|algorithm| format!("<ds:Transform Algorithm=\"{algorithm}\"></ds:Transform>"))
            .collect();
        let transforms = transforms.concat();
        let inside = format!(
            "<ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\"></ds:CanonicalizationMethod><ds:SignatureMethod \
             Algorithm=\"{method}\"></ds:SignatureMethod><ds:Reference URI=\"{uri}\"><ds:Transforms>{transforms}\
             </ds:Transforms><ds:DigestMethod Algorithm=\"{digest}\"></ds:DigestMethod><ds:DigestValue>{value}\
             </ds:DigestValue></ds:Reference>{more}</ds:SignedInfo>",
            method = signing.method.1,
            digest = signing.digest.1,
            more = signing.more,
        );
        let signed = self.sign(signing.method.0, &format!("<ds:SignedInfo xmlns:ds=\"{DSIG}\">{inside}"));
        let key_info = signing.key_info.clone().unwrap_or_else(|| key_info(self.certificate));
        format!(
            "<ds:Signature xmlns:ds=\"{DSIG}\"><ds:SignedInfo>{inside}<ds:SignatureValue>{signed}</ds:SignatureValue>\
             {key_info}</ds:Signature>"
        )
    }

    fn sign(&self, encoding: &'static RsaSignatureEncoding, text: &str) -> String {
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key.sign(encoding, &SystemRandom::new(), text.as_bytes(), &mut signature).expect("signed");
        STANDARD.encode(signature)
    }
}

/// The `KeyInfo` element with a certificate.
pub fn key_info(certificate: &str) -> String {
    format!(
        "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    )
}

/// Encrypts an assertion for the service provider with this key (PKCS#1 in base64).
pub fn encrypt_assertion(assertion: &str, service: &str, cipher: Cipher) -> String {
    let secret = [7_u8; 32];
    let (name, secret, sealed) = match cipher {
        Cipher::Cbc => (format!("{XENC}aes128-cbc"), &secret[..16], encrypt_cbc(assertion, &secret[..16])),
        Cipher::Gcm => {
            ("http://www.w3.org/2009/xmlenc11#aes256-gcm".to_owned(), &secret[..], encrypt_gcm(assertion, &secret))
        }
    };
    let wrapped = STANDARD.encode(wrap_key(secret, service));
    let sealed = STANDARD.encode(sealed);
    format!(
        "<saml:EncryptedAssertion xmlns:saml=\"{ASSERTION}\"><xenc:EncryptedData xmlns:xenc=\"{XENC}\" \
         Type=\"{XENC}Element\"><xenc:EncryptionMethod Algorithm=\"{name}\"></xenc:EncryptionMethod><ds:KeyInfo \
         xmlns:ds=\"{DSIG}\"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm=\"{XENC}rsa-oaep-mgf1p\">\
         </xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>{wrapped}</xenc:CipherValue></xenc:CipherData>\
         </xenc:EncryptedKey></ds:KeyInfo><xenc:CipherData><xenc:CipherValue>{sealed}</xenc:CipherValue>\
         </xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion>"
    )
}

fn wrap_key(secret: &[u8], service: &str) -> Vec<u8> {
    let public: PublicKeyX509Der<'_> = key_pair(service).public_key().as_der().expect("a public key");
    let key = PublicEncryptingKey::from_der(public.as_ref()).expect("a public key");
    let key = OaepPublicEncryptingKey::new(key).expect("a public key");
    let mut room = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, secret, &mut room, None).expect("wrapped").to_vec()
}

fn encrypt_gcm(text: &str, secret: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, secret).expect("a key"));
    let nonce = [5; 12];
    let mut sealed = text.as_bytes().to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).expect("sealed");
    [nonce.to_vec(), sealed].concat()
}

/// Encrypts with XML Encryption padding: the last byte is the length, the others are arbitrary.
fn encrypt_cbc(text: &str, secret: &[u8]) -> Vec<u8> {
    let start = [9; 16];
    let mut sealed = text.as_bytes().to_vec();
    let padding = 16 - sealed.len() % 16;
    sealed.resize(sealed.len() + padding - 1, 0xaa);
    sealed.push(u8::try_from(padding).unwrap_or_default());
    let key = UnboundCipherKey::new(&AES_128, secret).and_then(EncryptingKey::cbc).expect("a key");
    let context = EncryptionContext::Iv128(FixedLength::from(start));
    key.less_safe_encrypt(&mut sealed, context).expect("encrypted");
    [start.to_vec(), sealed].concat()
}

fn key_pair(base64: &str) -> KeyPair {
    KeyPair::from_der(&STANDARD.decode(base64.trim()).expect("base64")).expect("an RSA key")
}

fn attribute(name: &str, values: &[String]) -> String {
    let values: Vec<_> = values
        .iter()
        .map(|value| format!("<saml:AttributeValue>{}</saml:AttributeValue>", escape_xml(value)))
        .collect();
    let values = values.concat();
    format!("<saml:Attribute Name=\"{}\">{values}</saml:Attribute>", escape_xml(name))
}

/// Escapes a text for an element or attribute without quotation marks.
fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
