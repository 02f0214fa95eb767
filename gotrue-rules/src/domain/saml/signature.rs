//! XML signatures (XML-DSig) as SAML's profile narrows them: a signature stands directly in the element that it signs and
//! names it alone, its transforms leave out the signature and write the canonical form, and nothing else. The key is one
//! of the identity provider's own description; what a document says of keys only chooses among those.

use aws_lc_rs::digest::{self, digest};
use aws_lc_rs::signature::{self, RsaParameters, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bergshamra_c14n::C14nMode;

use super::certificate::Certificate;
use super::xml::{MOST_NAMESPACES, Node, Xml};
use super::{DSIG, Refusal};
use crate::domain::user::Time;

const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    /// There is none.
    #[error("there is no signature")]
    Absent,
    /// The identity provider's description names no key.
    #[error("the identity provider's description holds no certificate to check signatures with")]
    NoKey,
    /// The signature names a certificate that is not the identity provider's, or one of several must be named and none is.
    #[error("the certificate is none of those that the identity provider's description holds")]
    OtherKey,
    /// The certificate has ended, or has not begun.
    #[error("the certificate's dates do not include today")]
    OutOfDate,
    /// An algorithm that is not supported, or not accepted any more.
    #[error("{0:?} is not accepted")]
    Algorithm(String),
    /// What is signed is not the element that it stands in, or not that alone.
    #[error("it does not sign the element that it stands in, and that alone")]
    Elsewhere,
    /// Another element carries the same id.
    #[error("the id of the signed element is not its own")]
    SharedId,
    /// More prefixes are listed than can be declared.
    #[error("its canonical form lists more than {MOST_NAMESPACES} prefixes")]
    TooManyPrefixes,
    /// A value is not in base64.
    #[error("{0} is not base64")]
    NotBase64(&'static str),
    /// The signature is not by that key.
    #[error("it was not made with the identity provider's key, or what it says was changed")]
    Forged,
    /// The element has been changed since.
    #[error("the element was changed after it was signed")]
    Changed,
}

/// Whose signatures are believed.
#[derive(Debug, Clone, Copy)]
pub struct Signers<'a> {
    /// The certificates of the identity provider's description that are for signing.
    pub certificates: &'a [Certificate],
    /// Signatures and digests with SHA-1 are believed.
    pub sha1: bool,
    /// Now.
    pub now: Time,
}

/// Whether an element brings a signature, good or not.
pub fn is_signed(element: Node<'_>) -> bool {
    element.all(DSIG, "Signature").next().is_some()
}

/// The canonical form of an element whose signature holds: nothing else of the document is vouched for.
pub fn verified(element: Node<'_>, signers: &Signers<'_>) -> Result<String, Refusal> {
    let signature = element.optional(DSIG, "Signature", "the signed element")?.ok_or(BadSignature::Absent)?;
    let signed_info = signature.one(DSIG, "SignedInfo", "Signature")?;
    let certificate = certificate_of(signature, signers)?;
    let info = canonical_info(signed_info)?;
    let xml = Xml::parse(&info)?;
    check_value(signature, &xml, (certificate, info.as_bytes()), signers.sha1)?;
    // From here on only what the key has signed is looked at.
    let reference = Reference::read(xml.root(), signers.sha1)?;
    reference.names(element)?;
    let prefixes: Vec<&str> = reference.prefixes.iter().map(String::as_str).collect();
    let bytes = element.canonical_without(signature, reference.mode, &prefixes)?;
    if digest(reference.digest, &bytes).as_ref() != reference.value {
        return Err(BadSignature::Changed.into());
    }
    String::from_utf8(bytes).map_err(|_| BadSignature::Changed.into())
}

/// The certificate that the signature names, if it is a known one; the only known one if it names none.
fn certificate_of<'a>(signature: Node<'_>, signers: &Signers<'a>) -> Result<&'a Certificate, Refusal> {
    let known = signers.certificates;
    let info = signature.optional(DSIG, "KeyInfo", "Signature")?;
    let named =
        info.into_iter().flat_map(|info| info.all(DSIG, "X509Data")).flat_map(|it| it.all(DSIG, "X509Certificate"));
    let certificate = match (named.take(1).next(), known) {
        (_, []) => return Err(BadSignature::NoKey.into()),
        (Some(named), known) => {
            let named = Certificate::read(&named.text());
            known.iter().find(|known| named.as_ref() == Some(known)).ok_or(BadSignature::OtherKey)?
        }
        (None, [only]) => only,
        (None, _) => return Err(BadSignature::OtherKey.into()),
    };
    if !certificate.is_valid_at(signers.now) {
        return Err(BadSignature::OutOfDate.into());
    }
    Ok(certificate)
}

/// The canonical form of what was signed, by the method it names itself.
fn canonical_info(info: Node<'_>) -> Result<String, Refusal> {
    let method = info.one(DSIG, "CanonicalizationMethod", "SignedInfo")?;
    let mode = canonicalization(method)?;
    let prefixes = prefixes(method)?;
    let bytes = info.canonical(mode, &prefixes.iter().map(String::as_str).collect::<Vec<_>>())?;
    String::from_utf8(bytes).map_err(|_| BadSignature::Forged.into())
}

