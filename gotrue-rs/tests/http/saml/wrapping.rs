//! XML signature wrapping: a signed element is moved and another takes its position.
//!
//! Only the signed subject is accepted, for every position.

use gotrue_rs::testing::identity_provider::{IdentityProvider, SamlAssertion};

use super::{IDP, Reader, assertion};

const ANN: &str = "ann-at-work";
const MALLORY: &str = "mallory";

/// The parts of a signed response, for rearrangement.
struct Parts {
    provider: IdentityProvider,
}

/// What an attacker would like to be believed, with this id.
fn forged_assertion(id: &str) -> String {
    SamlAssertion { id: id.to_owned(), name: MALLORY.to_owned(), ..assertion() }.assertion_xml()
}

fn forged_response(id: &str, assertions: &str) -> String {
    SamlAssertion { id: id.to_owned(), ..assertion() }.response_xml(assertions)
}

/// The signature of an element, and the element without it.
fn split_response(signed: &str) -> (String, String) {
    let (before, rest) = signed.split_once("<ds:Signature ").expect("a signature");
    let (inside, after) = rest.split_once("</ds:Signature>").expect("its end");
    (format!("<ds:Signature {inside}</ds:Signature>"), format!("{before}{after}"))
}

fn with_signature(element: &str, signature: &str) -> String {
    element.replacen("</saml:Issuer>", &format!("</saml:Issuer>{signature}"), 1)
}

fn before_end(element: &str, inserted: &str) -> String {
    let at = element.rfind("</").expect("an end");
    format!("{}{inserted}{}", &element[..at], &element[at..])
}

fn in_signature(signature: &str, inserted: &str) -> String {
    let object = format!("<ds:Object>{inserted}</ds:Object></ds:Signature>");
    signature.replacen("</ds:Signature>", &object, 1)
}

impl Parts {
    fn new() -> Self {
        Self { provider: IdentityProvider::new(IDP) }
    }

    fn assertion(&self) -> String {
        self.provider.signed(&assertion().assertion_xml(), "a1")
    }

    fn response(&self) -> String {
        self.provider.signed(&assertion().response_xml(&assertion().assertion_xml()), "ra1")
    }

    /// The eight wrapping attacks of "On Breaking SAML" (Somorovsky and others, 2012).
    fn wrapped(&self) -> Vec<(&'static str, String)> {
        let (assertion_signature, bare_assertion) = split_response(&self.assertion());
        let (response_signature, bare_response) = split_response(&self.response());
        let respond = |assertions: &str| assertion().response_xml(assertions);
        let xsw1 = with_signature(
            &forged_response("e", &forged_assertion("e1")),
            &in_signature(&response_signature, &bare_response),
        );
        let xsw2 = forged_response("e", &forged_assertion("e1")).replacen(
            "</saml:Issuer>",
            &format!("</saml:Issuer>{bare_response}{response_signature}"),
            1,
        );
        let xsw4 = before_end(&forged_assertion("e"), &self.assertion());
        let xsw5 = with_signature(&forged_assertion("e"), &assertion_signature);
        let xsw6 = with_signature(&forged_assertion("e"), &in_signature(&assertion_signature, &bare_assertion));
        let extensions = |inside: &str| format!("<samlp:Extensions>{inside}</samlp:Extensions>");
        vec![
            ("XSW1: the response in the signature of another", xsw1),
            ("XSW2: the response beside its signature in another", xsw2),
            (
                "XSW3: another assertion before the signed one",
                respond(&format!("{}{}", forged_assertion("e"), self.assertion())),
            ),
            ("XSW3: and after it", respond(&format!("{}{}", self.assertion(), forged_assertion("e")))),
            ("XSW4: the signed assertion in another", respond(&xsw4)),
            ("XSW5: the signature moved, the signed one at the end", respond(&format!("{xsw5}{bare_assertion}"))),
            ("XSW6: the signed one in the signature moved", respond(&xsw6)),
            (
                "XSW7: another in the extensions",
                respond(&format!("{}{}", extensions(&forged_assertion("a1")), self.assertion())),
            ),
            (
                "XSW8: the signed one in an object of the signature of another",
                respond(&with_signature(
                    &forged_assertion("e"),
                    &in_signature(&assertion_signature, &forged_assertion("a1")),
                )),
            ),
        ]
    }

    /// Forgeries that came after the paper: repeated ids, nested and additional elements.
    fn other_forgeries(&self) -> Vec<(&'static str, String)> {
        let (assertion_signature, _) = split_response(&self.assertion());
        let respond = |assertions: &str| assertion().response_xml(assertions);
        vec![
            ("the same id twice, the other first", respond(&format!("{}{}", forged_assertion("a1"), self.assertion()))),
            ("the same id twice, the other last", respond(&format!("{}{}", self.assertion(), forged_assertion("a1")))),
            (
                "the signed one within the confirmation of another",
                respond(&forged_assertion("e").replacen(
                    "</saml:SubjectConfirmationData>",
                    &format!("{}</saml:SubjectConfirmationData>", self.assertion()),
                    1,
                )),
            ),
            (
                "a signed response within another",
                before_end(&forged_response("e", &forged_assertion("e1")), &self.response()),
            ),
            (
                "another signature first",
                respond(&with_signature(
                    &forged_assertion("a1"),
                    &format!("{assertion_signature}{assertion_signature}"),
                )),
            ),
            (
                "another subject within the signed one",
                respond(&self.assertion().replacen(
                    "<saml:Subject>",
                    &format!("<saml:Subject><saml:NameID>{MALLORY}</saml:NameID></saml:Subject><saml:Subject>"),
                    1,
                )),
            ),
        ]
    }
}

#[test]
fn b6_signature_wrapping_is_refused() {
    let parts = Parts::new();
    let reader = Reader::of(&parts.provider);
    assert_eq!(reader.name(&assertion().response_xml(&parts.assertion())), ANN);
    assert_eq!(reader.name(&parts.response()), ANN);
    for reader in [reader.clone(), reader.in_serve()] {
        for (way, xml) in parts.wrapped().into_iter().chain(parts.other_forgeries()) {
            let name = reader.read(&xml).ok().and_then(|assertion| assertion.name_id).map(|name| name.value);
            assert!(name.as_deref().is_none_or(|name| name == ANN), "{way}: {name:?} is believed");
            assert!(xml.contains(MALLORY), "{way} tries nothing");
        }
    }
}

#[test]
fn b6_unsigned_sibling_assertion_is_ignored() {
    let parts = Parts::new();
    let believed: Vec<&str> = parts
        .wrapped()
        .into_iter()
        .chain(parts.other_forgeries())
        .filter(|(_, xml)| Reader::of(&parts.provider).read(xml).is_ok())
        .map(|(way, _)| way)
        .collect();
    assert_eq!(believed, ["XSW3: another assertion before the signed one", "XSW3: and after it"]);
}

#[test]
fn b6_response_signature_covers_only_its_content() {
    let parts = Parts::new();
    let reader = Reader::of(&parts.provider);
    let signed = parts.response();
    for changed in [
        before_end(&signed, &forged_assertion("e")),
        signed.replacen("<samlp:Status>", &format!("{}<samlp:Status>", forged_assertion("e")), 1),
        signed.replacen("<saml:Subject>", "<saml:Subject><x></x>", 1),
        signed.replace(ANN, MALLORY),
    ] {
        assert!(reader.read(&changed).is_err(), "{changed}");
    }
}
