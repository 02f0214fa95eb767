//! XML signatures as profiled by SAML 2.0 Core §5.4.
//! A signature is a child of the element that it signs and has a single reference to it; the transforms are the
//! enveloped signature and one canonicalization. The key comes from the identity provider's metadata; `KeyInfo` only
//! selects among those.

use aws_lc_rs::digest::{self, digest};
use aws_lc_rs::signature::{self, RsaParameters, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bergshamra_c14n::C14nMode;
use foundation::time::Time;

use super::certificate::Certificate;
use super::error::{SamlError, SignatureError};
use super::namespaces::{DSIG, MOST_NAMESPACES};
use super::xml::{XmlDocument, XmlNode};

const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// The trusted signers of a response.
#[derive(Debug, Clone, Copy)]
pub struct TrustedSigners<'a> {
    /// The signing certificates of the identity provider's metadata.
    pub certificates: &'a [Certificate],
    /// Whether SHA-1 signatures and digests are accepted.
    pub allows_sha1: bool,
    /// The current time.
    pub now: Time,
}

/// Whether an element contains a signature, valid or not.
pub fn is_signed(element: XmlNode<'_>) -> bool {
    element.children_named(DSIG, "Signature").next().is_some()
}

/// Verifies an element's signature and returns its canonical form, the only trusted content.
pub fn verify_element(element: XmlNode<'_>, signers: &TrustedSigners<'_>) -> Result<String, SamlError> {
    let signature = element.optional_child(DSIG, "Signature", "the signed element")?.ok_or(SignatureError::Missing)?;
    let signed_info = signature.required_child(DSIG, "SignedInfo", "Signature")?;
    let certificate = find_certificate(signature, signers)?;
    let info = canonicalize_signed_info(signed_info)?;
    let xml = XmlDocument::parse(&info)?;
    verify_value(signature, &xml, certificate, info.as_bytes(), signers.allows_sha1)?;
    // Only the signed canonical form of `SignedInfo` is used from here on.
    let reference = Reference::parse(xml.root(), signers.allows_sha1)?;
    reference.validate_target(element)?;
    let prefixes: Vec<&str> = reference.prefixes.iter().map(String::as_str).collect();
    let bytes = element.canonicalize_without(signature, reference.mode, &prefixes)?;
    if digest(reference.digest, &bytes).as_ref() != reference.value {
        return Err(SignatureError::DigestMismatch.into());
    }
    String::from_utf8(bytes).map_err(|_| SignatureError::DigestMismatch.into())
}

/// The trusted certificate that the signature names; the only trusted one if it names none.
fn find_certificate<'a>(signature: XmlNode<'_>, signers: &TrustedSigners<'a>) -> Result<&'a Certificate, SamlError> {
    let known = signers.certificates;
    let info = signature.optional_child(DSIG, "KeyInfo", "Signature")?;
    let named = info
        .into_iter()
        .flat_map(|info| info.children_named(DSIG, "X509Data"))
        .flat_map(|data| data.children_named(DSIG, "X509Certificate"));
    let certificate = match (named.take(1).next(), known) {
        (_, []) => return Err(SignatureError::NoCertificate.into()),
        (Some(named), known) => {
            let named = Certificate::from_base64(&named.text());
            known.iter().find(|known| named.as_ref() == Some(known)).ok_or(SignatureError::UnknownCertificate)?
        }
        (None, [only]) => only,
        (None, _) => return Err(SignatureError::UnknownCertificate.into()),
    };
    if !certificate.is_valid_at(signers.now) {
        return Err(SignatureError::CertificateNotValid.into());
    }
    Ok(certificate)
}

/// The canonical form of `SignedInfo`, by its own canonicalization method.
fn canonicalize_signed_info(info: XmlNode<'_>) -> Result<String, SamlError> {
    let method = info.required_child(DSIG, "CanonicalizationMethod", "SignedInfo")?;
    let mode = canonicalization_mode(method)?;
    let prefixes = inclusive_prefixes(method)?;
    let bytes = info.canonicalize(mode, &prefixes.iter().map(String::as_str).collect::<Vec<_>>())?;
    String::from_utf8(bytes).map_err(|_| SignatureError::InvalidValue.into())
}

fn verify_value(
    signature: XmlNode<'_>,
    info: &XmlDocument<'_>,
    certificate: &Certificate,
    signed: &[u8],
    sha1: bool,
) -> Result<(), SamlError> {
    let method = info.root().required_child(DSIG, "SignatureMethod", "SignedInfo")?;
    let algorithm = rsa_algorithm(method.attribute("Algorithm").unwrap_or_default(), sha1)?;
    let value = decode_base64(signature.required_child(DSIG, "SignatureValue", "Signature")?, "SignatureValue")?;
    let key = UnparsedPublicKey::new(algorithm, certificate.public_key());
    key.verify(signed, &value).map_err(|_| SignatureError::InvalidValue.into())
}

