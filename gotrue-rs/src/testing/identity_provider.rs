//! A SAML 2.0 identity provider in software. What an honest one would say is in fields, so that a test can make it lie. Its
//! XML is canonical as it stands: what is signed is the text itself.

mod asked;

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
use chrono::{SecondsFormat, TimeDelta};
use gotrue_rules::domain::saml::{ASSERTION, DSIG, METADATA, PROTOCOL, XENC};
use gotrue_rules::domain::sso::PERSISTENT;
use gotrue_rules::domain::user::Time;

pub use self::asked::{Asked, form};

/// Our key in tests, and the one that will follow: PKCS#1 in base64. They protect nothing.
pub const SERVICE_KEY: &str = include_str!("saml_keys/service.key");
/// The key that will follow [`SERVICE_KEY`].
pub const NEXT_SERVICE_KEY: &str = include_str!("saml_keys/service_next.key");
/// A certificate for the key of [`IdentityProvider::new`] that ended in 2021.
pub const OLD_CERTIFICATE: &str = include_str!("saml_keys/identity_provider_old.crt");

/// Exclusive canonical XML.
pub const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
/// The transform that leaves the signature out.
pub const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// SHA-256.
pub const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
/// RSA with SHA-256.
pub const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/// An identity provider.
#[derive(Debug)]
pub struct IdentityProvider {
    /// Its name.
    pub entity_id: String,
    /// The certificate of its key.
    pub certificate: &'static str,
    key: KeyPair,
}

/// What an identity provider says of a person. Times are seconds from [`Said::now`].
#[derive(Debug, Clone)]
pub struct Said {
    /// Now.
    pub now: Time,
    /// `ID` of the assertion; the response's is the same with `r` in front of it.
    pub id: String,
    /// `Issuer` of the assertion.
    pub issuer: String,
    /// The person's name.
    pub name: String,
    /// Its `Format`.
    pub format: String,
    /// Attributes with their values.
    pub attributes: Vec<(String, Vec<String>)>,
    /// The request that is answered.
    pub in_response_to: Option<String>,
    /// `IssueInstant`.
    pub issued: i64,
    /// `NotBefore` of the conditions.
    pub from: i64,
    /// `NotOnOrAfter` of conditions and confirmation.
    pub until: i64,
    /// `SessionNotOnOrAfter`.
    pub session_ends: Option<i64>,
    /// The audience.
    pub audience: String,
    /// `Recipient` of the confirmation.
    pub recipient: String,
    /// `Destination` of the response.
    pub destination: String,
    /// The last part of the status.
    pub status: String,
}

/// How an element is signed.
#[derive(Debug, Clone)]
pub struct Signing {
    /// Algorithm of the digest that is made, and the name that it is given.
    pub digest: (&'static digest::Algorithm, &'static str),
    /// Algorithm of the signature, and the name that it is given.
    pub method: (&'static RsaSignatureEncoding, &'static str),
    /// Transforms.
    pub transforms: Vec<&'static str>,
    /// `URI` of the reference; absent: that of the element.
    pub uri: Option<String>,
    /// References beside the first.
    pub more: String,
    /// What is said of the key; absent: the certificate.
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
    /// With SHA-512 in the place of SHA-256.
    pub fn with_sha512() -> Self {
        Self {
            digest: (&digest::SHA512, "http://www.w3.org/2001/04/xmlenc#sha512"),
            method: (&RSA_PKCS1_SHA512, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"),
            ..Self::default()
        }
    }
}

/// With what an assertion is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128 in chains.
    Cbc,
    /// AES-256 with a tag.
    Gcm,
}

impl Said {
    /// What an honest provider says of Ann, to the service at this address.
    pub fn to(service: &str, issuer: &str, now: Time) -> Self {
        Self {
            now,
            id: "a1".to_owned(),
            issuer: issuer.to_owned(),
            name: "ann-at-work".to_owned(),
            format: PERSISTENT.to_owned(),
            attributes: vec![("mail".to_owned(), vec!["ann@example.com".to_owned()])],
            in_response_to: None,
            issued: 0,
            from: -60,
            until: 300,
            session_ends: None,
            audience: format!("{service}/sso/saml/metadata"),
            recipient: format!("{service}/sso/saml/acs"),
            destination: format!("{service}/sso/saml/acs"),
            status: "Success".to_owned(),
        }
    }

    fn at(&self, seconds: i64) -> String {
        (self.now + TimeDelta::seconds(seconds)).to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    fn answers(&self) -> String {
        self.in_response_to.as_ref().map(|id| format!(" InResponseTo=\"{}\"", escaped(id))).unwrap_or_default()
    }

    /// The assertion without a signature.
    pub fn assertion(&self) -> String {
        let attributes: String = self.attributes.iter().map(|(name, values)| attribute(name, values)).collect();
        let ends = self.session_ends.map(|at| format!(" SessionNotOnOrAfter=\"{}\"", self.at(at))).unwrap_or_default();
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
            issued = self.at(self.issued),
            issuer = escaped(&self.issuer),
            format = self.format,
            name = escaped(&self.name),
            answers = self.answers(),
            until = self.at(self.until),
            recipient = self.recipient,
            from = self.at(self.from),
            audience = self.audience,
        )
    }