fn check_value(
    signature: Node<'_>,
    info: &Xml<'_>,
    (certificate, signed): (&Certificate, &[u8]),
    sha1: bool,
) -> Result<(), Refusal> {
    let method = info.root().one(DSIG, "SignatureMethod", "SignedInfo")?;
    let algorithm = rsa(method.attribute("Algorithm").unwrap_or_default(), sha1)?;
    let value = base64(signature.one(DSIG, "SignatureValue", "Signature")?, "SignatureValue")?;
    let key = UnparsedPublicKey::new(algorithm, certificate.public_key());
    key.verify(signed, &value).map_err(|_| BadSignature::Forged.into())
}

/// What a signature says that it signs.
struct Reference {
    uri: String,
    mode: C14nMode,
    prefixes: Vec<String>,
    digest: &'static digest::Algorithm,
    value: Vec<u8>,
}

impl Reference {
    /// The only reference of what was signed.
    fn read(info: Node<'_>, sha1: bool) -> Result<Self, Refusal> {
        let reference = info.one(DSIG, "Reference", "SignedInfo")?;
        let method = reference.one(DSIG, "DigestMethod", "Reference")?;
        let value = base64(reference.one(DSIG, "DigestValue", "Reference")?, "DigestValue")?;
        let (mode, prefixes) = match reference.optional(DSIG, "Transforms", "Reference")? {
            Some(transforms) => transformation(transforms)?,
            None => return Err(BadSignature::Elsewhere.into()),
        };
        Ok(Self {
            uri: reference.attribute("URI").ok_or(BadSignature::Elsewhere)?.to_owned(),
            mode,
            prefixes,
            digest: hash(method.attribute("Algorithm").unwrap_or_default(), sha1)?,
            value,
        })
    }

    /// Refuses a reference that is not to this element: by an id that no other has, or, for the outermost one, by none.
    fn names(&self, element: Node<'_>) -> Result<(), BadSignature> {
        if self.uri.is_empty() && element.is_root() {
            return Ok(());
        }
        let id = self.uri.strip_prefix('#').filter(|id| !id.is_empty()).ok_or(BadSignature::Elsewhere)?;
        if element.attribute("ID") != Some(id) {
            return Err(BadSignature::Elsewhere);
        }
        if element.holders_of(id) == 1 { Ok(()) } else { Err(BadSignature::SharedId) }
    }
}

/// The signature is left out, then the canonical form is written: by the form named, else by that of XML-DSig's default.
fn transformation(transforms: Node<'_>) -> Result<(C14nMode, Vec<String>), Refusal> {
    let mut all = transforms.children();
    let is_enveloped = |it: &Node<'_>| it.is(DSIG, "Transform") && it.attribute("Algorithm") == Some(ENVELOPED);
    if !all.next().as_ref().is_some_and(is_enveloped) {
        return Err(BadSignature::Elsewhere.into());
    }
    let form = all.next();
    if all.next().is_some() {
        return Err(BadSignature::Algorithm("a third transform".to_owned()).into());
    }
    match form {
        None => Ok((C14nMode::Inclusive, Vec::new())),
        Some(form) => Ok((canonicalization(form)?, prefixes(form)?)),
    }
}

fn canonicalization(method: Node<'_>) -> Result<C14nMode, BadSignature> {
    let name = method.attribute("Algorithm").unwrap_or_default();
    C14nMode::from_uri(name).ok_or_else(|| BadSignature::Algorithm(name.to_owned()))
}

/// Prefixes that exclusive canonical forms declare although they may not be used. The canonical form looks at each of them
/// for every element, and is needed before anything is known to be signed: so there may be as many as can be declared.
fn prefixes(method: Node<'_>) -> Result<Vec<String>, BadSignature> {
    let lists = method.all(EXCLUSIVE, "InclusiveNamespaces").filter_map(|it| it.attribute("PrefixList"));
    let found: Vec<String> =
        lists.flat_map(str::split_ascii_whitespace).map(str::to_owned).take(MOST_NAMESPACES + 1).collect();
    if found.len() > MOST_NAMESPACES { Err(BadSignature::TooManyPrefixes) } else { Ok(found) }
}

fn base64(node: Node<'_>, name: &'static str) -> Result<Vec<u8>, BadSignature> {
    let text: String = node.text().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(text).map_err(|_| BadSignature::NotBase64(name))
}

fn rsa(name: &str, sha1: bool) -> Result<&'static RsaParameters, BadSignature> {
    match name {
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" => Ok(&signature::RSA_PKCS1_2048_8192_SHA256),
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384" => Ok(&signature::RSA_PKCS1_2048_8192_SHA384),
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512" => Ok(&signature::RSA_PKCS1_2048_8192_SHA512),
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1" if sha1 => {
            Ok(&signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY)
        }
        other => Err(BadSignature::Algorithm(other.to_owned())),
    }
}

fn hash(name: &str, sha1: bool) -> Result<&'static digest::Algorithm, BadSignature> {
    match name {
        "http://www.w3.org/2001/04/xmlenc#sha256" => Ok(&digest::SHA256),
        "http://www.w3.org/2001/04/xmldsig-more#sha384" => Ok(&digest::SHA384),
        "http://www.w3.org/2001/04/xmlenc#sha512" => Ok(&digest::SHA512),
        "http://www.w3.org/2000/09/xmldsig#sha1" if sha1 => Ok(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        other => Err(BadSignature::Algorithm(other.to_owned())),
    }
}
