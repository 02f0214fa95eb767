//! A response from its bytes to the assertion that is believed.

use super::acceptance::{self, Envelope, Expected};
use super::assertion::Assertion;
use super::decryption::{ReadingKey, decrypted};
use super::signature::{BadSignature, Signers, is_signed, verified};
use super::xml::{Node, Xml};
use super::{ASSERTION, PROTOCOL, Refusal, instant};

/// Assertions that are looked at; everybody sends one.
const MOST: usize = 8;

/// Who says of a response by whom it is: nothing of it is believed before that is found.
pub fn claimed_issuer(xml: &str) -> Result<Option<String>, Refusal> {
    let xml = Xml::parse(xml)?;
    let issuer = root(&xml)?.optional(ASSERTION, "Issuer", "Response")?;
    Ok(issuer.map(|issuer| issuer.text().into_owned()))
}

/// How a response is checked.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// What it must say.
    pub expected: Expected<'a>,
    /// Whose signatures are believed.
    pub signers: Signers<'a>,
    /// Our keys for encrypted assertions, tried in this order; none where those are not accepted.
    pub keys: &'a [ReadingKey],
}

/// The first assertion of a response that is signed (itself, or with the whole response) and says what it must. One that is
/// not is passed over; if none is left, why the first of them is not.
pub fn accepted(xml: &str, check: &Check<'_>) -> Result<Assertion, Refusal> {
    let xml = Xml::parse(xml)?;
    let root = root(&xml)?;
    let whole = if is_signed(root) { Some(verified(root, &check.signers)) } else { None };
    let Some(whole) = whole.transpose()? else {
        return first(root, check, false);
    };
    let signed = Xml::parse(&whole)?;
    first(self::root(&signed)?, check, true)
}

fn root<'d>(xml: &'d Xml<'_>) -> Result<Node<'d>, Refusal> {
    let root = xml.root();
    if root.is(PROTOCOL, "Response") { Ok(root) } else { Err(Refusal::NoResponse) }
}

fn first(response: Node<'_>, check: &Check<'_>, is_signed: bool) -> Result<Assertion, Refusal> {
    acceptance::envelope(&envelope(response, is_signed)?, &check.expected)?;
    let sealed: Vec<Node<'_>> = response.all(ASSERTION, "EncryptedAssertion").collect();
    let plain: Vec<Node<'_>> = response.all(ASSERTION, "Assertion").collect();
    let count = sealed.len() + plain.len();
    if count > MOST {
        return Err(Refusal::TooManyAssertions(count));
    }
    let opened = sealed.into_iter().map(|node| unsealed(node, check, is_signed));
    let read = plain.into_iter().map(|node| believed(node, check, is_signed));
    let mut why = None;
    for assertion in opened.chain(read) {
        match assertion {
            Ok(assertion) => return Ok(assertion),
            Err(refusal) => {
                why.get_or_insert(refusal);
            }
        }
    }
    Err(why.unwrap_or(Refusal::NoAssertion))
}

fn envelope(response: Node<'_>, is_signed: bool) -> Result<Envelope, Refusal> {
    let status = response.one(PROTOCOL, "Status", "Response")?.one(PROTOCOL, "StatusCode", "Status")?;
    let issuer = response.optional(ASSERTION, "Issuer", "Response")?;
    let attribute = |name| response.attribute(name).unwrap_or_default().to_owned();
    Ok(Envelope {
        is_signed,
        destination: attribute("Destination"),
        in_response_to: attribute("InResponseTo"),
        issued: instant::read(response.attribute("IssueInstant"), "IssueInstant")?,
        issuer: issuer.map(|issuer| issuer.text().into_owned()),
        status: status.attribute("Value").unwrap_or_default().to_owned(),
    })
}

fn unsealed(node: Node<'_>, check: &Check<'_>, is_vouched_for: bool) -> Result<Assertion, Refusal> {
    let plain = decrypted(node, check.keys)?;
    believed(Xml::parse(&plain)?.root(), check, is_vouched_for)
}

/// What an assertion says, if it says what it must and somebody vouches for it: the response that it came in, or itself.
fn believed(node: Node<'_>, check: &Check<'_>, is_vouched_for: bool) -> Result<Assertion, Refusal> {
    let assertion =
        if is_vouched_for { of_root(node)? } else { of_root(Xml::parse(&verified(node, &check.signers)?)?.root())? };
    acceptance::assertion(&assertion, &check.expected)?;
    Ok(assertion)
}

fn of_root(node: Node<'_>) -> Result<Assertion, Refusal> {
    if node.is(ASSERTION, "Assertion") { Assertion::read(node) } else { Err(BadSignature::Elsewhere.into()) }
}