/// The reference of a signature.
struct Reference {
    uri: String,
    mode: C14nMode,
    prefixes: Vec<String>,
    digest: &'static digest::Algorithm,
    value: Vec<u8>,
}

impl Reference {
    /// Parses the only `Reference` of `SignedInfo`.
    fn parse(info: XmlNode<'_>, sha1: bool) -> Result<Self, SamlError> {
        let reference = info.required_child(DSIG, "Reference", "SignedInfo")?;
        let method = reference.required_child(DSIG, "DigestMethod", "Reference")?;
        let value = decode_base64(reference.required_child(DSIG, "DigestValue", "Reference")?, "DigestValue")?;
        let (mode, prefixes) = match reference.optional_child(DSIG, "Transforms", "Reference")? {
            Some(transforms) => parse_transforms(transforms)?,
            None => return Err(SignatureError::WrongReference.into()),
        };
        Ok(Self {
            uri: reference.attribute("URI").ok_or(SignatureError::WrongReference)?.to_owned(),
            mode,
            prefixes,
            digest: digest_algorithm(method.attribute("Algorithm").unwrap_or_default(), sha1)?,
            value,
        })
    }

    /// Requires a reference to this element: by a unique id, or an empty URI for the root element.
    fn validate_target(&self, element: XmlNode<'_>) -> Result<(), SignatureError> {
        if self.uri.is_empty() && element.is_root() {
            return Ok(());
        }
        let id = self.uri.strip_prefix('#').filter(|id| !id.is_empty()).ok_or(SignatureError::WrongReference)?;
        if element.attribute("ID") != Some(id) {
            return Err(SignatureError::WrongReference);
        }
        if element.count_id(id) == 1 { Ok(()) } else { Err(SignatureError::SharedId) }
    }
}

/// Parses the transforms: the enveloped signature, then an optional canonicalization.
/// The default is inclusive canonicalization.
fn parse_transforms(transforms: XmlNode<'_>) -> Result<(C14nMode, Vec<String>), SamlError> {
    let mut all = transforms.children();
    let is_enveloped = |transform: &XmlNode<'_>| {
        transform.has_name(DSIG, "Transform") && transform.attribute("Algorithm") == Some(ENVELOPED)
    };
    if !all.next().as_ref().is_some_and(is_enveloped) {
        return Err(SignatureError::WrongReference.into());
    }
    let form = all.next();
    if all.next().is_some() {
        return Err(SignatureError::Algorithm("a third transform".to_owned()).into());
    }
    match form {
        None => Ok((C14nMode::Inclusive, Vec::new())),
        Some(form) => Ok((canonicalization_mode(form)?, inclusive_prefixes(form)?)),
    }
}

fn canonicalization_mode(method: XmlNode<'_>) -> Result<C14nMode, SignatureError> {
    let name = method.attribute("Algorithm").unwrap_or_default();
    C14nMode::from_uri(name).ok_or_else(|| SignatureError::Algorithm(name.to_owned()))
}

/// The `PrefixList` of exclusive canonicalization.
/// Canonicalization compares each prefix with each element before the signature is verified, so the list is limited to
/// the number of prefixes that can be declared.
fn inclusive_prefixes(method: XmlNode<'_>) -> Result<Vec<String>, SignatureError> {
    let lists = method
        .children_named(EXCLUSIVE, "InclusiveNamespaces")
        .filter_map(|namespaces| namespaces.attribute("PrefixList"));
    let found: Vec<String> =
        lists.flat_map(str::split_ascii_whitespace).map(str::to_owned).take(MOST_NAMESPACES + 1).collect();
    if found.len() > MOST_NAMESPACES { Err(SignatureError::TooManyPrefixes) } else { Ok(found) }
}

fn decode_base64(node: XmlNode<'_>, name: &'static str) -> Result<Vec<u8>, SignatureError> {
    let text: String = node.text().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(text).map_err(|_| SignatureError::NotBase64(name))
}

fn rsa_algorithm(name: &str, sha1: bool) -> Result<&'static RsaParameters, SignatureError> {
    match name {
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" => Ok(&signature::RSA_PKCS1_2048_8192_SHA256),
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384" => Ok(&signature::RSA_PKCS1_2048_8192_SHA384),
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512" => Ok(&signature::RSA_PKCS1_2048_8192_SHA512),
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1" if sha1 => {
            Ok(&signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY)
        }
        other => Err(SignatureError::Algorithm(other.to_owned())),
    }
}

fn digest_algorithm(name: &str, sha1: bool) -> Result<&'static digest::Algorithm, SignatureError> {
    match name {
        "http://www.w3.org/2001/04/xmlenc#sha256" => Ok(&digest::SHA256),
        "http://www.w3.org/2001/04/xmldsig-more#sha384" => Ok(&digest::SHA384),
        "http://www.w3.org/2001/04/xmlenc#sha512" => Ok(&digest::SHA512),
        "http://www.w3.org/2000/09/xmldsig#sha1" if sha1 => Ok(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        other => Err(SignatureError::Algorithm(other.to_owned())),
    }
}