    /// The response around assertions, without a signature of its own.
    pub fn response(&self, assertions: &str) -> String {
        format!(
            "<samlp:Response xmlns:samlp=\"{PROTOCOL}\" Destination=\"{destination}\" ID=\"r{id}\"{answers} \
             IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer xmlns:saml=\"{ASSERTION}\">{issuer}</saml:Issuer>\
             <samlp:Status><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:{status}\"></samlp:StatusCode>\
             </samlp:Status>{assertions}</samlp:Response>",
            destination = self.destination,
            id = self.id,
            answers = self.answers(),
            issued = self.at(self.issued),
            issuer = escaped(&self.issuer),
            status = self.status,
        )
    }
}

impl IdentityProvider {
    /// The provider of tests, under a name.
    pub fn new(entity_id: &str) -> Self {
        let (key, certificate) =
            (include_str!("saml_keys/identity_provider.key"), include_str!("saml_keys/identity_provider.crt"));
        Self { entity_id: entity_id.to_owned(), certificate, key: key_pair(key) }
    }

    /// Somebody else under that name, with a key of their own.
    pub fn stranger(entity_id: &str) -> Self {
        let (key, certificate) = (include_str!("saml_keys/stranger.key"), include_str!("saml_keys/stranger.crt"));
        Self { entity_id: entity_id.to_owned(), certificate, key: key_pair(key) }
    }

    /// What it says of itself: requests are taken at `sign_on`.
    pub fn metadata(&self, sign_on: &str) -> String {
        self.metadata_with(&[self.certificate], sign_on)
    }

    /// The same with other certificates.
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
            escaped(&self.entity_id),
            escaped(sign_on)
        )
    }

    /// A response whose assertion is signed, as most send it.
    pub fn respond(&self, said: &Said) -> String {
        said.response(&self.signed(&said.assertion(), &said.id))
    }

    /// An element with a signature in its place, which is after the issuer.
    pub fn signed(&self, element: &str, id: &str) -> String {
        self.signed_as(element, id, &Signing::default())
    }

    /// The same, signed in another way.
    pub fn signed_as(&self, element: &str, id: &str, signing: &Signing) -> String {
        let signature = self.signature(element, id, signing);
        element.replacen("</saml:Issuer>", &format!("</saml:Issuer>{signature}"), 1)
    }

    /// The signature of an element.
    pub fn signature(&self, element: &str, id: &str, signing: &Signing) -> String {
        let own = format!("#{id}");
        let uri = signing.uri.as_deref().unwrap_or(&own);
        let value = STANDARD.encode(digest(signing.digest.0, element.as_bytes()));
        let transforms: Vec<_> =
            signing.transforms.iter().map(|it| format!("<ds:Transform Algorithm=\"{it}\"></ds:Transform>")).collect();
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

/// What a signature says of its key: a certificate.
pub fn key_info(certificate: &str) -> String {
    format!(
        "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    )
}

/// An assertion encrypted for the service with this key (PKCS#1 in base64).
pub fn encrypted(assertion: &str, service: &str, cipher: Cipher) -> String {
    let secret = [7_u8; 32];
    let (name, secret, sealed) = match cipher {
        Cipher::Cbc => (format!("{XENC}aes128-cbc"), &secret[..16], in_chains(assertion, &secret[..16])),
        Cipher::Gcm => {
            ("http://www.w3.org/2009/xmlenc11#aes256-gcm".to_owned(), &secret[..], with_tag(assertion, &secret))
        }
    };
    let wrapped = STANDARD.encode(wrapped(secret, service));
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

fn wrapped(secret: &[u8], service: &str) -> Vec<u8> {
    let public: PublicKeyX509Der<'_> = key_pair(service).public_key().as_der().expect("a public key");
    let key = PublicEncryptingKey::from_der(public.as_ref()).expect("a public key");
    let key = OaepPublicEncryptingKey::new(key).expect("a public key");
    let mut room = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, secret, &mut room, None).expect("wrapped").to_vec()
}

fn with_tag(text: &str, secret: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, secret).expect("a key"));
    let nonce = [5; 12];
    let mut sealed = text.as_bytes().to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).expect("sealed");
    [nonce.to_vec(), sealed].concat()
}

/// Padded as XML encryption does it: the last byte counts, the others may be anything.
fn in_chains(text: &str, secret: &[u8]) -> Vec<u8> {
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
    let values: Vec<_> =
        values.iter().map(|it| format!("<saml:AttributeValue>{}</saml:AttributeValue>", escaped(it))).collect();
    let values = values.concat();
    format!("<saml:Attribute Name=\"{}\">{values}</saml:Attribute>", escaped(name))
}

/// A text in an element or attribute; quotation marks are not expected.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
