//! Signature wrapping: a signed element is moved aside, and another put where it was. Whatever the place, nobody but the
//! person whom the provider has signed is ever believed to come.

use gotrue_rs::testing::identity_provider::{IdentityProvider, Said};

use super::{IDP, Reader, said};

const ANN: &str = "ann-at-work";
const MALLORY: &str = "mallory";

/// What the provider has signed, in parts, and what somebody makes of it.
struct Parts {
    provider: IdentityProvider,
}

/// What an attacker would like to be believed, with this id.
fn evil(id: &str) -> String {
    Said { id: id.to_owned(), name: MALLORY.to_owned(), ..said() }.assertion()
}

fn evil_response(id: &str, assertions: &str) -> String {
    Said { id: id.to_owned(), ..said() }.response(assertions)
}

/// The signature of an element, and the element without it.
fn taken_apart(signed: &str) -> (String, String) {
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
        self.provider.signed(&said().assertion(), "a1")
    }

    fn response(&self) -> String {
        self.provider.signed(&said().response(&said().assertion()), "ra1")
    }

    /// The eight ways of "On Breaking SAML" (Somorovsky and others, 2012), and some that came later.
    fn wrapped(&self) -> Vec<(&'static str, String)> {
        let (assertion_signature, bare_assertion) = taken_apart(&self.assertion());
        let (response_signature, bare_response) = taken_apart(&self.response());
        let respond = |assertions: &str| said().response(assertions);
        let xsw1 = with_signature(&evil_response("e", &evil("e1")), &in_signature(&response_signature, &bare_response));
        let xsw2 = evil_response("e", &evil("e1")).replacen(
            "</saml:Issuer>",
            &format!("</saml:Issuer>{bare_response}{response_signature}"),
            1,
        );
        let xsw4 = before_end(&evil("e"), &self.assertion());
        let xsw5 = with_signature(&evil("e"), &assertion_signature);
        let xsw6 = with_signature(&evil("e"), &in_signature(&assertion_signature, &bare_assertion));
        let extensions = |inside: &str| format!("<samlp:Extensions>{inside}</samlp:Extensions>");
        vec![
            ("XSW1: the response in the signature of another", xsw1),
            ("XSW2: the response beside its signature in another", xsw2),
            ("XSW3: another assertion before the signed one", respond(&format!("{}{}", evil("e"), self.assertion()))),
            ("XSW3: and after it", respond(&format!("{}{}", self.assertion(), evil("e")))),
            ("XSW4: the signed assertion in another", respond(&xsw4)),
            ("XSW5: the signature moved, the signed one at the end", respond(&format!("{xsw5}{bare_assertion}"))),
            ("XSW6: the signed one in the signature moved", respond(&xsw6)),
            ("XSW7: another in the extensions", respond(&format!("{}{}", extensions(&evil("a1")), self.assertion()))),
            (
                "XSW8: the signed one in an object of the signature of another",
                respond(&with_signature(&evil("e"), &in_signature(&assertion_signature, &evil("a1")))),
            ),
            ("the same id twice, the other first", respond(&format!("{}{}", evil("a1"), self.assertion()))),
            ("the same id twice, the other last", respond(&format!("{}{}", self.assertion(), evil("a1")))),
            (
                "the signed one within the confirmation of another",
                respond(&evil("e").replacen(
                    "</saml:SubjectConfirmationData>",
                    &format!("{}</saml:SubjectConfirmationData>", self.assertion()),
                    1,
                )),
            ),
            ("a signed response within another", before_end(&evil_response("e", &evil("e1")), &self.response())),
            (
                "another signature first",
                respond(&with_signature(&evil("a1"), &format!("{assertion_signature}{assertion_signature}"))),
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
fn b6_a_wrapped_signature_vouches_for_nobody_else() {
    let parts = Parts::new();
    let reader = Reader::of(&parts.provider);
    assert_eq!(reader.name(&said().response(&parts.assertion())), ANN);
    assert_eq!(reader.name(&parts.response()), ANN);
    for reader in [reader.clone(), reader.in_serve()] {
        for (way, xml) in parts.wrapped() {
            let name = reader.read(&xml).ok().and_then(|assertion| assertion.name).map(|name| name.value);
            assert!(name.as_deref().is_none_or(|name| name == ANN), "{way}: {name:?} is believed");
            assert!(xml.contains(MALLORY), "{way} tries nothing");
        }
    }
}

#[test]
fn b6_only_an_unsigned_neighbour_is_passed_over() {
    let parts = Parts::new();
    let believed: Vec<&str> = parts
        .wrapped()
        .into_iter()
        .filter(|(_, xml)| Reader::of(&parts.provider).read(xml).is_ok())
        .map(|(way, _)| way)
        .collect();
    assert_eq!(believed, ["XSW3: another assertion before the signed one", "XSW3: and after it"]);
}

#[test]
fn b6_a_signature_of_the_whole_response_vouches_for_what_is_in_it_and_nothing_else() {
    let parts = Parts::new();
    let reader = Reader::of(&parts.provider);
    let signed = parts.response();
    for changed in [
        before_end(&signed, &evil("e")),
        signed.replacen("<samlp:Status>", &format!("{}<samlp:Status>", evil("e")), 1),
        signed.replacen("<saml:Subject>", "<saml:Subject><x></x>", 1),
        signed.replace(ANN, MALLORY),
    ] {
        assert!(reader.read(&changed).is_err(), "{changed}");
    }
}
