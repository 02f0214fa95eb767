//! Verifies a response and returns its first valid assertion.

use super::assertion::Assertion;
use super::decryption::{DecryptionKey, decrypt_assertion};
use super::error::{SamlError, SignatureError};
use super::instant;
use super::namespaces::{ASSERTION, PROTOCOL};
use super::signature::{TrustedSigners, is_signed, verify_element};
use super::validation::{self, ResponseEnvelope, SamlExpectations};
use super::xml::{XmlDocument, XmlNode};

/// The maximum number of assertions in a response; identity providers send one.
const MAX_ASSERTIONS: usize = 8;

/// Reads the unverified issuer of a response, which selects the identity provider.
pub fn unverified_issuer(xml: &str) -> Result<Option<String>, SamlError> {
    let xml = XmlDocument::parse(xml)?;
    let issuer = root(&xml)?.optional_child(ASSERTION, "Issuer", "Response")?;
    Ok(issuer.map(|issuer| issuer.text().into_owned()))
}

/// The parameters of a verification.
#[derive(Debug, Clone, Copy)]
pub struct ResponseCheck<'a> {
    /// The expected values.
    pub expected: SamlExpectations<'a>,
    pub signers: TrustedSigners<'a>,
    /// The decryption keys, tried in this order; empty if encrypted assertions are not accepted.
    pub keys: &'a [DecryptionKey],
}

/// Returns the first assertion that is signed, itself or with the response, and valid.
///
/// # Errors
/// The error of the first assertion if none is valid.
pub fn find_valid_assertion(xml: &str, check: &ResponseCheck<'_>) -> Result<Assertion, SamlError> {
    let xml = XmlDocument::parse(xml)?;
    let root = root(&xml)?;
    let whole = if is_signed(root) { Some(verify_element(root, &check.signers)) } else { None };
    let Some(whole) = whole.transpose()? else {
        return first_valid_assertion(root, check, false);
    };
    let signed = XmlDocument::parse(&whole)?;
    first_valid_assertion(self::root(&signed)?, check, true)
}

fn root<'d>(xml: &'d XmlDocument<'_>) -> Result<XmlNode<'d>, SamlError> {
    let root = xml.root();
    if root.has_name(PROTOCOL, "Response") { Ok(root) } else { Err(SamlError::NotAResponse) }
}

fn first_valid_assertion(
    response: XmlNode<'_>,
    check: &ResponseCheck<'_>,
    is_signed: bool,
) -> Result<Assertion, SamlError> {
    validation::validate_envelope(&parse_envelope(response, is_signed)?, &check.expected)?;
    let encrypted: Vec<XmlNode<'_>> = response.children_named(ASSERTION, "EncryptedAssertion").collect();
    let plain: Vec<XmlNode<'_>> = response.children_named(ASSERTION, "Assertion").collect();
    let count = encrypted.len() + plain.len();
    if count > MAX_ASSERTIONS {
        return Err(SamlError::TooManyAssertions(count));
    }
    let decrypted = encrypted.into_iter().map(|node| validate_encrypted_assertion(node, check, is_signed));
    let parsed = plain.into_iter().map(|node| validate_plain_assertion(node, check, is_signed));
    let mut first_error = None;
    for assertion in decrypted.chain(parsed) {
        match assertion {
            Ok(assertion) => return Ok(assertion),
            Err(refusal) => {
                first_error.get_or_insert(refusal);
            }
        }
    }
    Err(first_error.unwrap_or(SamlError::NoAssertion))
}

fn parse_envelope(response: XmlNode<'_>, is_signed: bool) -> Result<ResponseEnvelope, SamlError> {
    let status =
        response.required_child(PROTOCOL, "Status", "Response")?.required_child(PROTOCOL, "StatusCode", "Status")?;
    let issuer = response.optional_child(ASSERTION, "Issuer", "Response")?;
    let attribute = |name| response.attribute(name).unwrap_or_default().to_owned();
    Ok(ResponseEnvelope {
        is_signed,
        destination: attribute("Destination"),
        in_response_to: attribute("InResponseTo"),
        issue_instant: instant::parse(response.attribute("IssueInstant"), "IssueInstant")?,
        issuer: issuer.map(|issuer| issuer.text().into_owned()),
        status: status.attribute("Value").unwrap_or_default().to_owned(),
    })
}

fn validate_encrypted_assertion(
    node: XmlNode<'_>,
    check: &ResponseCheck<'_>,
    is_response_signed: bool,
) -> Result<Assertion, SamlError> {
    let plain = decrypt_assertion(node, check.keys)?;
    validate_plain_assertion(XmlDocument::parse(&plain)?.root(), check, is_response_signed)
}

/// Parses and validates an assertion. Without a signed response its own signature is verified.
fn validate_plain_assertion(
    node: XmlNode<'_>,
    check: &ResponseCheck<'_>,
    is_response_signed: bool,
) -> Result<Assertion, SamlError> {
    let assertion = if is_response_signed {
        parse_assertion_root(node)?
    } else {
        parse_assertion_root(XmlDocument::parse(&verify_element(node, &check.signers)?)?.root())?
    };
    validation::validate_assertion(&assertion, &check.expected)?;
    Ok(assertion)
}

fn parse_assertion_root(node: XmlNode<'_>) -> Result<Assertion, SamlError> {
    if node.has_name(ASSERTION, "Assertion") {
        Assertion::parse(node)
    } else {
        Err(SignatureError::WrongReference.into())
    }
}
